// The run queue: a list through Proclet::next (fifo, lifo), or a vector that the random policy
// draws from. Its head and tail are in Hot: ready() of sched.h appends to it in line.
//
// Thread rule: as sched.h; nothing here switches.
#pragma once

#include "proclet-sched/coroutine/scheduler.h"
#include "proclet-sched/coroutine/switch_inl.h"
#include "proclet-sched/threads/threads_internal.h"

namespace fgmpi::sched {

inline void push_front(Proclet* p) {
  p->next = g_hot.head;
  if (!g_hot.head) g_hot.tail = p;
  g_hot.head = p;
}

/// Adds a ready proclet under the random policy.
void add_shuffled(Proclet* p);
/// Removes one at random. REQUIRES: there is one.
Proclet* draw_shuffled();

/// Like draw_shuffled(), or nullptr where there is none.
inline Proclet* pick_shuffled() { return g_scheduler.shuffled.empty() ? nullptr : draw_shuffled(); }

/// The next proclet to run under any policy, or nullptr.
inline Proclet* pick() { return g_hot.head ? pop_head() : pick_shuffled(); }

inline bool anything_ready() { return g_hot.head || !g_scheduler.shuffled.empty(); }

/// Puts a proclet behind all others; under the random policy, among them.
inline void append(Proclet* p) {
  p->state = ProcletState::kReady;
  if (queue_is_shared()) return enqueue_with_threads(p, false);
  if (g_scheduler.options.policy == Options::kRandom) return add_shuffled(p);
  detail::append_fifo(p);
}

}  // namespace fgmpi::sched
