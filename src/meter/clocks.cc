// The clocks and the sleeps of the C library, for the program: virtual time of the rank that runs.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/modules.h"
#include "fgmpi.h"
#include "meter/meter.h"

namespace fgmpi::predict {
namespace {

/// The code of the MPI library, and of the reporter in front of it, which need the real time.
AddressRange g_library, g_reporter;
/// Real time of the day minus virtual time, ns: set by the first question.
int64_t g_day = 0;

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void find_libraries() {
  for_each_loaded_module([](const dl_phdr_info& module) {
    const std::string path = path_of(module);
    if (path.find("/libmpich.so") != std::string::npos) g_library = range_of(module);
    if (path.find("/libfgmpi-report.so") != std::string::npos) g_reporter = range_of(module);
  });
}

/// Is the caller at this address the code of a rank that has a clock?
bool has_clock(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return g_hooks && !g_library.contains(address) && !g_reporter.contains(address) &&
         g_hooks->clock_ns() >= 0;
}

/// The virtual time for a caller at this address, ns; -1: it gets the real one.
int64_t virtual_ns(const void* caller) { return has_clock(caller) ? g_hooks->now_ns() : -1; }

int64_t day_ns(int64_t virtual_time) {
  if (!g_day) {
    timespec t{};
    next<int(clockid_t, timespec*)>("clock_gettime")(CLOCK_REALTIME, &t);
    g_day = to_ns(t) - virtual_time;
  }
  return g_day + virtual_time;
}

bool is_real_time(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

/// Sleeps in virtual time. Returns false where the caller has to sleep itself.
bool pass(const void* caller, int64_t ns) {
  if (!has_clock(caller)) return false;
  g_hooks->pass_ns(ns);
  return true;
}

}  // namespace
}  // namespace fgmpi::predict

using namespace fgmpi;
using namespace fgmpi::predict;

EXPORT int clock_gettime(clockid_t clock, timespec* out) noexcept {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  const bool is_processor_time =
      clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
  const int64_t ns = is_processor_time ? -1 : virtual_ns(FROM);
  if (ns < 0) return real(clock, out);
  *out = to_timespec(is_real_time(clock) ? day_ns(ns) : ns);
  return 0;
}
EXPORT int gettimeofday(timeval* out, void* zone) noexcept {
  static auto* const real = next<int(timeval*, void*)>("gettimeofday");
  const int64_t ns = virtual_ns(FROM);
  if (ns < 0) return real(out, zone);
  const timespec t = to_timespec(day_ns(ns));
  *out = {t.tv_sec, t.tv_nsec / 1000};
  return 0;
}
EXPORT time_t time(time_t* out) noexcept {
  static auto* const real = next<time_t(time_t*)>("time");
  const int64_t ns = virtual_ns(FROM);
  if (ns < 0) return real(out);
  const time_t seconds = to_timespec(day_ns(ns)).tv_sec;
  if (out) *out = seconds;
  return seconds;
}
EXPORT unsigned sleep(unsigned seconds) {
  static auto* const real = next<unsigned(unsigned)>("sleep");
  return pass(FROM, int64_t{seconds} * kSecond) ? 0 : real(seconds);
}
EXPORT int usleep(useconds_t us) {
  static auto* const real = next<int(useconds_t)>("usleep");
  return pass(FROM, int64_t{us} * 1000) ? 0 : real(us);
}
EXPORT int nanosleep(const timespec* t, timespec* left) {
  static auto* const real = next<int(const timespec*, timespec*)>("nanosleep");
  const bool good = t && t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < kSecond;
  return good && pass(FROM, to_ns(*t)) ? 0 : real(t, left);
}
EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* t, timespec* left) {
  static auto* const real =
      next<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  const bool good = t && t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < kSecond;
  if (!good || !has_clock(FROM)) return real(clock, flags, t, left);
  int64_t wait = to_ns(*t);
  if (flags & TIMER_ABSTIME) {
    const int64_t ns = virtual_ns(FROM);
    wait -= is_real_time(clock) ? day_ns(ns) : ns;
  }
  if (wait > 0) g_hooks->pass_ns(wait);
  return 0;
}
EXPORT int MPIX_Usleep(unsigned us) {
  static auto* const real = next<int(unsigned)>("MPIX_Usleep");
  return pass(FROM, int64_t{us} * 1000) ? MPI_SUCCESS : real(us);
}
EXPORT int MPIX_Yield() {
  static auto* const real = next<int()>("MPIX_Yield");
  if (virtual_ns(FROM) < 0) return real();
  g_hooks->yield();
  return MPI_SUCCESS;
}
