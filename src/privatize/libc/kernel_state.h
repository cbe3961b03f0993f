// What the kernel has for the ranks of a process that another process would not have: their
// children and timers, signals that are blocked and wait.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstdint>

namespace fgmpi::privatize {

/// Why the running rank cannot go on in another process; nullptr where it can. Another call may
/// change the text.
const char* reason_of_kernel_state();
/// The signals that the process blocks, as the kernel's set. All ranks of a process share it.
uint64_t blocked_signals();
/// Blocks these signals, too.
void block_signals_of_saved_rank(uint64_t signals);

}  // namespace fgmpi::privatize
