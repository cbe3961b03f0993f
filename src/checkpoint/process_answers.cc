// What the C library tells a rank of its process, where ranks move (FGMPI_BALANCE): the number is
// that of the process in which the rank has begun, and the process's processor time does not go
// back when the rank comes to a process that has used less of it.
//
// These functions stand in front of the C library's for all of the process. Only the code of ranks
// gets other answers: the program, and what lies in a slot (libraries with an image a rank).
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/modules.h"
#include "checkpoint/moves.h"
#include "watch/interpose.h"

namespace fgmpi::checkpoint {
namespace {

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

pid_t real_getpid() {
  static auto* const function = real<pid_t()>("getpid");
  return function();
}

int real_clock_gettime(clockid_t clock, timespec* out) {
  static auto* const function = real<int(clockid_t, timespec*)>("clock_gettime");
  return function(clock, out);
}

int real_getrusage(__rusage_who_t who, rusage* out) {
  static auto* const function = real<int(__rusage_who_t, rusage*)>("getrusage");
  return function(who, out);
}

constexpr int64_t kMicrosecond = 1000;  // ns

int64_t to_ns(const timeval& t) { return t.tv_sec * kSecond + t.tv_usec * kMicrosecond; }
timeval to_timeval(int64_t ns) { return {ns / kSecond, ns % kSecond / kMicrosecond}; }

/// The processor time of this process.
ProcessorTimes times_here() {
  timespec all{};
  rusage parts{};
  real_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
  real_getrusage(RUSAGE_SELF, &parts);
  return {fgmpi::to_ns(all), to_ns(parts.ru_utime), to_ns(parts.ru_stime)};
}
/// The processor time of this process as the rank sees it.
ProcessorTimes times_of(const LayerRank& rank) {
  ProcessorTimes here = times_here();
  here.add(rank.times_before, 1);
  return here;
}

/// This process, but not a child that one of its ranks has forked.
pid_t g_process = 0;
AddressRange g_program, g_slots;

/// The rank that asks from this address; null: the C library answers.
LayerRank* rank_at(const void* caller) {
  if (!g_process) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(caller);
  if (!g_program.contains(address) && !g_slots.contains(address)) return nullptr;
  return real_getpid() == g_process ? current_rank() : nullptr;
}

}  // namespace

void answer_as_home(LayerRank& rank, const ProcessSlots& slots) {
  if (!g_process && slots.count > 0) {
    find_loaded_module([](const dl_phdr_info& module) {
      g_program = range_of(module);
      return true;  // the first is the program
    });
    const auto low = reinterpret_cast<uintptr_t>(slots.slots) - slots.first * slots.stride;
    g_slots = {low, low + slots.total * slots.stride};
    g_process = real_getpid();
  }
  rank.home_process = real_getpid();
}

void note_process_left(LayerRank& rank) { rank.times_before.add(times_here(), 1); }
void note_process_entered(LayerRank& rank) { rank.times_before.add(times_here(), -1); }

}  // namespace fgmpi::checkpoint

using namespace fgmpi;
using namespace fgmpi::checkpoint;

EXPORT pid_t getpid() noexcept {
  const LayerRank* const rank = rank_at(FROM);
  return rank ? rank->home_process : real_getpid();
}

EXPORT int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const int code = real_clock_gettime(clock, out);
  const bool shared = clock == CLOCK_PROCESS_CPUTIME_ID && code == 0;
  if (const LayerRank* const rank = shared ? rank_at(FROM) : nullptr)
    *out = to_timespec(times_of(*rank).all);
  return code;
}

EXPORT clock_t clock() noexcept {
  static auto* const function = real<clock_t()>("clock");
  const LayerRank* const rank = rank_at(FROM);
  return rank ? times_of(*rank).all / (kSecond / CLOCKS_PER_SEC) : function();
}

EXPORT clock_t times(tms* out) noexcept {
  static auto* const function = real<clock_t(tms*)>("times");
  const clock_t now = function(out);
  if (const LayerRank* const rank = out ? rank_at(FROM) : nullptr) {
    const int64_t tick = kSecond / sysconf(_SC_CLK_TCK);
    const ProcessorTimes used = times_of(*rank);
    out->tms_utime = used.user / tick;
    out->tms_stime = used.system / tick;
  }
  return now;
}

EXPORT int getrusage(__rusage_who_t who, rusage* out) noexcept {
  const int code = real_getrusage(who, out);
  const bool shared = who == RUSAGE_SELF && code == 0;
  if (const LayerRank* const rank = shared ? rank_at(FROM) : nullptr) {
    const ProcessorTimes used = times_of(*rank);
    out->ru_utime = to_timeval(used.user);
    out->ru_stime = to_timeval(used.system);
  }
  return code;
}
