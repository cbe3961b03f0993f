#include "proclet-sched/queue.h"

namespace fgmpi::sched {
namespace {

uint64_t next_random() {  // splitmix64
  uint64_t z = (g_scheduler.random += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

void add_shuffled(Proclet* p) { g_scheduler.shuffled.push_back(p); }

Proclet* draw_shuffled() {
  size_t i = next_random() % g_scheduler.shuffled.size();
  Proclet* p = g_scheduler.shuffled[i];
  g_scheduler.shuffled[i] = g_scheduler.shuffled.back();
  g_scheduler.shuffled.pop_back();
  return p;
}

void detail::ready_by_policy(Proclet* p) {
  if (g_scheduler.options.policy == Options::kRandom) return add_shuffled(p);
  push_front(p);  // lifo
}

void make_runnable(Proclet* p) { append(p); }

}  // namespace fgmpi::sched
