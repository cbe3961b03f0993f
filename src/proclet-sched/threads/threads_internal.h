// What the other files of the scheduler call once threads are enabled (threads.h). All of it is
// called inside.
#pragma once

#include "proclet-sched/threads/threads.h"

namespace fgmpi::sched {

namespace detail {
/// True once a foreign thread has been inside: enqueue_with_threads() then queues ready proclets,
/// and switches are recorded.
[[gnu::visibility("hidden")]] extern bool g_queue_is_shared;
}  // namespace detail
inline bool queue_is_shared() { return __builtin_expect(detail::g_queue_is_shared, 0); }

/// Replaces the jump away from a foreign thread's parked proclet: returns when the
/// proclet is ready.
void park_thread(Proclet* self);
void yield_thread(Proclet* self);
void sleep_thread(int64_t ns);
/// Makes a proclet of any kind ready, whichever thread is inside.
void enqueue_with_threads(Proclet* p, bool in_front);
/// True when a switch on the scheduler's thread has more to do than without threads.
bool switches_are_recorded();
void record_switch(Proclet* to);
/// True when foreign threads have done something since the last call: then it must be checked anew
/// whether all threads wait.
bool threads_have_moved();
/// The scheduler's thread has had nothing to do since `idle_since` (-1: since now). True: it is to
/// sleep at once, since another thread has its turn.
bool turn_is_elsewhere(int64_t idle_since);
/// Sleeps on the scheduler's thread until woken, for at most `timeout_ns` (-1: no limit).
void sleep_on_scheduler_thread(int64_t timeout_ns);

}  // namespace fgmpi::sched
