// Waiting for signals. A signal is the process's: whichever rank waits for it may receive it. A
// handler that has run ends the waits of the rank that installed it. A blocked signal stays pending
// until a rank receives it, so a waiting rank asks the kernel from time to time.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "privatize/libc/blocked_calls.h"
#include "privatize/libc/outside_calls.h"
#include "privatize/load/visitors.h"

namespace fgmpi::privatize {
namespace {

constinit Real<int(const sigset_t*, siginfo_t*, const timespec*)> g_sigtimedwait("sigtimedwait");
constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> g_ppoll_for_signals("ppoll");
constexpr timespec kNoWait{};
/// Signals come to the home of a rank.
constexpr char kWaits[] = "a wait for signals (sigwait, sigsuspend)";

/// Waits for a signal of the set; returns its number, or -1 with errno. `restarts`: handlers do not
/// end the wait.
int wait_for_signal(const char* call, const sigset_t* set, siginfo_t* info, int64_t deadline,
                    bool restarts) {
  OutsideWait wait(call, OutsideWait::kNotRestarted, deadline);
  for (;;) {
    const int number = g_sigtimedwait(set, info, &kNoWait);
    if (number >= 0 || (errno != EAGAIN && errno != EINTR)) return number;
    if (may_try_again(wait.a_while(), EAGAIN)) continue;
    if (errno != EINTR || !restarts) return -1;
    wait = OutsideWait(call, OutsideWait::kNotRestarted, deadline);
  }
}

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

#define FGMPI_WAIT_FOR_SIGNAL(...)                     \
  if (!lets_others_run(__builtin_return_address(0))) { \
    InKernel marked(__builtin_return_address(0));      \
    return __VA_ARGS__;                                \
  }

FGMPI_INTERPOSE int pause(void) {
  static constinit Real<int()> real("pause");
  FGMPI_WAIT_FOR_SIGNAL(real());
  OutsideWait wait("pause", OutsideWait::kNotRestarted);
  while (wait.until_ready(nullptr, 0) != fgmpi::sched::WaitEnd::kInterrupted) continue;
  return errno = EINTR, -1;
}

FGMPI_INTERPOSE int sigsuspend(const sigset_t* set) {
  static constinit Real<int(const sigset_t*)> real("sigsuspend");
  if (!bring_home(kWaits)) return errno = EBUSY, -1;
  FGMPI_WAIT_FOR_SIGNAL(real(set));
  OutsideWait wait("sigsuspend", OutsideWait::kNotRestarted);
  // ppoll() with no time delivers pending signals that `set` does not block, and does not wait.
  do
    if (g_ppoll_for_signals(nullptr, 0, &kNoWait, set) != 0) return -1;
  while (may_try_again(wait.a_while(), EINTR));
  return -1;
}

FGMPI_INTERPOSE int sigwait(const sigset_t* set, int* number) {
  static constinit Real<int(const sigset_t*, int*)> real("sigwait");
  if (!bring_home(kWaits)) return EBUSY;
  FGMPI_WAIT_FOR_SIGNAL(real(set, number));
  const int kept = errno;
  const int taken = wait_for_signal("sigwait", set, nullptr, kNever, true);
  const int failed = errno;
  errno = kept;
  if (taken < 0) return failed;
  *number = taken;
  return 0;
}

FGMPI_INTERPOSE int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  static constinit Real<int(const sigset_t*, siginfo_t*)> real("sigwaitinfo");
  if (!bring_home(kWaits)) return errno = EBUSY, -1;
  FGMPI_WAIT_FOR_SIGNAL(real(set, info));
  return wait_for_signal("sigwaitinfo", set, info, kNever, false);
}

FGMPI_INTERPOSE int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* time) {
  if (time && !is_valid_time(time)) return g_sigtimedwait(set, info, time);
  if (!bring_home(kWaits)) return errno = EBUSY, -1;
  FGMPI_WAIT_FOR_SIGNAL(g_sigtimedwait(set, info, time));
  return wait_for_signal("sigtimedwait", set, info, deadline_after(time), false);
}
