// Strands that wait for other strands, at condition variables, semaphores, barriers and the ends of
// parallel regions. A rank's first thread waits in the library, so that a deadlock is found while
// it does, and other ranks of its process run. All others wait in the functions that the program
// calls; their places are known for reports.
#include <algorithm>
#include <mutex>

#include "check/extensions.h"
#include "check/threads/strands.h"

namespace fgmpi::check {

using access::Sync;

namespace {

bool is_of_region(Sync what) { return what == Sync::kAwaitsTeam || what == Sync::kAwaitsMembers; }

const char* words_of_await(Sync what) {
  switch (what) {
    case Sync::kAwaitsCondition:
      return "a condition variable";
    case Sync::kAwaitsSemaphore:
      return "a semaphore";
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
  const auto team = teams_.find(await.key);
  if (team == teams_.end() || team->second.unknown) return true;
  return (await.what == Sync::kAwaitsTeam ? team->second.arrived : team->second.ended) >=
         await.needed;
}

uint64_t ThreadOrder::begin_await(Sync what, Strand* me, uint64_t key, uint64_t value) {
  Await await;
  await.what = what;
  await.key = what == Sync::kAwaitsTeam ? me->team : key;
  await.place = reinterpret_cast<const void*>(value & ((uint64_t{1} << access::kPlaceBits) - 1));
  const uint64_t threads = value >> access::kPlaceBits;
  if (what == Sync::kAwaitsTeam) await.needed = (me->barriers + uint64_t{1}) * threads;
  if (what == Sync::kAwaitsMembers) await.needed = threads;
  if (what == Sync::kAwaitsBarrier) {
    const Barrier& barrier = barriers_[key];
    if (barrier.threads == 0) return 0;
    await.needed = (barrier.arrived + barrier.threads - 1) / barrier.threads * barrier.threads;
  }
  // A thread that waits for its region may have to execute tasks meanwhile.
  const bool has_tasks = is_of_region(what) && std::ranges::any_of(tasks_, [&](const auto& task) {
                           return task.second.team == await.key;
                         });
  await.over = has_tasks || has_come(await);
  awaits_[me->number] = await;
  return !await.over && g_process.threads && rank_->calls == 0 && MPIX_Tool_wait &&
         pthread_equal(pthread_self(), rank_->thread);
}

void ThreadOrder::wait_for_strands() {
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
  const Looking program(false);
  while (MPIX_Tool_wait("a wait for another thread", begins, this)) {
  }
}

template <class F>
void ThreadOrder::end_awaits(F&& f) {
  for (auto& [strand, await] : awaits_) {
    if (await.over || !f(await)) continue;
    await.over = true;
    if (await.waiter) woken_.push_back(std::exchange(await.waiter, nullptr));
  }
}

void ThreadOrder::end_awaits_at(const void* object) {
  end_awaits([key = reinterpret_cast<uintptr_t>(object)](const Await& await) {
    return await.key == key && !is_of_region(await.what);
  });
}

void ThreadOrder::end_awaits_of_tasks(uint64_t team) {
  end_awaits([team](const Await& await) { return await.key == team && is_of_region(await.what); });
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
    end_awaits([&](const Await& await) {
      if (!await.waiter || await.what == Sync::kAwaitsBarrier || is_of_region(await.what))
        return false;
      if (poked_at_ == await.place && poked_after_ == happened()) return false;
      poked_at_ = await.place;
      poked_after_ = happened();
      return true;
    });
    waiters.swap(woken_);
  }
  for (void* waiter : waiters) MPIX_Tool_wake(waiter);
}

std::vector<ThreadOrder::AwaitingStrand> ThreadOrder::awaiting() {
  std::lock_guard guard(lock_);
  std::vector<AwaitingStrand> found;
  for (const auto& [strand, await] : awaits_)
    if (!await.over)
      found.push_back({words_of_await(await.what), await.place, await.waiter != nullptr});
  // The rank's first thread first; then in an order that does not depend on the run.
  std::ranges::sort(found, [](const AwaitingStrand& a, const AwaitingStrand& b) {
    return std::pair(!a.parked, a.place) < std::pair(!b.parked, b.place);
  });
  return found;
}

}  // namespace fgmpi::check
