// Leaks of memory by ranks that have heaps (FGMPI_HEAP=rank), for a tool: what a rank has
// allocated, and no pointer of its leads to when its program has ended.
//
// Pointers are searched in the rank's variables, its stack from the caller up, the libraries that
// all ranks share, the environment, and from there in the rank's blocks.
//
// Thread rule: the scheduler's thread. Nothing switches.
#pragma once

#include <cstdint>

namespace fgmpi::privatize {

/// `leaked` is called with the place of the call that has allocated, the number of blocks and their
/// bytes (MPIX_Tool_leaks). Null: none. Blocks are recorded where it is set before ranks run.
void set_tool_leaked(void (*leaked)(const void* place, int64_t blocks, int64_t bytes));
bool leaks_are_wanted();
/// Called on a rank's proclet when its program has ended.
void report_leaked_memory();

}  // namespace fgmpi::privatize
