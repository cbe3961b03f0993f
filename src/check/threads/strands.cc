// Strands, their clocks, and what the program's synchronisation tells of them.
#include "check/threads/strands.h"

#include <algorithm>
#include <mutex>

#include "check/extensions.h"
#include "check/threads/thread_calls.h"

namespace fgmpi::check {

using access::Sync;

void StrandClock::raise(uint32_t strand, uint32_t count) {
  if (counts_.size() <= strand) counts_.resize(strand + 1);
  counts_[strand] = std::max(counts_[strand], count);
}

void StrandClock::learn(const StrandClock& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i)
    counts_[i] = std::max(counts_[i], other.counts_[i]);
}

ThreadOrder::ThreadOrder(Rank* rank) : calls_(new ThreadCalls(this)), rank_(rank) {}

// ---- The strand of a thread ---------------------------------------------------------------------
namespace {

/// The strand of a thread that is not its rank's first, and the order that it belongs to.
thread_local Strand* t_strand = nullptr;
thread_local const ThreadOrder* t_order = nullptr;

}  // namespace

Strand* ThreadOrder::running() const {
  if (pthread_equal(pthread_self(), rank_->thread)) return main_;
  return t_order == this ? t_strand : nullptr;
}

Strand* ThreadOrder::here() {
  if (pthread_equal(pthread_self(), rank_->thread)) {
    if (!main_) main_ = make_strand();
    return main_;
  }
  if (t_order == this && t_strand) return t_strand;
  // A thread that begins in a function of a library: its start is that of any thread made so far.
  if (!any_created_) return nullptr;
  Strand* made = make_strand();
  if (!made) return nullptr;
  made->knows.learn(created_);
  forget_stack();
  by_handle_[static_cast<uint64_t>(pthread_self())] = made;
  set_here(made);
  return made;
}

void ThreadOrder::set_here(Strand* strand) {
  if (pthread_equal(pthread_self(), rank_->thread)) {
    main_ = strand;
    return;
  }
  t_strand = strand;
  t_order = this;
}

Strand* ThreadOrder::make_strand() {
  uint8_t number = numbers_;
  if (numbers_ < kMostStrands) {
    ++numbers_;
  } else {
    if (free_numbers_.empty()) return nullptr;
    number = free_numbers_.front();
    free_numbers_.pop_front();
  }
  auto* made = new Strand;
  made->number = number;
  made->first = made->now = std::min(last_count_[number] + 1, kMostCount);
  live_[number] = made;
  time_outs_.erase(number);
  return made;
}

void ThreadOrder::forget_stack() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes)) return;
  if (!pthread_attr_getstack(&attributes, &low, &bytes) && bytes > 0)
    forget_locked(reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + bytes);
  pthread_attr_destroy(&attributes);
}

void ThreadOrder::end_strand(Strand* strand) {
  last_count_[strand->number] = strand->now;
  free_numbers_.push_back(strand->number);
  live_[strand->number] = nullptr;
  delete strand;
}

bool ThreadOrder::knows(const Strand& me, const StrandClock& clock, uint32_t strand,
                        uint32_t count) const {
  if (strand == me.number && count >= me.first) return true;
  return count <= clock.of(strand);
}

bool ThreadOrder::is_unordered(const Strand& me, const StrandEvent& event, LockSet locks) const {
  // A strand that has counted to the end is not followed any more.
  if (event.count >= kMostCount || me.now >= kMostCount) return false;
  if (!knows(me, me.knows.all, event.strand, event.count)) return true;
  return !knows(me, me.knows.firm, event.strand, event.count) && !share_a_lock(event.locks, locks);
}

StrandKnowledge ThreadOrder::publish(Strand* me) {
  StrandKnowledge told = me->knows;
  told.all.raise(me->number, me->now);
  told.firm.raise(me->number, me->now);
  if (me->now < kMostCount) ++me->now;
  return told;
}

void ThreadOrder::release(Strand* me, uint64_t key) { objects_[key].learn(publish(me)); }

void ThreadOrder::acquire(Strand* me, uint64_t key) {
  if (const auto found = objects_.find(key); found != objects_.end())
    me->knows.learn(found->second);
}

