// Calls that block for a time: a rank that makes them lets the others run.
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "privatize/internal.h"

namespace {

constexpr int64_t kSecond = 1'000'000'000;

bool valid(const timespec* t) { return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < kSecond; }

int64_t to_ns(const timespec& t) {
  if (t.tv_sec >= INT64_MAX / kSecond) return INT64_MAX;
  return t.tv_sec * kSecond + t.tv_nsec;
}

}  // namespace

using namespace fgmpi;
using namespace fgmpi::privatize;

FGMPI_INTERPOSE unsigned sleep(unsigned seconds) {
  static auto* real = next_symbol<unsigned(unsigned)>("sleep");
  if (!on_proclet()) return real(seconds);
  sched::sleep_for(seconds * kSecond);
  return 0;
}

FGMPI_INTERPOSE int usleep(useconds_t microseconds) {
  static auto* real = next_symbol<int(useconds_t)>("usleep");
  if (!on_proclet()) return real(microseconds);
  sched::sleep_for(int64_t{microseconds} * 1000);
  return 0;
}

FGMPI_INTERPOSE int nanosleep(const timespec* duration, timespec* remaining) {
  static auto* real = next_symbol<int(const timespec*, timespec*)>("nanosleep");
  if (!on_proclet() || !valid(duration)) return real(duration, remaining);
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
  sched::sleep_for(duration);
  return 0;
}

FGMPI_INTERPOSE int thrd_sleep(const timespec* duration, timespec* remaining) {
  static auto* real = next_symbol<int(const timespec*, timespec*)>("thrd_sleep");
  if (!on_proclet() || !valid(duration)) return real(duration, remaining);
  sched::sleep_for(to_ns(*duration));
  return 0;
}

FGMPI_INTERPOSE int sched_yield(void) noexcept {
  static auto* real = next_symbol<int()>("sched_yield");
  if (!on_proclet()) return real();
  sched::yield();
  return 0;
}

FGMPI_INTERPOSE void thrd_yield(void) { sched_yield(); }
