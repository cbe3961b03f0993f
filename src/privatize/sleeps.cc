// Calls that block for a given time (sleep, nanosleep, poll without descriptors, ...): while a rank
// is in one, other ranks run.
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "privatize/internal.h"
#include "privatize/outside_calls.h"

namespace {

using fgmpi::kSecond;

bool valid(const timespec* t) { return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < kSecond; }

using fgmpi::privatize::in_program;
using fgmpi::privatize::on_proclet;

/// True if a wait without descriptors is to be treated as a sleep, which switches: only calls from
/// the program itself are. A library may wait with a lock held that another rank would block on.
bool is_sleep_of_program(const void* caller) {
#ifdef FGMPI_SANITIZE
  return (void)caller, on_proclet();  // the caller is the sanitizer's wrapper, not the program
#else
  return on_proclet() && in_program(caller);
#endif
}

}  // namespace

using namespace fgmpi;
using namespace fgmpi::privatize;

FGMPI_INTERPOSE unsigned sleep(unsigned seconds) {
  static auto* real = next_symbol<unsigned(unsigned)>("sleep");
  if (!on_proclet()) return real(seconds);
  sched::SwitchingCall inside;
  sched::sleep_for(seconds * kSecond);
  return 0;
}

FGMPI_INTERPOSE int usleep(useconds_t microseconds) {
  static auto* real = next_symbol<int(useconds_t)>("usleep");
  if (!on_proclet()) return real(microseconds);
  sched::SwitchingCall inside;
  sched::sleep_for(int64_t{microseconds} * 1000);
  return 0;
}

FGMPI_INTERPOSE int nanosleep(const timespec* duration, timespec* remaining) {
  static auto* real = next_symbol<int(const timespec*, timespec*)>("nanosleep");
  if (!on_proclet() || !valid(duration)) return real(duration, remaining);
  sched::SwitchingCall inside;
  sched::sleep_for(to_ns(*duration));
  return 0;
}

FGMPI_INTERPOSE int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                    timespec* remaining) {
  static auto* real =
      next_symbol<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  timespec now;
  if (!on_proclet() || !valid(time) || clock_gettime(clock, &now) != 0)
    return real(clock, flags, time, remaining);
  int64_t duration = to_ns(*time);
  if (flags & TIMER_ABSTIME) duration -= to_ns(now);
  sched::SwitchingCall inside;
  sched::sleep_for(duration);
  return 0;
}

// select and poll without file descriptors are sleeps, too. Without a timeout they wait for a
// signal.

FGMPI_INTERPOSE int poll(pollfd* files, nfds_t count, int timeout_ms) {
  if (count > 0 || timeout_ms < 0 || !is_sleep_of_program(__builtin_return_address(0)))
    return poll_outside(__builtin_return_address(0), files, count, timeout_ms);
  sched::SwitchingCall inside;
  sched::sleep_for(int64_t{timeout_ms} * 1'000'000);
  return 0;
}

FGMPI_INTERPOSE int ppoll(pollfd* files, nfds_t count, const timespec* timeout,
                          const sigset_t* mask) {
  if (count > 0 || !timeout || mask || !valid(timeout) ||
      !is_sleep_of_program(__builtin_return_address(0)))
    return ppoll_outside(__builtin_return_address(0), files, count, timeout, mask);
  sched::SwitchingCall inside;
  sched::sleep_for(to_ns(*timeout));
  return 0;
}

FGMPI_INTERPOSE int select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* timeout) {
  if (count != 0 || !timeout || timeout->tv_sec < 0 || timeout->tv_usec < 0 ||
      !is_sleep_of_program(__builtin_return_address(0)))
    return select_outside(__builtin_return_address(0), count, in, out, except, timeout);
  const int64_t whole = to_ns({timeout->tv_sec, 0});
  sched::SwitchingCall inside;
  sched::sleep_for(
      add_time(whole, to_ns({timeout->tv_usec / 1'000'000, timeout->tv_usec % 1'000'000 * 1000})));
  *timeout = {0, 0};  // what is left, as Linux tells it
  return 0;
}

FGMPI_INTERPOSE int pselect(int count, fd_set* in, fd_set* out, fd_set* except,
                            const timespec* timeout, const sigset_t* mask) {
  if (count != 0 || !timeout || mask || !valid(timeout) ||
      !is_sleep_of_program(__builtin_return_address(0)))
    return pselect_outside(__builtin_return_address(0), count, in, out, except, timeout, mask);
  sched::SwitchingCall inside;
  sched::sleep_for(to_ns(*timeout));
  return 0;
}

FGMPI_INTERPOSE int thrd_sleep(const timespec* duration, timespec* remaining) {
  static auto* real = next_symbol<int(const timespec*, timespec*)>("thrd_sleep");
  if (!on_proclet() || !valid(duration)) return real(duration, remaining);
  sched::SwitchingCall inside;
  sched::sleep_for(to_ns(*duration));
  return 0;
}

FGMPI_INTERPOSE int sched_yield(void) noexcept {
  static auto* real = next_symbol<int()>("sched_yield");
  if (!on_proclet()) return real();
  sched::SwitchingCall inside;
  sched::yield();
  return 0;
}

FGMPI_INTERPOSE void thrd_yield(void) { sched_yield(); }
