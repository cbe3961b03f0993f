// Foreign threads in the scheduler: how they enter and leave, wait and are woken. The essay is
// in threads.h.
#include "proclet-sched/threads/threads.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/plain_mutex.h"
#include "base/process_threads.h"
#include "base/raw_call.h"
#include "base/relax_cpu.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/threads/engine_lock.h"
#include "proclet-sched/threads/threads_internal.h"
#include "proclet-sched/threads/turns.h"

#include <cxxabi.h>
#include <errno.h>

namespace fgmpi::sched {

namespace detail {
constinit bool g_threads_enabled = false;
thread_local constinit Inside t_inside = kOutside;
thread_local constinit LockUser* t_user = nullptr;
constinit EngineLock g_engine_lock;
constinit bool g_leaving_has_work = false;
constinit bool g_queue_is_shared = false;
}  // namespace detail

using detail::g_engine_lock;
using detail::g_queue_is_shared;
using detail::t_inside;
using detail::t_user;

namespace {

/// The data of Hot and Scheduler that belong to the thread that is inside. While a foreign thread
/// is inside, those of the scheduler's thread are saved here, with its run queue.
struct InsideState {
  Proclet* current = nullptr;
  Proclet* head = nullptr;
  Proclet* tail = nullptr;
  RuntimeCells cells;
  const void* const* watched = detail::nothing_watched;
  bool extras = false;
  void* host_context = nullptr;
  void* host_fake_stack = nullptr;
  const void* host_low = nullptr;
  size_t host_size = 0;
  bool in_host_call = false;

  void take() {
    current = g_hot.current, head = g_hot.head, tail = g_hot.tail;
    cells = g_hot.cells, watched = g_hot.watched, extras = g_hot.extras;
    host_context = g_scheduler.host_context, host_fake_stack = g_scheduler.host_fake_stack;
    host_low = g_scheduler.host_low, host_size = g_scheduler.host_size;
    in_host_call = g_scheduler.in_host_call;
  }
  void put() const {
    detail::set_current(current);
    g_hot.head = head, g_hot.tail = tail;
    g_hot.cells = cells, g_hot.watched = watched, g_hot.extras = extras;
    g_scheduler.host_context = host_context, g_scheduler.host_fake_stack = host_fake_stack;
    g_scheduler.host_low = host_low, g_scheduler.host_size = host_size;
    g_scheduler.in_host_call = in_host_call;
  }
};

}  // namespace

class ThreadOfRank : public WaitingThread {
 public:
  Proclet proclet;
  Proclet* rank = nullptr;
  InsideState side;  ///< while the thread is outside, or waits without the lock
  LockUser user;
  bool counted = false;  ///< in Turns::users
  uint64_t number = 0;
  int id = 0;          ///< the kernel's thread number, once adopt_thread() has set it
  bool named = false;  ///< `handle` is known
  pthread_t handle{};
  Proclet* joiner = nullptr;  ///< parked until this thread ends; protected by list_mutex
};

namespace {

constexpr int kPollsPerClock = 16;
/// Polls before a thread begins to wait: about as long as an exchange between processes lasts.
constexpr int kShortSpin = 100;

struct Threads {
  /// All threads belong to the only rank, also those that adopt_thread() has not seen.
  bool any_thread = false;
  /// The only rank is a program that was started without create_ranks() and run().
  bool adopted = false;
  /// True while g_hot holds a foreign thread's side, and `scheduler` that of the
  /// scheduler's thread.
  bool scheduler_is_aside = false;
  InsideState scheduler;
  LockUser scheduler_user;
  WaitingThread scheduler_waiter;
  uint32_t queued_helpers = 0;  ///< in the run queue, once it is shared
  uint32_t began_before = 0;    ///< proclets in calls that began before threads were enabled
  /// The proclets counted in began_before that are in a call made by a callback.
  std::vector<Proclet*> suspended;
  uint64_t entries = 0;
  /// Changes whenever the answer to "do all threads wait?" may change.
  std::atomic<uint64_t> activity{0};
  /// Its value when the scheduler's thread last checked.
  uint64_t judged_activity = 0;
  uint64_t judged_moves = 0;  ///< switches and entries when the kernel was last to be asked
  uint64_t judged_turns = 1;  ///< what the kernel answered
  int scheduler_id = 0;       ///< the kernel's number of the scheduler's thread

