// Loads and stores that a program compiled with mpicc -check makes to memory which pending MPI
// operations own.
//
// The entry points in the program (gcc/access) decide most accesses themselves, from the
// contents of their AccessView. They pass the others to fgmpi_check_access(), which searches the
// OwnedMemory of the rank.
//
// OwnedMemory holds the regions of active operations in sorted arrays (by first address): one array
// for each size class (a factor of 4), separately for regions that are read and regions that are
// written. Regions that are written never overlap, so an access can meet only a few regions of each
// class, and a binary search finds them.
// Thread rule: the program's threads search while the rank is in a call, so a lock (AccessSpinLock)
// guards the memory of a process that has more than one thread. Its holder never waits or switches.
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

/// A lock that only a process with several threads acquires. It is held during a search or a
/// change, never during a call of MPI.
class AccessSpinLock {
 public:
  void lock();
  void unlock();

 private:
  std::atomic<bool> held_ = false;
};

/// While it lives the calling thread is in the checker's code. Memory that this code allocates may
/// come from a malloc of the program, compiled with -check too, whose accesses must not be checked.
/// With `in_checker` false the program runs again: where the code waits, other ranks run in the
/// same thread, and what they do must be seen.
class Looking {
 public:
  explicit Looking(bool in_checker = true);
  ~Looking();
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;

 private:
  const bool before_;
};

/// The word for an access in reports: the function of the C library that made it, or "a
/// store" or "a load".
inline const char* words_of(const char* function, bool writes) {
  return function ? function : writes ? "a store" : "a load";
}

struct StrandConflict;
struct StrandUse;

class OwnedMemory {
 public:
  /// From now on the operation owns those of its regions that have begun; remove() ends that.
  void add(RequestOperation* operation);
  void remove(RequestOperation* operation);
  /// As the two above, for one region.
  void add(RequestOperation* operation, const Region& region);
  void remove(const Region& region);
  /// Forgets all regions, because the rank has ended.
  void clear();
  /// The view shows from now on what is owned; detach() ends that. `owner` is the value that the
  /// view returns as the owner.
  void attach(access::AccessView* view, void* owner);
  void detach(access::AccessView* view);

  /// While `all`, the views let every access through: the rank has several threads.
  void follow_all(bool all);
  /// Sets the windows whose memory is exposed and may be compared. Accesses within an epoch are
  /// recorded and compared later (windows.cc); other accesses are compared with pending
  /// operations at once.
  void expose(const std::vector<Exposed>& windows);
  struct Touched {
    uintptr_t low, high;
    MPI_Win win;
    bool writes;
    const char* function;
    const void* place;
  };
  /// Records an access to exposed memory. Accesses from one site that adjoin or overlap are joined.
  /// Returns whether the list is full, so that the caller must call extract_touched() before the
  /// next access. REQUIRES: the caller holds `lock`.
  bool touch(const access::ProgramAccess& access);
  bool is_exposed(uintptr_t address, size_t bytes) const;
  /// The program waits, by loads of these bytes, for other ranks to change them. Such loads are not
  /// recorded outside of epochs of fences and MPI_Win_post. REQUIRES: the caller holds `lock`.
  void add_polled(uintptr_t address, size_t bytes);
  /// Has the program waited so since its last call of MPI? A later load may follow what it has
  /// found.
  bool has_polled() const { return has_polled_; }
  /// The program has loaded from memory of windows, and may have found there what others have done.
  void record_load() { has_loaded_.store(true, std::memory_order_relaxed); }
  /// Has it, since the last call of this?
  bool take_loads() { return has_loaded_.exchange(false, std::memory_order_relaxed); }
  const std::vector<Exposed>& exposed() const { return exposed_; }
  /// Returns the recorded accesses and clears the list.
  std::vector<Touched> extract_touched();

  struct Owner {
    RequestOperation* operation = nullptr;
    const Region* region = nullptr;
  };
  /// The owner of memory that this access must not touch; empty where there is none. REQUIRES: the
  /// caller holds `lock`.
  Owner find(const access::ProgramAccess& access) const;

  /// Grows whenever something is owned or exposed that was not before.
  uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  /// Narrows [*low, *high), which has `at`, to memory around it that nothing owns and no window
  /// exposes. False: too much is owned to search it all.
  bool cut_clear(uintptr_t at, uintptr_t* low, uintptr_t* high);

  AccessSpinLock lock;
  /// Accesses that have been reported, by site and operation, so that a loop is reported once.
  /// Guarded by `lock`.
  std::unordered_set<uint64_t> reported;

 private:
  struct OwnedRegion {
    uintptr_t low, high;
    RequestOperation* operation;
    const Region* region;
  };
  /// Class i holds regions of 4^i .. 4^(i + 1) - 1 bytes.
  static constexpr size_t kClasses = 24;
  struct OwnedRegions {
    std::array<std::vector<OwnedRegion>, kClasses> of_class;
    uint32_t classes = 0;  ///< bit i: class i has regions
    uintptr_t low = ~uintptr_t{0}, high = 0;
    size_t count = 0;
    Owner find(uintptr_t address, size_t bytes) const;
    void find_reach();
  };
  void add_one(RequestOperation* operation, const Region& region);
  void remove_one(const Region& region);
  void mark(const Region& region, int step);
  void show();

  static constexpr size_t kMostTouched = 256;
  void mark(uintptr_t low, uintptr_t high, int step);

  bool follows_all_ = false;
  std::atomic<uint64_t> changes_ = 1;
  std::vector<Exposed> exposed_;
  std::vector<Touched> touched_;
  static constexpr size_t kMostPolled = 64;
  struct PolledBytes {
    uintptr_t low, high;
  };
  bool is_polled(uintptr_t low, uintptr_t high) const;
  std::vector<PolledBytes> polled_;  ///< the last kMostPolled of them
  size_t next_polled_ = 0;
  bool has_polled_ = false;
  std::atomic<bool> has_loaded_ = false;
  size_t last_touched_ = 0;  ///< index of the access that was widened last
  OwnedRegions entries_[2];  ///< [0]: regions that operations read, [1]: that they write
  /// The number of regions in each granule; a counter that reaches 255 stays there until the rank
  /// has no region left.
  std::array<uint8_t, access::kGranules> filter_{};
  std::vector<access::AccessView*> views_;
};

/// The number of MPI calls that the calling thread is in. For a rank's main thread Rank::calls
/// counts them for each rank.
extern thread_local int g_calls_of_thread;

/// A call or operation that was given `call` begins to use memory: reports accesses and calls of
/// other strands (threads/strands.h) that nothing orders with it.
void report_strand_conflicts(Rank* rank, const CallRecord& call,
                             const std::vector<StrandConflict>& conflicts);

/// An access of the calling thread conflicts with a call that was not known when it was made.
void record_late_conflict(Rank* rank, const access::ProgramAccess& access, const StrandUse& use);

/// The rank's program is compiled with -check, as a call of its entry points shows.
void follow_program(Rank* rank);
/// Starts to check the accesses of a rank that has begun, in the calling thread.
void follow_accesses(Rank* rank);
/// Reports the conflicts that other threads have recorded.
void report_accesses();

}  // namespace fgmpi::check