// ---- Mutexes ------------------------------------------------------------------------------------
LockSet ThreadOrder::set_of(std::vector<const void*> locks) {
  std::sort(locks.begin(), locks.end());
  locks.erase(std::unique(locks.begin(), locks.end()), locks.end());
  const auto found = std::find(lock_sets_.begin(), lock_sets_.end(), locks);
  if (found != lock_sets_.end()) return static_cast<LockSet>(found - lock_sets_.begin());
  if (lock_sets_.size() >= kManyLocks) return kManyLocks;
  lock_sets_.push_back(std::move(locks));
  return static_cast<LockSet>(lock_sets_.size() - 1);
}

bool ThreadOrder::share_a_lock(LockSet a, LockSet b) const {
  if (a == 0 || b == 0) return false;
  if (a == kManyLocks || b == kManyLocks) return true;
  const auto &one = lock_sets_[a], &other = lock_sets_[b];
  return std::any_of(one.begin(), one.end(), [&](const void* lock) {
    return std::binary_search(other.begin(), other.end(), lock);
  });
}

LockSet ThreadOrder::held_since(const Strand& me, const StrandEvent& event) {
  if (event.strand != me.number || event.count < me.first) return 0;
  std::vector<const void*> held;
  for (const Strand::HeldLock& lock : me.locks)
    if (lock.since <= event.count) held.push_back(lock.mutex);
  return set_of(std::move(held));
}

LockSet ThreadOrder::held_since(const StrandEvent& event) {
  std::lock_guard guard(lock_);
  settle();
  const Strand* me = here();
  return me ? held_since(*me, event) : LockSet{0};
}

bool ThreadOrder::is_awaited(const Strand& me, const void* lock) const {
  const auto mutex = mutexes_.find(lock);
  if (mutex != mutexes_.end() && mutex->second.is_held) {
    const auto own = wants_.find(me.number);
    return mutex->second.got.strand != me.number || (own != wants_.end() && own->second.again);
  }
  // A strand that wants it may have got it already, and has not told so yet.
  return std::ranges::any_of(wants_, [&](const auto& want) {
    return want.first != me.number && want.second.mutex == lock;
  });
}

void ThreadOrder::wait_for_mutex(const void* lock, uint64_t value) {
  const void* place = access::place_of(value);
  {
    std::lock_guard guard(lock_);
    const Strand* me = here();
    if (!me) return;
    const auto mutex = mutexes_.find(lock);
    const bool has_it =
        mutex != mutexes_.end() && mutex->second.is_held && mutex->second.got.strand == me->number;
    const bool again = has_it && (value >> access::kPlaceBits & access::kIsOwn);
    Want& want = wants_[me->number] = {lock, place, again, {}};
    if (!is_awaited(*me, lock)) return;
    want.callers = callers_of(place);
  }
  // The rank's first thread waits in MPI: a deadlock is found only while it is there.
  if (!g_process.threads || rank_->calls > 0 || !MPIX_Tool_wait ||
      !pthread_equal(pthread_self(), rank_->thread))
    return;
  std::pair<ThreadOrder*, const void*> wanted(this, lock);
  const auto begins = [](void* waiter, void* of) {
    const Looking looking;
    auto& [order, mutex] = *static_cast<std::pair<ThreadOrder*, const void*>*>(of);
    std::lock_guard guard(order->lock_);
    const Strand* me = order->here();
    if (!me || !order->is_awaited(*me, mutex)) return 0;
    order->mutexes_[mutex].waiters.push_back(waiter);
    return 1;
  };
  const Looking program(false);
  while (MPIX_Tool_wait("a wait for a mutex", begins, &wanted)) {
  }
}

std::vector<ThreadOrder::BlockedThread> ThreadOrder::blocked_threads() {
  std::lock_guard guard(lock_);
  std::vector<BlockedThread> blocked;
  for (const auto& [strand, want] : wants_) {
    const auto mutex = mutexes_.find(want.mutex);
    if (mutex == mutexes_.end() || !mutex->second.is_held || mutex->second.got.strand == strand)
      continue;
    for (const CheckedCall* call : rank_->inside)
      if (pthread_equal(call->thread(), mutex->second.owner))
        blocked.push_back({want.place, call, want.callers});
  }
  return blocked;
}

std::vector<ThreadOrder::BlockedThread> ThreadOrder::wanting_threads() {
  std::lock_guard guard(lock_);
  std::vector<BlockedThread> wanting;
  for (const auto& [strand, want] : wants_) {
    const auto mutex = mutexes_.find(want.mutex);
    if (mutex != mutexes_.end() && mutex->second.is_held &&
        (want.again || mutex->second.got.strand != strand))
      wanting.push_back({want.place, nullptr, want.callers, want.again});
  }
  std::ranges::sort(wanting, {}, &BlockedThread::place);
  return wanting;
}

