// What the other files of the scheduler call once threads are enabled (threads.h). All of it
// inside.
#pragma once

#include "proclet-sched/threads.h"

namespace fgmpi::sched {

namespace detail {
/// A foreign thread has been inside: ready proclets are put into the queue by
/// enqueue_with_threads(), and switches are noted.
[[gnu::visibility("hidden")]] extern bool g_queue_is_shared;
}  // namespace detail
inline bool queue_is_shared() { return __builtin_expect(detail::g_queue_is_shared, 0); }

/// In place of the jump away from a foreign thread's parked proclet: returns when it is ready.
void park_thread(Proclet* self);
void yield_thread(Proclet* self);
void sleep_thread(int64_t ns);
/// Makes a proclet of any kind ready, whichever thread is inside.
void enqueue_with_threads(Proclet* p, bool in_front);
/// A switch on the scheduler's thread has more to do than without threads.
bool switches_are_noted();
void note_switch_with_threads(Proclet* to);
/// Since this was last asked, foreign threads have done something: whether all wait is to be found
/// out anew.
bool threads_have_moved();
/// The scheduler's thread has nothing to do since `idle_since` (-1: since now): whether it is to
/// sleep at once, since other threads have their turn.
bool turn_is_elsewhere(int64_t idle_since);
/// The scheduler's thread has nothing to do until woken, or until `timeout_ns` (-1: no limit).
void sleep_on_scheduler_thread(int64_t timeout_ns);

}  // namespace fgmpi::sched
