// The order of ready proclets under the policies other than fifo.

#include "proclet-sched/coroutine/queue.h"

namespace fgmpi::sched {
void add_shuffled(Proclet* p) { g_scheduler.shuffled.push_back(p); }

Proclet* draw_shuffled() {
  size_t i = g_scheduler.random.next() % g_scheduler.shuffled.size();
  Proclet* p = g_scheduler.shuffled[i];
  g_scheduler.shuffled[i] = g_scheduler.shuffled.back();
  g_scheduler.shuffled.pop_back();
  return p;
}

void detail::ready_by_policy(Proclet* p) {
  if (queue_is_shared())
    return enqueue_with_threads(p, g_scheduler.options.policy == Options::kLifo);
  if (g_scheduler.options.policy == Options::kRandom) return add_shuffled(p);
  push_front(p);  // lifo
}

void make_runnable(Proclet* p) { append(p); }

}  // namespace fgmpi::sched