void ThreadOrder::got_mutex(Strand* me, const void* lock) {
  Mutex& mutex = mutexes_[lock];
  wants_.erase(me->number);
  mutex.is_held = true;
  mutex.owner = pthread_self();
  // The owner before had the mutex, for certain, when this strand asked for it: so what it did
  // until it released the mutex comes first in every run.
  const StrandEvent before = mutex.got;
  if (before.count && knows(*me, me->knows.firm, before.strand, before.count))
    me->knows.firm.learn(mutex.released.firm);
  me->knows.all.learn(mutex.released.all);
  me->offered.learn(mutex.released.firm);
  mutex.got = me->event();
  me->locks.push_back({lock, me->now});
  me->lock_set = held_since(*me, me->event());
  me->clear = {};
}

void ThreadOrder::releases_mutex(Strand* me, const void* lock) {
  Mutex& mutex = mutexes_[lock];
  mutex.released = publish(me);
  const auto others =
      std::count_if(me->locks.begin(), me->locks.end(),
                    [&](const Strand::HeldLock& held) { return held.mutex == lock; });
  mutex.is_held = others > 1;
  if (!mutex.is_held)
    std::ranges::move(std::exchange(mutex.waiters, {}), std::back_inserter(woken_));
  const auto found = std::find_if(me->locks.rbegin(), me->locks.rend(),
                                  [&](const Strand::HeldLock& held) { return held.mutex == lock; });
  if (found != me->locks.rend()) me->locks.erase(std::next(found).base());
  me->lock_set = held_since(*me, me->event());
  me->clear = {};
}

// ---- Threads, barriers, atomic operations -------------------------------------------------------
void ThreadOrder::update_active() {
  const bool active = regions_ > 0 || threads_ > 0;
  if (active == active_) return;
  active_ = active;
  rank_->owned->follow_all(active);
}

uint64_t ThreadOrder::tell_thread(Sync what, Strand* me, uint64_t value) {
  if (what == Sync::kThread) {
    any_created_ = true;
    const StrandKnowledge told = publish(me);
    created_.learn(told);
    starts_[next_thread_] = told;
    ++threads_;
    update_active();
    return next_thread_++;
  }
  if (what == Sync::kThreadBegins) {
    if (const auto found = starts_.find(value); found != starts_.end()) {
      // here() has given it what all threads made so far begin with.
      me->knows = found->second;
      starts_.erase(found);
    }
    return 0;
  }
  --threads_;
  if (const auto found = by_handle_.find(value); found != by_handle_.end()) {
    settle(found->second);
    me->knows.learn(publish(found->second));
    end_strand(found->second);
    by_handle_.erase(found);
  }
  update_active();
  return 0;
}

uint64_t ThreadOrder::tell_barrier(Sync what, Strand* me, uint64_t key, uint64_t value) {
  Barrier& barrier = barriers_[key];
  if (what == Sync::kBarrierMade) {
    barrier = {value, 0};
    objects_.erase(key);
    objects_.erase(key + 1);
    return 0;
  }
  if (what == Sync::kBarrierArrive)
    release(me, key + value % 2);
  else
    acquire(me, key + value % 2);
  return value;
}

void ThreadOrder::tell_atomic(Sync what, Strand* me, uint64_t key, uint64_t order) {
  const bool acquires = order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
  const bool releases = order == __ATOMIC_RELEASE || order >= __ATOMIC_ACQ_REL;
  if (what == Sync::kFence) {
    any_fence_ = true;
    read_before_fence(me);
    me->knows.learn(me->next_fence);
    auto& fences = fences_[me->number];
    const uint32_t count = me->now;
    fences.push_front({count, publish(me)});
    if (fences.size() > kMostFences) fences.pop_back();
    return;
  }
  StrandKnowledge& object = objects_[key];
  if (what == Sync::kAtomicStore || what == Sync::kAtomicChange) {
    // Stores and loads without an order are taken for flags by which a thread waits for another;
    // changes are taken for counters.
    if (releases || what == Sync::kAtomicStore) return object.learn(publish(me));
    counters_[key].learn(publish(me).firm);
    if (const auto& fences = fences_[me->number]; !fences.empty())
      object.learn(fences.front().knew);
    return;
  }
  if (acquires || what == Sync::kAtomicLoad) {
    me->knows.learn(object);
  } else {
    me->next_fence.learn(object);
    me->counted.learn(counters_[key]);
  }
}

