// Strands that wait for other strands, at condition variables, semaphores, barriers and the ends of
// parallel regions. A rank's first thread waits in the library, so that a deadlock is found while
// it does, and other ranks of its process run. All others wait in the functions that the program
// calls; their places are known for reports.
//
// A program may also wait in a loop: until a time, again and again, or by trying to lock a mutex. A
// wait in a loop counts as one without a limit when the strand has come back to it often, for
// seconds, and meanwhile no other strand has done anything but wait. Then the strand waits in the
// checker, which lets it look again whenever another strand goes on.
#include <execinfo.h>

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "base/futex.h"
#include "check/extensions.h"
#include "check/threads/strands.h"

namespace fgmpi::check {

using access::Sync;

namespace {

bool is_of_region(Sync what) { return what >= Sync::kAwaitsTeam && what <= Sync::kAwaitsTasks; }

/// A strand waits in the checker after so many waits of a program that end without success.
constexpr uint32_t kFewTimeOuts = 3;
/// A strand is taken to wait for ever after so many, and after so long.
constexpr uint32_t kManyTimeOuts = 10;
constexpr int64_t kLongTimeOuts = 5'000'000'000;
constexpr int kMostFramesOfWait = 24;

const char* words_of_await(Sync what) {
  switch (what) {
    case Sync::kAwaitsCondition:
      return "a condition variable";
    case Sync::kAwaitsSemaphore:
      return "a semaphore";
    case Sync::kAwaitsMutex:
      return "a mutex";
    case Sync::kAwaitsWord:
      return "an atomic variable, latch, barrier or future";
    case Sync::kAwaitsTasks:
      return "the end of tasks";
    case Sync::kAwaitsThread:
      return "the end of a thread";
    case Sync::kAwaitsMembers:
      return "the end of a parallel region";
    default:
      return "a barrier";
  }
}

}  // namespace

bool ThreadOrder::has_come(const Await& await) const {
  if (await.what == Sync::kAwaitsBarrier) {
    const auto barrier = barriers_.find(await.key);
    return barrier == barriers_.end() || barrier->second.arrived >= await.needed;
  }
  if (!is_of_region(await.what)) return false;
  if (await.what == Sync::kAwaitsTasks)
    return std::ranges::none_of(
        tasks_, [&](const auto& task) { return is_awaited_task(task.second, await); });
  const auto team = teams_.find(await.key);
  if (team == teams_.end() || team->second.unknown) return true;
  return (await.what == Sync::kAwaitsTeam ? team->second.arrived : team->second.ended) >=
         await.needed;
}

/// Waits for tasks have the key of what they make or of their group, others that of a region.
bool ThreadOrder::is_awaited_task(const PendingTask& task, const Await& await) const {
  if (await.what != Sync::kAwaitsTasks) return task.team == await.key;
  return task.parent == await.key || std::ranges::find(task.groups, await.key) != task.groups.end();
}

/// A thread that waits for its region or for tasks may have to execute a task meanwhile.
bool ThreadOrder::has_task_to_begin(const Strand& me, const Await& await) const {
  return is_of_region(await.what) && std::ranges::any_of(tasks_, [&](const auto& task) {
           return !task.second.begun && task.second.team == me.team;
         });
}

uint64_t ThreadOrder::happened_beside(const Strand& me) const {
  return events_ - me.events + rank_->communications;
}

void ThreadOrder::record_time_out(const Strand& me, const void* place) {
  TimeOuts& times = time_outs_[me.number];
  const uint64_t happened = happened_beside(me);
  if (times.place != place || times.happened != happened) times = {place, 0, now_ns(), happened};
  ++times.count;
}

/// Does each other strand wait, for another one or in a call of MPI? One that executes a task or
/// chunk waits with it.
bool ThreadOrder::others_wait(const Strand& me) const {
  return std::ranges::all_of(live_, [&](const Strand* other) {
    if (!other || other == &me || other->in_call || wants_.contains(other->number)) return true;
    const auto await = awaits_.find(other->number);
    if (await != awaits_.end() && !await->second.over) return true;
    return std::ranges::any_of(live_,
                               [&](const Strand* inner) { return inner && inner->outer == other; });
  });
}

/// May the strand wait in the checker? The rank's first thread may always; others wait as well
/// outside of it, but where the program would go on after a time.
bool ThreadOrder::may_park(const Strand& me, const Await& await) const {
  const bool is_first = pthread_equal(pthread_self(), rank_->thread);
  if (!g_process.threads || !MPIX_Tool_wait || (is_first && rank_->calls != 0)) return false;
  if (!await.has_limit) return is_first;
  const auto times = time_outs_.find(me.number);
  return times != time_outs_.end() && times->second.place == await.place &&
         times->second.count >= kFewTimeOuts && times->second.happened == happened_beside(me) &&
         others_wait(me);
}

std::vector<void*> ThreadOrder::callers_of(const void* place) {
  void* frames[kMostFramesOfWait];
  auto* end = frames + backtrace(frames, kMostFramesOfWait);
  auto* at = std::find(frames, end, place);
  return at < end ? std::vector<void*>(at + 1, end) : std::vector<void*>();
}

uint64_t ThreadOrder::begin_await(Sync what, Strand* me, uint64_t key, uint64_t value) {
  Await await;
  await.what = what;
  await.key = what == Sync::kAwaitsTeam ? me->team : key;
  await.place = access::place_of(value);
  const uint64_t threads = value >> access::kPlaceBits;
  await.has_limit = threads & access::kHasLimit;
  if (what == Sync::kAwaitsTeam) await.needed = (me->barriers + uint64_t{1}) * threads;
  if (what == Sync::kAwaitsMembers) await.needed = threads;
  if (what == Sync::kAwaitsTasks)
    await.key = key && !me->groups.empty() ? me->groups.back() : me->children;
  if (what == Sync::kAwaitsBarrier) {
    const Barrier& barrier = barriers_[key];
    if (barrier.threads == 0) return 0;
    await.needed = (barrier.arrived + barrier.threads - 1) / barrier.threads * barrier.threads;
  }
  const bool parks = what != Sync::kAwaitsThread && may_park(*me, await);
  await.over = (await.has_limit && !parks) || has_task_to_begin(*me, await) || has_come(await);
  if (!await.over && !is_of_region(what)) await.callers = callers_of(await.place);
  if (!await.over && parks && !pthread_equal(pthread_self(), rank_->thread))
    await.bed = std::make_shared<std::atomic<uint32_t>>(0);
  Await& kept = awaits_[me->number] = std::move(await);
  return !kept.over && parks;
}

uint64_t ThreadOrder::sleep_until_over(Strand* me) {
  std::shared_ptr<std::atomic<uint32_t>> bed;
  {
    std::lock_guard guard(lock_);
    const auto found = awaits_.find(me->number);
    if (found != awaits_.end() && !found->second.over) bed = found->second.bed;
  }
  while (bed && !bed->load()) futex_wait(bed.get(), 0, -1, FutexScope::kProcess);
  std::lock_guard guard(lock_);
  const auto found = awaits_.find(me->number);
  return found != awaits_.end() && found->second.by_wake;
}

uint64_t ThreadOrder::wait_for_strands() {
  if (!pthread_equal(pthread_self(), rank_->thread)) {
    Strand* me = running();
    return me ? sleep_until_over(me) : 0;
  }
  const auto begins = [](void* waiter, void* of) {
    const Looking looking;
    auto* order = static_cast<ThreadOrder*>(of);
    std::lock_guard guard(order->lock_);
    const Strand* me = order->here();
    const auto found = me ? order->awaits_.find(me->number) : order->awaits_.end();
    if (found == order->awaits_.end() || found->second.over) return 0;
    found->second.waiter = waiter;
    return 1;
  };
  {
    const Looking program(false);
    while (MPIX_Tool_wait("a wait for another thread", begins, this)) {
    }
  }
  std::lock_guard guard(lock_);
  const Strand* me = here();
  const auto found = me ? awaits_.find(me->number) : awaits_.end();
  return found != awaits_.end() && found->second.by_wake;
}

template <class F>
void ThreadOrder::end_awaits(F&& f) {
  for (auto& [strand, await] : awaits_) {
    if (await.over || !f(await)) continue;
    await.over = true;
    if (await.waiter) woken_.push_back(std::exchange(await.waiter, nullptr));
    if (!await.bed) continue;
    await.bed->store(1);
    futex_wake(await.bed.get(), FutexScope::kProcess);
  }
}

void ThreadOrder::end_awaits_at(const void* object) {
  end_awaits([key = reinterpret_cast<uintptr_t>(object)](Await& await) {
    if (await.key != key || is_of_region(await.what)) return false;
    await.by_wake = true;
    return true;
  });
}

void ThreadOrder::end_awaits_with_limit(const Strand* by) {
  const auto own = by ? awaits_.find(by->number) : awaits_.end();
  end_awaits([&](const Await& await) {
    return await.has_limit && (own == awaits_.end() || &await != &own->second);
  });
}

void ThreadOrder::end_awaits_of_tasks(uint64_t team) {
  end_awaits([team](const Await& await) {
    return is_of_region(await.what) && (await.key == team || await.what == Sync::kAwaitsTasks);
  });
}

void ThreadOrder::end_awaits_that_have_come() {
  end_awaits([this](const Await& await) { return has_come(await); });
}

void ThreadOrder::end_await_of(const Strand& me, Sync what) {
  const auto found = awaits_.find(me.number);
  if (found == awaits_.end()) return;
  // The thread has got what it awaited: it may look again for the next.
  if (what == Sync::kAcquire && found->second.what == Sync::kAwaitsSemaphore) poked_at_ = nullptr;
  awaits_.erase(found);
}

uint64_t ThreadOrder::arrive(uint64_t key) {
  Barrier& barrier = barriers_[key];
  return barrier.threads ? barrier.arrived++ / barrier.threads : 0;
}

void ThreadOrder::poke() {
  std::vector<void*> waiters;
  {
    std::lock_guard guard(lock_);
    for (auto& [strand, await] : awaits_) {
      if (await.over || await.what == Sync::kAwaitsBarrier || is_of_region(await.what)) continue;
      if (await.has_limit) {
        const TimeOuts& times = time_outs_[strand];
        if (times.count >= kManyTimeOuts && now_ns() - times.since >= kLongTimeOuts) continue;
      } else {
        if (!await.waiter || (poked_at_ == await.place && poked_after_ == happened())) continue;
        poked_at_ = await.place;
        poked_after_ = happened();
      }
      end_awaits([&of = await](const Await& other) { return &of == &other; });
    }
    waiters.swap(woken_);
  }
  for (void* waiter : waiters) MPIX_Tool_wake(waiter);
}

void ThreadOrder::begin_call() {
  std::lock_guard guard(lock_);
  if (Strand* me = here()) me->in_call = true;
}

void ThreadOrder::end_call() {
  std::vector<void*> waiters;
  {
    std::lock_guard guard(lock_);
    Strand* me = here();
    if (me) me->in_call = false;
    end_awaits_with_limit(me);
    waiters.swap(woken_);
  }
  for (void* waiter : waiters) MPIX_Tool_wake(waiter);
}

std::vector<ThreadOrder::AwaitingStrand> ThreadOrder::awaiting() {
  std::lock_guard guard(lock_);
  std::vector<AwaitingStrand> found;
  for (const auto& [strand, await] : awaits_)
    if (!await.over)
      found.push_back(
          {words_of_await(await.what), await.place, await.waiter != nullptr, await.callers});
  // The rank's first thread first; then in an order that does not depend on the run.
  std::ranges::sort(found, [](const AwaitingStrand& a, const AwaitingStrand& b) {
    return std::pair(!a.parked, a.place) < std::pair(!b.parked, b.place);
  });
  return found;
}

}  // namespace fgmpi::check
