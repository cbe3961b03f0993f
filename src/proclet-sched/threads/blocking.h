// Calls that wait in the kernel for something outside of the library. Another thread makes the call
// for a proclet, so that the other proclets of the process run meanwhile.
//
//   proclet: call_on_other_thread(f) --> an idle thread of the pool --> f(argument)
//            parked                  <-- post_completion()          <--
//
// The threads of the pool belong to no rank, block all signals, and exist while they are
// needed: a trimmer ends those that have not been. Their number is the number of proclets that
// wait so at a time.
//
// Thread rule: inside (threads.h), on a proclet of the scheduler's thread.
#pragma once

#include <cstdint>

namespace fgmpi::sched {

/// Calls function(argument) on another thread and lets other proclets run until it has returned.
/// `call` is for reports. False: no thread can be started, and nothing has been called. May switch.
/// REQUIRES: !on_host_stack().
bool call_on_other_thread(const char* call, void (*function)(void*), void* argument);

/// Starts a detached thread that blocks all signals and belongs to no rank. Called on the host
/// stack. False: no thread can be started.
bool start_thread_of_nobody(void* (*run)(void*), void* argument);

/// Threads of the pool that exist, idle ones included, for tests.
uint32_t blocking_threads();

}  // namespace fgmpi::sched
