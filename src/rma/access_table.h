// The table of the accesses to a process's members that no synchronisation has ended yet. The table
// lies behind the process's control area (check.h).
//
// Thread rule: every function locks the table; the processes of a host use one table at once.
// Nothing here switches.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
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
/// under way in epochs of locks.
enum class EpochKind : uint8_t { kFence, kStart, kPassive, kProgram, kAtOnce };

/// One run of bytes of one access, or of several accesses that are alike and touch.
struct AccessRecord {
  uint64_t low, high;  ///< addresses, as the owner numbers them
  uint32_t phase;      ///< number of fences of the window before the access
  int32_t origin;      ///< rank in the window
  uint32_t member;     ///< index of the target in its process
  MemoryUse use;
  EpochKind kind;
  bool exposed;          ///< kProgram: between MPI_Win_post and MPI_Win_wait
  bool seen;             ///< kPassive: a later access may have read what this one has changed
  int32_t op;            ///< kAccumulate
  MPI_Datatype element;  ///< kAccumulate: the predefined type
  char call[24];
  uint64_t place;  ///< ConflictObserver::place() of the call
};
static_assert(sizeof(AccessRecord) == 72);

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
static_assert(sizeof(Conflict) == 144);

class AccessTable {
 public:
  /// Compares the runs of an access like `pattern` with the records, and adds at most `most`
  /// conflicts to `found`. Adds the access to the table if `keeps`; one that conflicts only if
  /// `keeps_conflicting` too. Reports once, on standard error, that the table is full.
  void enter(const AccessRecord& pattern, const AddressRuns& runs, bool keeps,
             bool keeps_conflicting, size_t most, std::vector<Conflict>* found);
  /// True where f is true for a record.
  template <class F>
  bool any_of(F&& f) {
    std::lock_guard<SpinLock> guard(lock_);
    return std::any_of(records_, records_ + used_, f);
  }
  template <class F>
  void erase_if(F&& f) {
    std::lock_guard<SpinLock> guard(lock_);
    for (uint32_t i = 0; i < used_;)
      if (f(records_[i]))
        records_[i] = records_[--used_];
      else
        ++i;
  }
  /// Number of records.
  uint32_t size() const { return used_; }
  static constexpr uint32_t kMost = 16384;

 private:
  void compare(const AccessRecord& pattern, const AddressRuns& runs, size_t most,
               std::vector<Conflict>* found);
  /// Adds records. Returns false when the table is full for the first time.
  bool add_runs(const AccessRecord& pattern, const AddressRuns& runs);

  SpinLock lock_;
  uint32_t used_;
  uint32_t overflowed_;
  uint32_t pad_;
  AccessRecord records_[kMost];
};

}  // namespace fgmpi::rma
