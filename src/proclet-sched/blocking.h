// Calls that wait in the kernel for something outside of the library, made for a proclet by another
// thread, so that the other proclets of the process run meanwhile.
//
//   proclet: call_on_other_thread(f) --> an idle thread of the pool --> f(argument)
//            parked                  <-- post_completion()          <--
//
// The threads of the pool belong to nobody, block all signals, and exist while they are needed: a
// trimmer ends those that have not been. They are as many as proclets of the process wait so at a
// time.
//
// Thread rule: inside (threads.h), on a proclet of the scheduler's thread.
#pragma once

#include <cstdint>

namespace fgmpi::sched {

/// Calls function(argument) on another thread and lets other proclets run until it has returned.
/// `call` is for reports. False: no thread is to be had, nothing has been called. May switch.
/// REQUIRES: !on_host_stack().
bool call_on_other_thread(const char* call, void (*function)(void*), void* argument);

/// Starts a detached thread that blocks all signals and belongs to no rank. On the host stack.
/// False: none is to be had.
bool start_thread_of_nobody(void* (*run)(void*), void* argument);

/// Threads of the pool that exist, idle ones included (tests).
uint32_t blocking_threads();

}  // namespace fgmpi::sched
