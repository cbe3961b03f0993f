// The signal by which the scheduler's thread is interrupted while it runs the program's code.
//
// Signal 33 is the one that a program cannot block: the C library keeps it for setuid() in
// processes with threads, and leaves it out of all sets. Its own handler ignores what was not sent
// by tgkill(); ours hands on what was.
//
// Thread rule: any thread; the functions that the signal calls run on the stack of whatever it
// interrupts.
#pragma once

#include <signal.h>
#include <ucontext.h>

namespace fgmpi::privatize::scheduler_signal {

/// Why it comes.
enum Cause {
  kSent,   ///< send()
  kTimer,  ///< a timer's: notify_by()
  kCauses,
};

/// From now on it calls `function` with what it has interrupted. To be called again after the C
/// library has set its handler, which it does when the first thread is started.
void call(Cause cause, void (*function)(const ucontext_t*));
/// To the thread with this number of the kernel's.
void send(int thread);
/// For timer_create().
sigevent notify_by(int thread);

}  // namespace fgmpi::privatize::scheduler_signal
