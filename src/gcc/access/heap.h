// What wrappers of functions of the heap tell the checker. Thread rule: any thread.
#pragma once

#include "gcc/access/look.h"

namespace fgmpi::access {

/// The program has been given the block, or gives it back. Null blocks are ignored. `fresh`: as
/// Allocated.
[[gnu::visibility("hidden")]] void record_block(void* block, size_t bytes, bool fresh);
[[gnu::visibility("hidden")]] void record_free(void* block, const char* function,
                                               const void* place);

}  // namespace fgmpi::access
