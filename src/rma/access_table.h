// The table of accesses that no synchronisation has ended yet, behind a process's control area
// (check.h).
//
// Thread rule: every function takes the table's lock, and processes of a host use one table at
// once. Nothing here switches.
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
/// target's program, told at the target's next call; it meets accesses of the target's fence epoch
/// and, where its `exposed` is set, of its exposure epoch. kAtOnce: one that is told as it is made;
/// it meets what is under way in epochs of locks.
enum class EpochKind : uint8_t { kFence, kStart, kPassive, kProgram, kAtOnce };

/// One run of bytes of an access, or of several that are alike and touch.
struct Record {
  uint64_t low, high;  ///< addresses as the owner numbers them
  uint32_t phase;      ///< fences of the window before it
  int32_t origin;      ///< rank in the window
  uint32_t member;     ///< of the target's process
  Use use;
  EpochKind kind;
  bool exposed;          ///< kProgram: between MPI_Win_post and MPI_Win_wait
  bool seen;             ///< kPassive: what it has changed may have been read since
  int32_t op;            ///< kAccumulate
  MPI_Datatype element;  ///< kAccumulate: the predefined type
  char call[24];
  uint64_t place;  ///< Observer::place() of the call
};
static_assert(sizeof(Record) == 72);

/// Bytes from `low` up to `high`, as in a Record.
struct AddressRun {
  uint64_t low, high;
};
static_assert(sizeof(AddressRun) == 16);
using AddressRuns = std::vector<AddressRun>;
/// Have they bytes in common, or does one begin where the other ends?
inline bool touch(const AddressRun& a, const AddressRun& b) {
  return a.low <= b.high && b.low <= a.high;
}

/// A loop that accesses the same bytes again and again, or one element after the other, needs one
/// entry: the last of those from `first` to `end` that touches the bytes and is `alike` covers them
/// too, from now on. False: there is none.
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
  Record first, second;
};
static_assert(sizeof(Conflict) == 144);

class AccessTable {
 public:
  /// Compares the runs of an access like `pattern` with what is there, at most `most` conflicts,
  /// and keeps them if `keeps`. What conflicts is kept only if `keeps_conflicting`. That the table
  /// is full is said once.
  void enter(const Record& pattern, const AddressRuns& runs, bool keeps, bool keeps_conflicting,
             size_t most, std::vector<Conflict>* found);
  /// Is a record like that there?
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
  /// How many records there are.
  uint32_t size() const { return used_; }
  static constexpr uint32_t kMost = 16384;

 private:
  void compare(const Record& pattern, const AddressRuns& runs, size_t most,
               std::vector<Conflict>* found);
  /// False when it is full for the first time.
  bool keep(const Record& pattern, const AddressRuns& runs);

  SpinLock lock_;
  uint32_t used_;
  uint32_t overflowed_;
  uint32_t pad_;
  Record records_[kMost];
};

}  // namespace fgmpi::rma
