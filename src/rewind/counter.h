// The processor's time counter (rdtsc), which programs read without a system call.
//
// The kernel can make the instruction a fault (prctl PR_SET_TSC). The handler of SIGSEGV is then
// this layer's; it answers the instruction, and calls the program's handler for other faults.
// Thread rule: the scheduler's thread.
#pragma once

namespace fgmpi::rewind {

/// Begins to answer reads of the counter. Where the kernel does not allow it they are not seen.
void start_counter_trap();
/// Goes on in a child of fork().
void continue_counter_trap();

/// rt_sigaction() of the program for SIGSEGV, which the kernel does not see.
long set_fault_action(const void* action, void* before);

}  // namespace fgmpi::rewind
