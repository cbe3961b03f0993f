// Calls that block for a given time (sleep, nanosleep, poll without descriptors, ...): while a rank
// is in one, other ranks run. A signal handler that the rank has installed ends its calls.
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "privatize/internal.h"
#include "privatize/libc/handlers.h"
#include "privatize/libc/outside_calls.h"

using namespace fgmpi;
using namespace fgmpi::privatize;

namespace {

/// True where a rank is calling, outside of signal handlers: a handler may have interrupted
/// anything, so it must not switch.
bool sleeps_as_rank() { return on_proclet() && !in_handler(); }

/// True if a wait without descriptors is to be treated as a sleep, which switches. Only calls
/// of the program itself are: a library may hold a lock while it waits, on which another rank
/// would block.
bool is_sleep_of_program(const void* caller) {
#ifdef FGMPI_SANITIZE
  return (void)caller, sleeps_as_rank();  // the caller is the sanitizer's wrapper, not the program
#else
  return sleeps_as_rank() && in_program(caller);
#endif
}

/// Sleeps for `duration` nanoseconds. Returns the nanoseconds that are left where a handler of the
/// rank has run, 0 if none has. May switch.
int64_t sleep_of_rank(const char* call, int64_t duration) {
  // Handlers do not cut shorter sleeps short: that would cost more than such a sleep lasts.
  constexpr int64_t kShort = 1'000'000;
  const int64_t deadline = add_time(now_ns(), duration);
  OutsideWait wait(call, OutsideWait::kNotRestarted, deadline);
  if (duration > kShort && rank_has_handlers()) {
    while (wait.until_ready(nullptr, 0) == sched::WaitEnd::kReady) continue;
  } else {
    sched::SwitchingCall inside;
    sched::sleep_for(duration);
  }
  return wait.is_interrupted() ? std::max<int64_t>(deadline - now_ns(), 1) : 0;
}

/// The result of most of these functions: -1 and EINTR where time is left, else 0.
int with_errno(int64_t left) { return left > 0 ? (errno = EINTR, -1) : 0; }

int64_t with_remaining(int64_t left, timespec* remaining) {
  if (left > 0 && remaining) *remaining = to_timespec(left);
  return left;
}

}  // namespace

FGMPI_INTERPOSE unsigned sleep(unsigned seconds) {
  static auto* real = next_symbol<unsigned(unsigned)>("sleep");
  if (!sleeps_as_rank()) return real(seconds);
  return static_cast<unsigned>(sleep_of_rank("sleep", seconds * kSecond) / kSecond);
}

FGMPI_INTERPOSE int usleep(useconds_t microseconds) {
  static auto* real = next_symbol<int(useconds_t)>("usleep");
  if (!sleeps_as_rank()) return real(microseconds);
  return with_errno(sleep_of_rank("usleep", int64_t{microseconds} * 1000));
}

FGMPI_INTERPOSE int nanosleep(const timespec* duration, timespec* remaining) {
  static auto* real = next_symbol<int(const timespec*, timespec*)>("nanosleep");
  if (!sleeps_as_rank() || !is_valid_time(duration)) return real(duration, remaining);
  return with_errno(with_remaining(sleep_of_rank("nanosleep", to_ns(*duration)), remaining));
}

FGMPI_INTERPOSE int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                    timespec* remaining) {
  static auto* real =
      next_symbol<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  timespec now;
  if (!sleeps_as_rank() || !is_valid_time(time) || clock_gettime(clock, &now) != 0)
    return real(clock, flags, time, remaining);
  int64_t duration = to_ns(*time);
  if (flags & TIMER_ABSTIME) {
    duration -= to_ns(now);
    remaining = nullptr;
  }
  return with_remaining(sleep_of_rank("clock_nanosleep", duration), remaining) > 0 ? EINTR : 0;
}

// select and poll without file descriptors are sleeps, too. Without a timeout they wait for a
// signal.

FGMPI_INTERPOSE int poll(pollfd* files, nfds_t count, int timeout_ms) {
  if (count > 0 || timeout_ms < 0 || !is_sleep_of_program(__builtin_return_address(0)))
    return poll_outside(__builtin_return_address(0), files, count, timeout_ms);
  return with_errno(sleep_of_rank("poll", int64_t{timeout_ms} * 1'000'000));
}

FGMPI_INTERPOSE int ppoll(pollfd* files, nfds_t count, const timespec* timeout,
                          const sigset_t* mask) {
  if (count > 0 || !timeout || mask || !is_valid_time(timeout) ||
      !is_sleep_of_program(__builtin_return_address(0)))
    return ppoll_outside(__builtin_return_address(0), files, count, timeout, mask);
  return with_errno(sleep_of_rank("ppoll", to_ns(*timeout)));
}

FGMPI_INTERPOSE int select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* timeout) {
  if (count != 0 || !timeout || timeout->tv_sec < 0 || timeout->tv_usec < 0 ||
      !is_sleep_of_program(__builtin_return_address(0)))
    return select_outside(__builtin_return_address(0), count, in, out, except, timeout);
  const int64_t whole = to_ns({timeout->tv_sec, 0});
  const int64_t duration =
      add_time(whole, to_ns({timeout->tv_usec / 1'000'000, timeout->tv_usec % 1'000'000 * 1000}));
  const int64_t left = sleep_of_rank("select", duration);
  const timespec rest = to_timespec(left);
  *timeout = {rest.tv_sec, rest.tv_nsec / 1000};  // Linux writes the remaining time back, too
  return with_errno(left);
}

FGMPI_INTERPOSE int pselect(int count, fd_set* in, fd_set* out, fd_set* except,
                            const timespec* timeout, const sigset_t* mask) {
  if (count != 0 || !timeout || mask || !is_valid_time(timeout) ||
      !is_sleep_of_program(__builtin_return_address(0)))
    return pselect_outside(__builtin_return_address(0), count, in, out, except, timeout, mask);
  return with_errno(sleep_of_rank("pselect", to_ns(*timeout)));
}

FGMPI_INTERPOSE int thrd_sleep(const timespec* duration, timespec* remaining) {
  static auto* real = next_symbol<int(const timespec*, timespec*)>("thrd_sleep");
  if (!sleeps_as_rank() || !is_valid_time(duration)) return real(duration, remaining);
  return with_remaining(sleep_of_rank("thrd_sleep", to_ns(*duration)), remaining) > 0 ? -1 : 0;
}

FGMPI_INTERPOSE int sched_yield(void) noexcept {
  static auto* real = next_symbol<int()>("sched_yield");
  if (!sleeps_as_rank()) return real();
  sched::SwitchingCall inside;
  sched::yield();
  return 0;
}

FGMPI_INTERPOSE void thrd_yield(void) { sched_yield(); }
