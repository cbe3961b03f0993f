// System calls of the scheduler's thread, trapped: each leads to answer_call() (inputs.cc).
//
// The kernel raises SIGSYS for a system call of this thread ("syscall user dispatch", Linux 5.11 on
// x86-64) unless its instruction lies in the code of direct_call(). Threads that start later,
// children and executed programs are not trapped. The clocks that the kernel answers without a
// system call (its vDSO) are replaced by functions of this layer. Thread rule: the scheduler's
// thread.
#pragma once

#include <signal.h>

#include <cstdint>
#include <ctime>

namespace fgmpi::rewind {

/// The kernel's answer to a call that is not trapped.
extern "C" long fgmpi_rewind_direct_call(long number, long a, long b, long c, long d, long e,
                                         long f);

namespace detail {
/// Pointers and numbers alike.
template <class T>
long word_of(T value) {
  return (long)value;
}
}  // namespace detail

template <class... Arguments>
long direct_call(long number, Arguments... arguments) {
  const long words[7] = {detail::word_of(arguments)...};
  return fgmpi_rewind_direct_call(number, words[0], words[1], words[2], words[3], words[4],
                                  words[5]);
}

/// A trapped call.
struct TrappedCall {
  long number;
  long arguments[6];
  ucontext_t* context;  ///< of the code that made it
};

/// Begins to trap. Returns an error in words, or nullptr.
const char* start_trap();
/// Begins again in a child of fork(), which the kernel does not trap.
void continue_trap();
void stop_trap();

/// Lets the interrupted code go on in the kernel's rt_sigreturn, with its stack pointer.
void return_from_handler(ucontext_t* context);

/// Answers a trapped call: its result, or -errno (inputs.cc).
long answer_call(const TrappedCall& call);
/// Answers the clocks of the vDSO: 0, or -errno.
long answer_clock(clockid_t clock, timespec* time);

}  // namespace fgmpi::rewind
