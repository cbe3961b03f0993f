// The first bytes of a connection: what it is for, and the key that its other end knows.
#pragma once

#include <cstdint>

#include "ch4-av-rankmap/process_groups.h"
#include "dynamic/contact.h"

namespace fgmpi::dynamic {

struct Hello {
  static constexpr char kMagic[8] = {'f', 'g', 'm', 'p', 'i', 'd', 'y', '3'};
  enum Kind : uint32_t { kLink = 1, kPort };
  char magic[8];
  uint32_t kind;
  uint32_t from_process;  ///< kLink: who writes
  uint32_t to_process;
  /// kPort: the port's; kLink: which connection this is of those that the writer has opened, from 1
  /// on.
  uint32_t number;
  GroupUid from, to;
  Key key;
};
static_assert(sizeof(Hello) == 72);
}  // namespace fgmpi::dynamic