uint64_t ThreadOrder::tell(Sync what, const void* object, uint64_t value) {
  if (what == Sync::kWants) return wait_for_mutex(object, value), 0;
  if (what == Sync::kAwait) return wait_for_strands();
  std::vector<void*> waiters;
  uint64_t result = 0;
  {
    std::lock_guard guard(lock_);
    settle();
    result = tell_locked(what, object, value);
    waiters.swap(woken_);
  }
  for (void* waiter : waiters) MPIX_Tool_wake(waiter);
  return result;
}

uint64_t ThreadOrder::tell_locked(Sync what, const void* object, uint64_t value) {
  const auto key = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(object));
  if (what == Sync::kWake) return end_awaits_at(object), 0;
  Strand* before = running();
  if (before && !awaits_.empty()) end_await_of(*before, what);
  if (before && !wants_.empty()) wants_.erase(before->number);
  events_of_others_ += before != main_;
  ++events_;
  if (before) ++before->events;
  if (!awaits_.empty()) end_awaits_with_limit(before);
  if (what == Sync::kTaskBegins) return begin_task(value, key), 0;
  if (what == Sync::kTaskEnds) return end_task(value), 0;
  if (what == Sync::kThreadBegins) {
    Strand* made = make_strand();
    if (!made) return 0;
    forget_stack();
    by_handle_[static_cast<uint64_t>(pthread_self())] = made;
    set_here(made);
  }
  Strand* me = here();
  if (!me && what == Sync::kMember) {
    me = make_strand();
    if (me) me->of_region = true;
    if (!me) teams_[key].unknown = true;
    set_here(me);
  }
  // Those are counted, too, that have no strand.
  if (what == Sync::kBarrierArrive) value = arrive(key);
  if (!me || what == Sync::kBarrierArrive) end_awaits_that_have_come();
  if (!me) return what == Sync::kBarrierArrive ? value : 0;
  if (what <= Sync::kForget) {
    if (what == Sync::kRelease) release(me, key);
    if (what == Sync::kAcquire) acquire(me, key);
    if (what == Sync::kForget) objects_.erase(key);
    return 0;
  }
  if (what == Sync::kLock) return got_mutex(me, object), 0;
  if (what == Sync::kUnlock) return releases_mutex(me, object), 0;
  if (what == Sync::kTimedOut) return record_time_out(*me, reinterpret_cast<const void*>(value)), 0;
  if (what <= Sync::kAwaitsThread) return begin_await(what, me, key, value);
  if (what <= Sync::kTeamAcquire) return tell_region(what, me, key, value);
  if (what <= Sync::kChunksEnd) return tell_chunk(what, me);
  if (what <= Sync::kGroupEnds) return tell_task(what, me, object, value);
  if (what <= Sync::kJoined) return tell_thread(what, me, value);
  if (what <= Sync::kBarrierLeave) return tell_barrier(what, me, key, value);
  tell_atomic(what, me, key, value);
  return 0;
}

// ---- What the checker asks ----------------------------------------------------------------------
StrandEvent ThreadOrder::now() {
  std::lock_guard guard(lock_);
  settle();
  const Strand* me = here();
  return me ? me->event() : StrandEvent();
}

bool ThreadOrder::knows(const StrandEvent& event, bool firm) {
  std::lock_guard guard(lock_);
  const Strand* me = here();
  return !me || !event.count || event.count >= kMostCount ||
         knows(*me, firm ? me->knows.firm : me->knows.all, event.strand, event.count) ||
         knows(*me, me->counted, event.strand, event.count);
}

StrandKnowledge ThreadOrder::known_here() {
  std::lock_guard guard(lock_);
  settle();
  const Strand* me = here();
  return me ? me->knows : StrandKnowledge();
}

void ThreadOrder::begin_communication() {
  std::lock_guard guard(lock_);
  settle();
  if (Strand* me = here()) sent_.learn(publish(me));
}

void ThreadOrder::end_communication() {
  std::lock_guard guard(lock_);
  settle();
  if (Strand* me = here()) me->knows.learn(sent_);
}

}  // namespace fgmpi::check
