// State that each rank of a process has for itself, although the library's tables are the
// process's: an OfRank<T> holds one T a rank, made when the rank first asks for it and dropped when
// the rank ends. What a program registers (names, functions, numbers) belongs to the rank that
// registered it, as it would in a process of its own.
//
// Thread rule: one thread. Where any thread may call, the constructor gets a mutex, and every
// caller holds it. Nothing here switches. Invariant: a T has a fixed address until its rank ends or
// drops it.
#pragma once

#include <mutex>
#include <unordered_map>

#include "base/plain_mutex.h"
#include "proclet-sched/sched.h"

namespace fgmpi::comm {

/// The rank that the caller acts for, also on a helper coroutine and in a thread that the rank
/// started; nullptr where there is none (fgmpi-info). Any thread.
const sched::Proclet* rank_here();

/// Drops what all tables hold for a rank that has ended.
void forget_rank(const sched::Proclet* rank);

namespace detail {
/// A table in the list of all tables. Tables live until the process ends.
class TableOfRanks {
 public:
  TableOfRanks();
  TableOfRanks(const TableOfRanks&) = delete;
  virtual void forget(const sched::Proclet* rank) = 0;
  TableOfRanks* next;

 protected:
  ~TableOfRanks() = default;
};
}  // namespace detail

/// An OfRank is made with `new` and never deleted: threads of a program may call while the
/// process ends.
template <class T>
class OfRank final : detail::TableOfRanks {
 public:
  explicit OfRank(PlainMutex* mutex = nullptr) : mutex_(mutex) {}
  T& mine() { return all_[rank_here()]; }
  /// The calling rank's T, or nullptr where the rank has never asked for it.
  T* find_mine() {
    auto found = all_.find(rank_here());
    return found == all_.end() ? nullptr : &found->second;
  }
  void drop_mine() { all_.extract(rank_here()); }
  /// Calls f(T) for each rank that has one.
  template <class F>
  void for_each(F&& f) {
    for (auto& [rank, own] : all_) f(own);
  }

 private:
  void forget(const sched::Proclet* rank) override {
    // The extracted T is destroyed after the mutex is unlocked.
    decltype(all_.extract(rank)) gone;
    if (mutex_) mutex_->lock();
    gone = all_.extract(rank);
    if (mutex_) mutex_->unlock();
  }

  PlainMutex* mutex_;
  std::unordered_map<const sched::Proclet*, T> all_;
};

}  // namespace fgmpi::comm