  PlainMutex list_mutex;  ///< protects `list`, also before threads are enabled
  std::vector<ThreadOfRank*> list;
  uint64_t made = 0;
};
constinit Immortal<Threads> g_immortal_threads;
constexpr Threads& g_threads = g_immortal_threads.value;

[[gnu::tls_model("initial-exec")]] thread_local constinit bool t_scheduler = false;
[[gnu::tls_model("initial-exec")]] thread_local constinit ThreadOfRank* t_thread = nullptr;

ThreadOfRank* thread_of(Proclet* p) { return reinterpret_cast<ThreadOfRank*>(p->argument); }

/// Called when the first foreign thread is inside. From then on it matters to which thread a
/// proclet is made ready, and which helpers wait in the queue. The scheduler's side is still in
/// g_hot, where its thread has left it.
void share_queue() {
  g_queue_is_shared = true;
  g_threads.queued_helpers = 0;
  for (Proclet* p = g_hot.head; p; p = p->next)
    g_threads.queued_helpers += p->kind == ProcletKind::kHelper;
  for (Proclet* p : g_scheduler.shuffled)
    g_threads.queued_helpers += p->kind == ProcletKind::kHelper;
  g_hot.fifo = false;
  g_hot.extras = true;
}

/// Called after the lock has been taken: puts the caller's side into g_hot, unless no other
/// thread's has been there since.
void install() {
  if (t_scheduler) {
    if (!g_threads.scheduler_is_aside) return;
    g_threads.scheduler_is_aside = false;
    g_threads.scheduler.put();
    return;
  }
  if (__builtin_expect(!g_queue_is_shared, 0)) share_queue();
  if (!g_threads.scheduler_is_aside) g_threads.scheduler.take();
  g_threads.scheduler_is_aside = true;
  t_thread->side.put();
}

/// True when `p` is in a call made by a callback of a call that began before threads were enabled.
bool is_suspended(const Proclet* p) {
  return std::find(g_threads.suspended.begin(), g_threads.suspended.end(), p) !=
         g_threads.suspended.end();
}

/// The state of the calling thread, which has the lock: never kInsideByLoan where the end of the
/// call does not release the lock.
detail::Inside inside_here() {
  if (__builtin_expect(!g_threads.suspended.empty() && t_scheduler && is_suspended(g_hot.current),
                       0))
    return detail::kInside;
  return t_user->inside.load(std::memory_order_relaxed) ? detail::kInsideByLoan : detail::kInside;
}

}  // namespace

void lock_here() {
  g_engine_lock.lock(t_user);
  install();
  t_inside = inside_here();
}

void unlock_here() {
  WaitingThread* woken = std::exchange(g_turns.woken, nullptr);
  detail::g_leaving_has_work = g_threads.queued_helpers > 0;
  t_inside = detail::kOutside;
  if (t_scheduler) {
    t_user->outside_as = g_hot.current;
  } else {
    t_thread->side.take();
    FGMPI_ASSERT(!t_thread->side.head);  // foreign threads have no run queue of their own
  }
  g_engine_lock.unlock(t_user);
  wake_after_unlock(woken);
}

namespace {

/// REQUIRES: on the scheduler's thread.
void set_began_before(Proclet* p, bool before) {
  if (p->began_before_threads == before) return;
  p->began_before_threads = before;
  before ? ++g_threads.began_before : --g_threads.began_before;
  update_extras();
}

bool is_helper_of(const Proclet* p, const ThreadOfRank* t) {
  return p->kind == ProcletKind::kHelper && p->rank_state == t->rank->rank_state;
}

/// A helper of a rank has become ready: wakes a waiting thread of the rank, which may run it.
void wake_for_helper(const Proclet* helper) {
  for (WaitingThread* w : g_turns.waiting) {
    if (w == &g_threads.scheduler_waiter) return wake(w);
    if (is_helper_of(helper, static_cast<ThreadOfRank*>(w))) return wake(w);
  }
}

/// Called when the scheduler's thread begins to compute: waiting threads run the helpers of their
/// ranks that it leaves in its queue.
void wake_for_queued_helpers() {
  for (Proclet* p = g_hot.head; p; p = p->next)
    if (p->kind == ProcletKind::kHelper) wake_for_helper(p);
  for (Proclet* p : g_scheduler.shuffled)
    if (p->kind == ProcletKind::kHelper) wake_for_helper(p);
}

/// Removes a ready helper of this rank from the queue of the scheduler's thread; nullptr where
/// there is none.
Proclet* pop_helper(const ThreadOfRank* t) {
  if (g_threads.queued_helpers == 0) return nullptr;
  Proclet* before = nullptr;
  for (Proclet* p = g_threads.scheduler.head; p; before = p, p = p->next) {
    if (!is_helper_of(p, t)) continue;
    (before ? before->next : g_threads.scheduler.head) = p->next;
    if (g_threads.scheduler.tail == p) g_threads.scheduler.tail = before;
    --g_threads.queued_helpers;
    return p;
  }
  for (Proclet*& p : g_scheduler.shuffled) {
    if (!is_helper_of(p, t)) continue;
    Proclet* found = p;
    p = g_scheduler.shuffled.back();
    g_scheduler.shuffled.pop_back();
    --g_threads.queued_helpers;
    return found;
  }
  return nullptr;
}

/// Called inside, where only one thread adds at a time: a plain addition is enough.
void record_activity() {
  g_threads.activity.store(g_threads.activity.load(std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
}

/// Polls for a short while, for an answer that another process gives at once. True: the thread's
/// proclet is ready.
bool spin_until_ready(ThreadOfRank* t) {
  if (!g_scheduler.hooks.sleep || g_turns.sleeper.load(std::memory_order_relaxed) ||
      (crowded() && g_turns.turn && g_turns.turn != t))
    return false;
  for (int i = 0; i < kShortSpin && t->proclet.state != ProcletState::kReady; ++i) {
    if (g_engine_lock.contended(t_user)) break;
    if (!make_progress()) relax_cpu();
  }
  count_poll();
  return t->proclet.state == ProcletState::kReady;
}

/// Waits until a foreign thread's proclet is ready, and makes progress meanwhile. Replaces the jump
/// to another stack.
void wait_until_ready(ThreadOfRank* t) {
  Proclet* self = &t->proclet;
  save_runtime(self);
  detail::set_current(nullptr);  // as on the host stack
  ++g_threads.entries;
  if (spin_until_ready(t)) {
    record_patience();
    detail::set_current(self);
    self->state = ProcletState::kRunning;
    return load_runtime(self);
  }
  begin_waiting(t);
  record_activity();
  int64_t since = 0, spin_until = 0;
  for (int round = 1;; ++round) {
    while (Proclet* helper = pop_helper(t)) run_from_host(helper);
    if (self->state == ProcletState::kReady) break;
    count_poll();
    const bool moved = make_progress();
    if (self->state == ProcletState::kReady) break;
    if (moved) record_activity();
    breathe_here();
    if (!g_turns.pending.empty() || (g_turns.turn && g_turns.turn != t && crowded())) {
      if (since == 0) since = now_ns();
      if (hands_over(t, since)) {
        sleep_here(t, -1);
        since = spin_until = 0;
        continue;
      }
    }
    if (moved) {
      spin_until = 0;
    } else if (!polls_for_all(t)) {
      sleep_here(t, -1);
      since = spin_until = 0;
    } else if (round % kPollsPerClock == 0) {
      const int64_t now = now_ns();
      if (since == 0) since = now;
      if (spin_until == 0) spin_until = now + g_scheduler.hooks.spin_ns;
      if (now < spin_until || !g_turns.pending.empty()) continue;
      sleep_here(t, -1);
      spin_until = 0;
    } else {
      relax_cpu();
    }
  }
  record_patience();
  end_waiting(t);
  detail::set_current(self);
  self->state = ProcletState::kRunning;
  load_runtime(self);
}

/// Replaces the jump for a yield: runs a helper of the rank and lets threads that wait for the
/// lock have it.
void yield_here(ThreadOfRank* t) {
  Proclet* self = &t->proclet;
  save_runtime(self);
  detail::set_current(nullptr);
  if (Proclet* helper = pop_helper(t)) run_from_host(helper);
  count_poll();
  make_progress();
  breathe_here();
  detail::set_current(self);
  load_runtime(self);
}

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

}  // namespace

// ---- Called by the other files of the scheduler -------------------------------------------------

void park_thread(Proclet* self) { wait_until_ready(thread_of(self)); }
void yield_thread(Proclet* self) { yield_here(thread_of(self)); }

void sleep_thread(int64_t ns) {
  const timespec t = to_timespec(ns);
  unlock_here();
  nanosleep(&t, nullptr);
  lock_here();
}

void enqueue_with_threads(Proclet* p, bool in_front) {
  FGMPI_ASSERT(may_use_engine());
  p->state = ProcletState::kReady;
  if (p->kind == ProcletKind::kForeign) return wake(thread_of(p));
  if (p->kind == ProcletKind::kHelper) {
    ++g_threads.queued_helpers;
    detail::g_leaving_has_work = true;
  }
  Proclet*& head = t_scheduler ? g_hot.head : g_threads.scheduler.head;
  Proclet*& tail = t_scheduler ? g_hot.tail : g_threads.scheduler.tail;
  if (g_scheduler.options.policy == Options::kRandom) {
    g_scheduler.shuffled.push_back(p);
  } else if (in_front || !head) {
    p->next = head;
    if (!head) tail = p;
    head = p;
  } else {
    p->next = nullptr;
    tail->next = p;
    tail = p;
  }
  if (t_scheduler) return;
  if (g_threads.scheduler_waiter.waiting)
    wake(&g_threads.scheduler_waiter);
  else if (p->kind == ProcletKind::kHelper)
    wake_for_helper(p);
}

bool switches_are_recorded() { return g_queue_is_shared || g_threads.began_before > 0; }

void record_switch(Proclet* to) {
  if (!to) return;
  if (to->kind == ProcletKind::kHelper && g_queue_is_shared) --g_threads.queued_helpers;
  if (to->began_before_threads)
    t_inside = detail::kBefore;
  else
    t_inside = is_suspended(to) ? detail::kInside : inside_here();
}

bool turn_is_elsewhere(int64_t idle_since) {
  if (!queue_is_shared()) return false;
  count_poll();
  return hands_over(&g_threads.scheduler_waiter, idle_since < 0 ? INT64_MAX : idle_since);
}

bool threads_have_moved() {
  if (!threads_enabled()) return false;
  const uint64_t now = g_threads.activity;
  return now != std::exchange(g_threads.judged_activity, now);
}

void sleep_on_scheduler_thread(int64_t timeout_ns) {
  const int64_t most = g_scheduler.hooks.check_threads_ns;
  timeout_ns = timeout_ns < 0 ? most : std::min(timeout_ns, most);
  begin_waiting(&g_threads.scheduler_waiter);
  // The thread may sleep for long, where the ranks do nothing but join their threads: these may use
  // its processor.
  --g_turns.users;
  if (!anything_ready()) sleep_here(&g_threads.scheduler_waiter, timeout_ns);
  ++g_turns.users;
  end_waiting(&g_threads.scheduler_waiter);
}

namespace {
/// Ends the membership of a thread that started without make_thread(), when the thread ends.
struct EndOfAdopted {
  ThreadOfRank* thread = nullptr;
  ~EndOfAdopted() {
    if (thread && thread == t_thread) end_thread(thread);
  }
};
thread_local EndOfAdopted t_end_of_adopted;
}  // namespace

// ---- Interface ----------------------------------------------------------------------------------

bool EngineEntry::enter(ThreadLife life) {
  if (t_scheduler) {
    if (t_inside == detail::kBefore) {
      Proclet* p = g_hot.current;
      if (p->callbacks > 0) {
        g_threads.suspended.push_back(p);
        p->began_before_threads = false;
      } else {
        set_began_before(p, false);
      }
      t_inside = inside_here();
      return true;
    }
    lock_here();
    return true;
  }
  if (__builtin_expect(!t_thread, 0)) {
    if (!g_threads.any_thread) return false;
    adopt_thread(make_thread(rank_proclet(0)));
    t_end_of_adopted.thread = t_thread;
  }
  ThreadOfRank* t = t_thread;
  Proclet& p = t->proclet;
  // The side may have been saved last while the thread waited: leaving by a loan does not save it.
  t->side.current = &p;
  lock_here();
  if (!t->counted) ++g_turns.users;
  t->counted = true;
  if (t->rank->state == ProcletState::kFinished && life == ThreadLife::kOfRank) {
    unlock_here();
    wait_for_the_end();
  }
  // The rank may have initialised or finalised MPI since the last call.
  detail::g_running_state = p.rank_state = t->rank->rank_state;
  p.image = t->rank->image;
  p.tool = t->rank->tool;
  p.mpi_phase = t->rank->mpi_phase;
  ++g_threads.entries;
  return true;
}

void EngineEntry::leave() {
  if (t_scheduler) {
    if (g_hot.current) {
      if (__builtin_expect(!g_threads.suspended.empty(), 0) &&
          std::erase(g_threads.suspended, g_hot.current)) {
        g_hot.current->began_before_threads = true;
        t_inside = detail::kBefore;
        return;
      }
      set_began_before(g_hot.current, false);
    }
    if (__builtin_expect(g_threads.queued_helpers > 0 && !g_turns.waiting.empty(), 0))
      wake_for_queued_helpers();
  }
  unlock_here();
}

void enable_threads(bool any_thread) {
  g_threads.any_thread = any_thread;
  if (detail::g_threads_enabled) return;
  FGMPI_CHECK(t_scheduler);
  g_engine_lock.prepare(t_user);
  unpack_all();
  for (uint32_t i = 0; i < g_scheduler.count; ++i) {
    Proclet* p = rank_proclet(i);
    set_began_before(p, p != g_hot.current && has_begun(p));
  }
  detail::g_threads_enabled = true;  // pairs with the fence of prepare()
  const bool in_callback = g_hot.current && g_hot.current->callbacks > 0;
  if (in_callback) {
    g_engine_lock.lock(t_user);
    set_began_before(g_hot.current, true);
  }
  t_inside = in_callback ? detail::kBefore : detail::kOutside;
  t_user->outside_as = g_hot.current;
  update_extras();
}

void set_processors(uint32_t processors) {
  g_turns.processors = processors;
  g_turns.drawn = static_cast<uint32_t>(getpid());
}

void become_scheduler_thread(bool adopted) {
  t_scheduler = true;
  g_threads.scheduler_id = static_cast<int>(raw_call(SYS_gettid));
  g_threads.adopted = adopted;
  t_user = &g_threads.scheduler_user;
}

Proclet* running() {
  if (!t_scheduler) return t_thread ? &t_thread->proclet : nullptr;
  return threads_enabled() && t_inside == detail::kOutside ? t_user->outside_as : g_hot.current;
}

RunningCells running_cells() {
  static_assert(detail::kOutside == 0 && sizeof t_inside == 1);
  return {&detail::g_threads_enabled, reinterpret_cast<const uint8_t*>(&t_inside),
          reinterpret_cast<const void* const*>(&t_user), offsetof(LockUser, outside_as)};
}

Proclet* rank_of_thread() {
  if (t_scheduler) return running();
  if (t_thread) return t_thread->rank;
  return g_threads.adopted ? rank_proclet(0) : nullptr;
}

bool is_unattached_thread() { return !t_scheduler && t_inside < detail::kBefore; }

bool thread_on_host_stack() {
  if (threads_enabled() && t_inside == detail::kOutside) return !t_user->outside_as;
  return on_host_stack();
}

ThreadOfRank* make_thread(Proclet* rank) {
  auto* t = new (std::nothrow) ThreadOfRank;
  if (!t) return nullptr;
  t->rank = rank;
  t->proclet.kind = ProcletKind::kForeign;
  t->proclet.state = ProcletState::kRunning;
  t->proclet.index = rank->index;
  t->proclet.argument = t;
  t->side.current = &t->proclet;
  std::lock_guard<PlainMutex> guard(g_threads.list_mutex);
  try {
    g_threads.list.push_back(t);
  } catch (const std::bad_alloc&) {
    delete t;
    return nullptr;
  }
  t->number = ++g_threads.made;
  return t;
}

void drop_thread(ThreadOfRank* t) {
  {
    std::lock_guard<PlainMutex> guard(g_threads.list_mutex);
    g_threads.list.erase(std::find(g_threads.list.begin(), g_threads.list.end(), t));
  }
  delete t;
}

void adopt_thread(ThreadOfRank* t) {
  t->side.cells.errno_cell = &errno;
  t->side.cells.exceptions = reinterpret_cast<void**>(abi::__cxa_get_globals());
  t->id = static_cast<int>(raw_call(SYS_gettid));
  t_thread = t;
  t_user = &t->user;
  name_thread(t->number, pthread_self());
}

void end_thread(ThreadOfRank* t) {
  t_thread = nullptr;
  auto unlist = [t] {
    g_threads.list.erase(std::find(g_threads.list.begin(), g_threads.list.end(), t));
  };
  Proclet* joiner;
  {
    std::lock_guard<PlainMutex> guard(g_threads.list_mutex);
    joiner = t->joiner;
    // Until this thread has woken its joiner it counts as a thread that does not wait. Otherwise
    // all threads would seem to wait for ever.
    if (!joiner) unlist();
  }
  ++g_threads.activity;
  // A thread that waits for this one without being a joiner here may do so inside the library, in a
  // callback of an MPI call. Then the engine lock cannot be had before this thread has ended.
  if (joiner) {
    t_thread = t;
    lock_here();
    ready(joiner);
    {
      std::lock_guard<PlainMutex> guard(g_threads.list_mutex);
      unlist();
    }
    ++g_threads.activity;
    unlock_here();
    t_thread = nullptr;
  }
  t_user = nullptr;
  if (t->counted) --g_turns.users;
  g_engine_lock.forget(&t->user);
  delete t;
}

uint64_t number_of(const ThreadOfRank* t) { return t->number; }

void name_thread(uint64_t number, pthread_t handle) {
  std::lock_guard<PlainMutex> guard(g_threads.list_mutex);
  for (ThreadOfRank* t : g_threads.list)
    if (t->number == number) t->handle = handle, t->named = true;
}

namespace {
enum class Join { kEnded, kWoken, kLook };
/// kWoken: the thread will wake `joiner`, which has to park. kLook: it cannot; check again later.
Join join_thread(pthread_t handle, Proclet* joiner) {
  std::lock_guard<PlainMutex> guard(g_threads.list_mutex);
  for (ThreadOfRank* t : g_threads.list) {
    if (!t->named || !pthread_equal(t->handle, handle)) continue;
    // A thread that ends cannot wake a proclet before threads are enabled.
    if (!threads_enabled() || t->joiner) return Join::kLook;
    t->joiner = joiner;
    return Join::kWoken;
  }
  return Join::kEnded;
}
}  // namespace

void wait_for_end_of(pthread_t handle) {
  constexpr int64_t kFirstCheck = 20'000, kLongestCheck = 1'000'000;
  for (int64_t wait = kFirstCheck;; wait = std::min(2 * wait, kLongestCheck)) {
    switch (join_thread(handle, current())) {
      case Join::kEnded:
        return;
      case Join::kWoken: {
        // The thread needs the engine lock to wake this proclet, and gets it when this
        // proclet is parked.
        const WaitSite site{"pthread_join", nullptr, true};
        return park(&site);
      }
      case Join::kLook:
        sleep_for(wait);
    }
  }
}

bool has_threads(const Proclet* rank) {
  std::lock_guard<PlainMutex> guard(g_threads.list_mutex);
  return std::any_of(g_threads.list.begin(), g_threads.list.end(),
                     [rank](const ThreadOfRank* t) { return t->rank == rank; });
}

namespace {

/// True when the thread does nothing that could end a wait in MPI before another event does.
bool waits_for_mpi(const ThreadOfRank* t) {
  const Proclet& p = t->proclet;
  return t->rank->state == ProcletState::kFinished ||
         (t->waiting && p.state == ProcletState::kParked && p.wait && p.wait->deadlocks);
}

/// True when, by the kernel's list of threads, every thread that does not wait in MPI waits for
/// another thread, for ever. The kernel is asked when nothing has moved since the last question,
/// which is after check_threads_ns: most idle times are shorter. Under list_mutex.
bool others_wait_for_each_other() {
  uint64_t turns = 0;
  const uint64_t moves = switch_count() + g_threads.entries;
  const bool at_rest = moves == std::exchange(g_threads.judged_moves, moves);
  const bool wait =
      at_rest && others_wait_for_threads(
                     [](int id, void*) {
                       return id == g_threads.scheduler_id ||
                              std::any_of(g_threads.list.begin(), g_threads.list.end(),
                                          [id](const ThreadOfRank* t) {
                                            return t->id == id && waits_for_mpi(t);
                                          });
                     },
                     nullptr, &turns);
  // Two checks with the same result had all threads asleep at the same time: none can have woken
  // another in between.
  if (wait && turns == std::exchange(g_threads.judged_turns, turns)) return true;
  record_activity();  // makes the scheduler's thread check again
  return false;
}

}  // namespace

bool threads_wait_for_mpi() {
  std::lock_guard<PlainMutex> guard(g_threads.list_mutex);
  if (!g_threads.any_thread &&
      std::all_of(g_threads.list.begin(), g_threads.list.end(), waits_for_mpi))
    return true;
  return others_wait_for_each_other();
}

void for_each_waiting_thread(void (*visit)(Proclet*, Proclet*, void*), void* argument) {
  for (WaitingThread* w : g_turns.waiting) {
    if (w == &g_threads.scheduler_waiter) continue;
    auto* t = static_cast<ThreadOfRank*>(w);
    if (t->proclet.state == ProcletState::kParked && t->proclet.wait)
      visit(&t->proclet, t->rank, argument);
  }
}

uint64_t thread_entries() { return g_threads.entries; }

namespace {
WaitingThread* waiter_here() { return t_scheduler ? &g_threads.scheduler_waiter : t_thread; }
}  // namespace

void release_engine() {
  if (!threads_enabled()) return;
  waiter_here()->has_let_go = true;
  unlock_here();
}
void reacquire_engine() {
  if (!threads_enabled()) return;
  lock_here();
  waiter_here()->has_let_go = false;
}
void breathe() {
  if (threads_enabled()) breathe_here();
}

}  // namespace fgmpi::sched
