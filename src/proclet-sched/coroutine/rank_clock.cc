// Measures runs between switches.
#include "proclet-sched/coroutine/rank_clock.h"

#include <time.h>

#include <algorithm>

#include "base/clock.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/scheduler.h"

namespace fgmpi::sched {
namespace {

/// A run of this length (ns) is measured by a system call, which takes below 1 us.
constexpr int64_t kLongRun = 50'000;

struct RankClock {
  void (*note)(Proclet*, int64_t, int64_t) = nullptr;
  void (*beneath)(Proclet*, Proclet*) = nullptr;  ///< the hook that there was before
  int64_t began = 0;                              ///< the run that goes on
  int64_t processor = 0;                          ///< the thread's time when it was read last
  int64_t unread = 0;                             ///< ns of runs since then
};
constinit RankClock g_rank_clock;

int64_t processor_time() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return to_ns(t);
}

/// The processor time of a run that has taken so long.
int64_t measured(int64_t ns) {
  RankClock& clock = g_rank_clock;
  if (ns < kLongRun) {
    clock.unread += ns;
    return ns;
  }
  const int64_t now = processor_time();
  const int64_t used = now - clock.processor - clock.unread;
  clock.processor = now;
  clock.unread = 0;
  return std::clamp<int64_t>(used, 0, ns);
}

void on_switch(Proclet* from, Proclet* to) {
  RankClock& clock = g_rank_clock;
  const int64_t now = now_ns(), passed = now - clock.began;
  const int64_t ran = measured(passed);
  clock.began = now;
  if (from) clock.note(from, now, ran);
  if (from && passed >= kLongRun) poll_at_next_switch();
  const bool due =
      g_scheduler.beneath_at == HookAt::kEachSwitch || g_hot.watched[0] != g_hot.watched[1];
  if (clock.beneath && due) clock.beneath(from, to);
}

}  // namespace

void measure_ranks(void (*note)(Proclet*, int64_t, int64_t)) {
  RankClock& clock = g_rank_clock;
  clock.note = note;
  clock.beneath = g_scheduler.switch_hook;
  clock.began = now_ns();
  clock.processor = processor_time();
  g_scheduler.beneath_at = g_scheduler.hook_at;
  set_switch_hook(on_switch, HookAt::kEachSwitch);
}

}  // namespace fgmpi::sched
