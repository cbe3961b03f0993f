// Loads and stores of a program that was compiled with mpicc -check, into memory that operations
// under way own.
//
// The entry points in the program (gcc/access) decide most accesses by themselves, from what stands
// in their View; the rest come to fgmpi_check_access(), which looks into the OwnedMemory of the
// rank.
//
// OwnedMemory: the regions of active operations, in arrays sorted by where they begin, one for each
// size class (a factor of
// 4) and for what is read and what is written. Memory that an operation writes is no other's, so of
//    each class a handful can
// touch an access; binary search finds them.
// Thread rule: the program's threads look while the rank is in a call, so a lock (SpinLock) guards
// it, where the process has more than one thread. Nothing that holds it waits or switches.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "check/rank.h"
#include "gcc/access/view.h"

namespace fgmpi::check {

/// Taken only while the process has several threads. Held for a search or a change, never during a
/// call of MPI.
class SpinLock {
 public:
  void lock();
  void unlock();

 private:
  std::atomic<bool> held_ = false;
};

/// What an access is called: by the function of the C library that made it, or what it does.
inline const char* words_of(const char* function, bool writes) {
  return function ? function : writes ? "a store" : "a load";
}

class OwnedMemory {
 public:
  /// An operation owns those of its regions that have begun from now on, and no more.
  void add(Operation* operation);
  void remove(Operation* operation);
  /// And a single one.
  void add(Operation* operation, const Region& region);
  void remove(const Region& region);
  /// The rank has ended.
  void clear();
  /// The view is told from now on what is owned, and no more. `owner`: what the view is to say of
  /// whose it is.
  void attach(access::View* view, void* owner);
  void detach(access::View* view);

  /// Of these windows memory is exposed from now on where something may be compared. Accesses in an
  /// epoch are kept, since they are compared later (windows.cc), others meet what is under way at
  /// once.
  void expose(const std::vector<Exposed>& windows);
  struct Touched {
    uintptr_t low, high;
    MPI_Win win;
    bool writes;
    const char* function;
    const void* place;
  };
  /// Keeps an access to exposed memory. Those of one place that touch are one. Returns whether
  /// there are so many that take_touched() is to be called before the next one. REQUIRES: `lock` is
  /// held.
  bool touch(const access::Access& access);
  bool is_exposed(uintptr_t address, size_t bytes) const;
  const std::vector<Exposed>& exposed() const { return exposed_; }
  /// What was kept.
  std::vector<Touched> take_touched();

  struct Owner {
    Operation* operation = nullptr;
    const Region* region = nullptr;
  };
  /// Who owns memory that the access touches and must not. REQUIRES: `lock` is held.
  Owner find(const access::Access& access) const;

  SpinLock lock;
  /// Accesses that were reported, by place and operation: a loop is reported once. Guarded by the
  /// lock.
  std::unordered_set<uint64_t> reported;

 private:
  struct Entry {
    uintptr_t low, high;
    Operation* operation;
    const Region* region;
  };
  /// Regions of 4^class .. 4^(class + 1) - 1 bytes.
  static constexpr size_t kClasses = 24;
  struct Entries {
    std::array<std::vector<Entry>, kClasses> of_class;
    uint32_t classes = 0;  ///< bit i: there are some of class i
    uintptr_t low = ~uintptr_t{0}, high = 0;
    size_t count = 0;
    Owner find(uintptr_t address, size_t bytes) const;
    void find_reach();
  };
  void add_one(Operation* operation, const Region& region);
  void remove_one(const Region& region);
  void mark(const Region& region, int step);
  void show();

  static constexpr size_t kMostTouched = 256;
  void mark(uintptr_t low, uintptr_t high, int step);

  std::vector<Exposed> exposed_;
  std::vector<Touched> touched_;
  size_t last_touched_ = 0;  ///< the one that was widened last
  Entries entries_[2];       ///< [0]: what operations read, [1]: what they write
  /// Regions in a granule; 255: that or more, until all are gone.
  std::array<uint8_t, access::kGranules> filter_{};
  std::vector<access::View*> views_;
};

/// How many calls of MPI the calling thread is in; of a rank's main thread, Rank::calls says so for
/// each rank.
extern thread_local int g_calls_of_thread;

/// The rank has begun, in the thread that calls.
void follow_accesses(Rank* rank);
/// Reports what other threads have seen.
void report_accesses();

}  // namespace fgmpi::check
