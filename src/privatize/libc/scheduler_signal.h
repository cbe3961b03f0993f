// The signal that interrupts the scheduler's thread while it runs the program's code.
//
// A program cannot block signal 33: the C library reserves it for setuid() in processes with
// threads, and leaves it out of all sets. The C library's handler ignores signals that tgkill() has
// not sent; our handler passes on those that tgkill() has sent.
//
// Thread rule: any thread; the functions that the signal calls run on the stack of whatever it
// interrupts.
#pragma once

#include <signal.h>
#include <ucontext.h>

namespace fgmpi::privatize::scheduler_signal {

/// Why the signal comes.
enum Cause {
  kSent,          ///< send() was called
  kTimer,         ///< a timer of notify_by() has expired
  kOtherProcess,  ///< send_to_process() was called, perhaps by another process
  kCauses,
};

/// Makes the signal call `function` with the context that it has interrupted. The first
/// pthread_create() makes the C library set its own handler: after that this must be called again.
void call(Cause cause, void (*function)(const ucontext_t*));
/// Sends the signal to the thread with this number of the kernel's.
void send(int thread);
/// Starts and ends a thread, so that no later pthread_create() replaces the handler of call().
/// Called by the first thread, before ranks run.
void begin_threads();
/// Sends the signal to the first thread of a process, which must be one that has called call() with
/// kOtherProcess, or have ended.
void send_to_process(int process);
/// The argument for a timer_create() whose timer sends the signal to that thread.
sigevent notify_by(int thread);

}  // namespace fgmpi::privatize::scheduler_signal
