// The heap of timers of sleeping proclets.

#include "proclet-sched/coroutine/timers.h"

#include <algorithm>
#include <functional>

#include "base/clock.h"

namespace fgmpi::sched {

void add_timer(int64_t deadline, Proclet* proclet) {
  g_scheduler.timers.push_back({deadline, g_scheduler.timer_order++, proclet});
  std::push_heap(g_scheduler.timers.begin(), g_scheduler.timers.end(), std::greater<>());
}

void remove_timer(const Proclet* proclet) {
  std::erase_if(g_scheduler.timers, [=](const Timer& t) { return t.proclet == proclet; });
  std::make_heap(g_scheduler.timers.begin(), g_scheduler.timers.end(), std::greater<>());
}

void wake_sleepers() {
  if (g_scheduler.timers.empty()) return;
  if (is_repeatable()) g_repeatable_time->catch_up();
  int64_t now = now_ns();
  while (!g_scheduler.timers.empty() && g_scheduler.timers.front().deadline <= now) {
    Proclet* p = g_scheduler.timers.front().proclet;
    std::pop_heap(g_scheduler.timers.begin(), g_scheduler.timers.end(), std::greater<>());
    g_scheduler.timers.pop_back();
    p->state = ProcletState::kParked;
    ready(p);
  }
}

int64_t until_next_timer(int64_t now) {
  return g_scheduler.timers.empty()
             ? -1
             : std::max<int64_t>(g_scheduler.timers.front().deadline - now, 0);
}

}  // namespace fgmpi::sched
