// The first bytes of a connection: its purpose, and the key of the process or port that it is for.
#pragma once

#include <cstdint>

#include "ch4-av-rankmap/process_groups.h"
#include "dynamic/contact.h"

namespace fgmpi::dynamic {

struct StreamHello {
  static constexpr char kMagic[8] = {'f', 'g', 'm', 'p', 'i', 'd', 'y', '4'};
  enum Kind : uint32_t { kLink = 1, kPort };
  char magic[8];
  uint32_t kind;
  uint32_t from_process;  ///< kLink: the process that writes
  uint32_t to_process;
  /// kPort: the number of the port. kLink: the number of this connection among those that the
  /// writer has opened, from 1 on.
  uint32_t number;
  GroupUid from, to;
  SecretKey key;
};
static_assert(sizeof(StreamHello) == 72);
}  // namespace fgmpi::dynamic
