// The table of the accesses to a process's members that no synchronisation has ended yet. The table
// lies behind the process's control area (check.h).
//
// Thread rule: every function locks the table; the processes of a host use one table at once.
// Nothing here switches.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "rma/check.h"
#include "rma/control.h"

namespace fgmpi::rma {

/// Which epochs of the target's memory an access belongs to. kProgram: a load or store of the
/// target's program, reported at the target's next call. Such an access is compared with accesses
/// of the target's fence epoch and, where its `exposed` is set, of its exposure epoch. kAtOnce: a
/// load or store that is reported while it is made. Such an access is compared with operations
/// under way in epochs of locks. kLocal: a call of MPI by the owner on its own memory.
enum class EpochKind : uint8_t { kFence, kStart, kPassive, kProgram, kAtOnce, kLocal };

/// One run of bytes of one access, or of several accesses that are alike and touch.
struct AccessRecord {
  uint64_t low, high;  ///< addresses, as the owner numbers them
  uint32_t phase;      ///< number of fences of the window before the access
  int32_t origin;      ///< rank in the window
  uint32_t member;     ///< index of the target in its process
  MemoryUse use;
  EpochKind kind;
  bool exposed;  ///< kProgram: between MPI_Win_post and MPI_Win_wait
  /// kPassive: a later access may have read what this one has changed. kLocal: the bytes are
  /// written later, when the call may know of more operations in epochs of locks.
  bool seen;
  int32_t op;            ///< kAccumulate
  MPI_Datatype element;  ///< kAccumulate: the predefined type
  char call[24];
  uint64_t place;  ///< ConflictObserver::place() of the call
  /// When the access was complete (stamp_ns()), if a tool may know later that it is ordered before
  /// another; else 0. kPassive, kLocal.
  int64_t done;
  OrderStamp stamp;  ///< of that time
  /// Memory of the caller itself, which an operation uses as its origin: the operation's target
  /// plus 1; else 0.
  int32_t origin_of;
  int32_t pad;
};
static_assert(sizeof(AccessRecord) == 168);

/// Bytes from `low` up to `high`, as in an AccessRecord.
struct AddressRun {
  uint64_t low, high;
};
static_assert(sizeof(AddressRun) == 16);
using AddressRuns = std::vector<AddressRun>;
/// True where the runs have bytes in common, or one begins where the other ends.
inline bool touch(const AddressRun& a, const AddressRun& b) {
  return a.low <= b.high && b.low <= a.high;
}

/// Widens the last entry from `first` to `end` that touches `run` and is `alike`, so that it covers
/// `run` too. So a loop that accesses the same bytes again and again, or one element after the
/// other, needs one entry. Returns false where there is no such entry.
template <class Entry, class Alike>
bool widen(Entry* first, Entry* end, const AddressRun& run, Alike&& alike) {
  for (Entry* old = end; old != first;) {
    --old;
    if (!touch({old->low, old->high}, run) || !alike(*old)) continue;
    old->low = std::min(old->low, run.low);
    old->high = std::max(old->high, run.high);
    return true;
  }
  return false;
}

/// An access that is in the table, and the one that conflicts with it.
struct Conflict {
  AccessRecord first, second;
};
static_assert(sizeof(Conflict) == 336);

/// The assertions of a fence that all members of a window give, or none.
inline constexpr int kAgreedAssertions[] = {MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED};

/// What members of a process have given to the fence `number` - 1: for each of kAgreedAssertions a
/// member that has not given it, and one that has.
struct FenceAssertions {
  struct GivenBy {
    bool known;
    int32_t origin;  ///< rank in the window
    uint64_t place;
  };
  uint32_t number;
  GivenBy by[std::size(kAgreedAssertions)][2];
};

/// Answers whether the running rank knows that a complete access comes before its own.
struct OrderQuestion {
  bool (*ordered)(const Win* win, const AccessRecord& earlier) = nullptr;
  const Win* win = nullptr;
  bool operator()(const AccessRecord& earlier) const { return !ordered || ordered(win, earlier); }
};

class AccessTable {
 public:
  /// Compares the runs of an access like `pattern` with the records, and adds at most `most`
  /// conflicts to `found`. Adds the access to the table if `keeps`; one that conflicts only if
  /// `keeps_conflicting` too. Reports once, on standard error, that the table is full.
  void enter(const AccessRecord& pattern, const AddressRuns& runs, bool keeps,
             bool keeps_conflicting, size_t most, std::vector<Conflict>* found,
             const OrderQuestion& order = {});
  /// The records for which f is true are complete. They stay in the table, so that later accesses
  /// are compared with them; only the last kMostDone of them do.
  template <class F>
  void finish_if(const OrderStamp& stamp, int64_t now, F&& f) {
    std::lock_guard<SpinLock> guard(lock_);
    AccessRecords finished;
    extract_if([&](const AccessRecord& r) { return !r.done && f(r); }, &finished);
    for (AccessRecord& record : finished) {
      // Its bytes may be found from now on, if not before.
      __atomic_store_n(&updated_[record.member % kPlaces], now, __ATOMIC_RELEASE);
      record.done = now;
      record.stamp = stamp;
      add_done(record);
    }
  }
  /// True where f is true for a record.
  template <class F>
  bool any_of(F&& f) {
    std::lock_guard<SpinLock> guard(lock_);
    return std::any_of(records_, records_ + used_, f);
  }
  template <class F>
  void erase_if(F&& f) {
    std::lock_guard<SpinLock> guard(lock_);
    extract_if(f, nullptr);
  }
  /// Number of records.
  uint32_t size() const { return used_; }
  static constexpr uint32_t kMost = 16384, kMostDone = 128, kMostLoads = 32;

