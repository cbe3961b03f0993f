// Copying what another core has just written, or is about to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/registers.h"

namespace fgmpi {

/// The loop of copy_across(); `length` is at least 64.
void copy_by_loads(void* to, const void* from, size_t length,
                   Registers registers = widest_registers());

/// Rows of bytes at equal distances: where one side of a copy lies.
struct RowsAt {
  char* first;
  int64_t stride;
};
/// Copies `count` rows of `length` bytes each, which do not overlap, without a call for each row.
/// REQUIRES: length >= 64.
void copy_rows_by_loads(RowsAt to, RowsAt from, size_t length, int64_t count,
                        Registers registers = widest_registers());

/// Like memcpy, for memory that passes between processes. From some kilobytes on, the C library's
/// memcpy is one string instruction (`rep movsb`) on processors that declare it fast. On some of
/// them (AMD EPYC, third generation) it is five to eight times slower than loads and stores when
/// the lines are in another core's cache.
inline void copy_across(void* to, const void* from, size_t length) {
  constexpr size_t kLeast = 1024;  // below, memcpy is loads and stores everywhere
  if (length < kLeast)
    std::memcpy(to, from, length);
  else
    copy_by_loads(to, from, length);
}

/// Like memcpy, by stores that go to memory without fetching the lines into this core's cache
/// first, which saves a third of the traffic. The copy is complete at the return: later stores
/// become visible after it. REQUIRES: the processor has these registers.
void copy_past_caches(void* to, const void* from, size_t length,
                      Registers registers = widest_registers());

}  // namespace fgmpi
