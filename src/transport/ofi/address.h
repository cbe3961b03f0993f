// What a process publishes about its endpoint, so that peers can reach it:
//
//   ofi2:PROVIDER:ADDRESS:KEY:MEMORYKEY:PORT:HOST
//
//   PROVIDER   libfabric's name, '+' standing for ';'       1 to 39 of a-z 0-9 _ +
//   ADDRESS    of the endpoint, in libfabric's form         1 to 80 bytes
//   KEY        the process's secret (frame.h)               16 bytes
//   MEMORYKEY  for remote reads of its memory; 0: none      8 bytes
//   PORT       of its lifelines; 0: none                    2 bytes
//   HOST       its name, for messages                       1 to 40 of A-Z a-z 0-9 . _ -
//
// Bytes are written as two lower-case hexadecimal digits each, numbers with all their leading
// zeros. The text comes from the launcher, which got it from a process that may be of another
// build: parse() accepts no other form. Thread rule: none (no shared state).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "transport/ofi/frame.h"

namespace fgmpi::transport::ofi {

struct PublishedAddress {
  static constexpr size_t kMostProvider = 39, kMostAddress = 80, kMostHost = 40;

  std::string provider;
  std::string address;
  LifelineKey key{};
  uint64_t memory_key = 0;
  uint16_t lifeline = 0;
  std::string host;

  /// REQUIRES: the fields are within the bounds above.
  std::string to_string() const;
  /// False for any text that to_string() does not make; *this is then unspecified.
  bool parse(std::string_view text);
};

}  // namespace fgmpi::transport::ofi