  /// When an operation to the member's memory, or that of another with the same place, last began
  /// or was complete; 0: never.
  int64_t updated(uint32_t member) const {
    return __atomic_load_n(&updated_[member % kPlaces], __ATOMIC_ACQUIRE);
  }
  /// Where that time is.
  const int64_t* update_time(uint32_t member) const { return &updated_[member % kPlaces]; }
  /// When the member itself last reported to have changed its memory; 0: never.
  int64_t stored(uint32_t member) const {
    return __atomic_load_n(&stored_[member % kPlaces], __ATOMIC_ACQUIRE);
  }
  /// When an exclusive lock, or any lock, was last released.
  int64_t released(bool exclusive) const {
    return __atomic_load_n(&released_[exclusive], __ATOMIC_ACQUIRE);
  }
  /// When a member of the process last began such a call.
  int64_t told(uint32_t call) const { return __atomic_load_n(&told_[call], __ATOMIC_ACQUIRE); }
  void set_told(uint32_t call, int64_t now) {
    __atomic_store_n(&told_[call], now, __ATOMIC_RELEASE);
  }
  /// The member gives the assertions to its fence of this number.
  void record_assertions(uint32_t fence, int assertions, int32_t origin, uint64_t place);
  /// A member that has given the assertion with this index to that fence, or, without `given`, one
  /// that has not.
  FenceAssertions::GivenBy asserted_by(uint32_t fence, size_t assertion, bool given);
  void set_released(bool exclusive, int64_t now) {
    __atomic_store_n(&released_[false], now, __ATOMIC_RELEASE);
    if (exclusive) __atomic_store_n(&released_[true], now, __ATOMIC_RELEASE);
  }

 private:
  using AccessRecords = std::vector<AccessRecord>;
  static constexpr uint32_t kPlaces = 64;

  /// Moves the records for which f is true to `out`, unless that is null.
  template <class F>
  void extract_if(F&& f, AccessRecords* out) {
    for (uint32_t i = 0; i < used_;) {
      if (!f(records_[i])) {
        ++i;
        continue;
      }
      if (out) out->push_back(records_[i]);
      done_ -= records_[i].done != 0;
      records_[i] = records_[--used_];
    }
  }
  void compare(const AccessRecord& pattern, const AddressRuns& runs, size_t most,
               const OrderQuestion& order, std::vector<Conflict>* found);
  /// Adds a complete access, in place of one that is alike or, of kMostDone, the earliest.
  void add_done(const AccessRecord& record);
  /// Adds records. Returns false when the table is full for the first time.
  bool add_runs(const AccessRecord& pattern, const AddressRuns& runs);

  SpinLock lock_;
  uint32_t used_;
  uint32_t overflowed_;
  uint32_t done_;        ///< number of records that are done
  int64_t released_[2];  ///< [false]: of any lock
  int64_t told_[4];
  int64_t updated_[kPlaces];
  int64_t stored_[kPlaces];
  /// By the lowest bit of the fence's number: no member is two fences ahead of another.
  FenceAssertions assertions_[2];
  AccessRecord records_[kMost];
};

}  // namespace fgmpi::rma
