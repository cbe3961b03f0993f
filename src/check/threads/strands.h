// The order of the threads of one rank: vector clocks of its strands.
//
// A strand is a part of the program whose statements have one order: a thread, or a task, section
// or chunk of a loop of OpenMP, whichever thread executes it. A strand has a number and counts its
// own events; a StrandClock has a count for each number. What a strand knows is in two clocks:
//
//   all    whatever orders strands in this run, also that one has got a mutex after another
//   firm   what orders them in every run: a mutex counts only if the strand then reads
//          what the other has written, or if the other had got the mutex before for certain
//
// Two accesses conflict if `all` does not order them, or if `firm` does not and no mutex was held
// in both (ThreadOrder::is_unordered).
//
// Programs tell of their strands through the wrappers of gcc/access. Nothing is known of programs
// that were not linked with mpicc -check. Thread rule: the rank's threads call at any time;
// ThreadOrder::lock guards all of it. Its holder never waits, switches or calls MPI.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/memory/accesses.h"
#include "gcc/access/view.h"

namespace fgmpi::check {

inline constexpr uint32_t kMostStrands = 64;
inline constexpr unsigned kCountBits = 24;
inline constexpr uint32_t kMostCount = (1u << kCountBits) - 1;

class StrandClock {
 public:
  uint32_t of(uint32_t strand) const { return strand < counts_.size() ? counts_[strand] : 0; }
  void raise(uint32_t strand, uint32_t count);
  void learn(const StrandClock& other);

 private:
  std::vector<uint32_t> counts_;
};

struct StrandKnowledge {
  StrandClock all, firm;
  void learn(const StrandKnowledge& other) {
    all.learn(other.all);
    firm.learn(other.firm);
  }
};

/// A set of mutexes, as an index into ThreadOrder's table; 0: none.
using LockSet = uint8_t;
/// Stands for all sets once the table is full: it has a mutex in common with each set but 0.
inline constexpr LockSet kManyLocks = 127;

/// An event of a strand.
struct StrandEvent {
  uint8_t strand = 0;
  LockSet locks = 0;
  uint32_t count = 0;
};

/// The accesses of strands to words of memory.
class AccessHistory {
  static constexpr unsigned kPageBits = 12, kWordBits = 2;

 public:
  static constexpr size_t kCells = 4;
  using Page = std::array<std::array<uint64_t, kCells>, size_t{1} << (kPageBits - kWordBits)>;
  /// The page that a strand has used last.
  struct LastPage {
    uintptr_t number = 0;
    Page* page = nullptr;
  };
  struct HistoryCell {
    uint64_t writes : 1, bytes : 4, locks : 7, strand : 6, count : kCountBits, place : 22;
  };
  static_assert(sizeof(HistoryCell) == 8);
  /// The cells of the word; null where there are none, or no memory for them.
  std::array<uint64_t, kCells>* cells_of(uintptr_t address, bool make, LastPage* last);
  /// f(address of the word, cells) for each word in [low, high) that has any.
  template <class F>
  void for_each_word(uintptr_t low, uintptr_t high, F&& f);
  void forget(uintptr_t low, uintptr_t high);

 private:
  static constexpr size_t kMostPages = 8192;  ///< of 32 KiB each
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
};

/// Accesses of a strand from one place to adjoining memory, which are not in the history yet. Only
/// the strand's thread uses its runs; they enter the history (ThreadOrder::settle) before anything
/// can order what follows after them.
struct AccessSpan {
  const void* place = nullptr;  ///< null: none
  uintptr_t low = 0, high = 0;
  const char* function = nullptr;
  bool writes = false, reads = false;
  uint64_t since = 0;  ///< ThreadOrder::forgotten_ at its begin
};

/// Memory in which a strand's accesses meet no call or operation, as long as no other has begun.
struct ClearMemory {
  uintptr_t low = 0, high = 0;
  uint64_t uses = 0, owned = 0;  ///< the sums of changes then
};

struct Strand {
  uint8_t number = 0;
  LockSet lock_set = 0;
  bool is_chunk = false, chunks_begun = false, of_region = false;
  uint32_t first = 0;  ///< its first count; others had the number before
  uint32_t now = 0;
  StrandKnowledge knows;
  /// `firm` of the strands that have released the mutexes which this one has got since.
  StrandClock offered;
  /// What it will know at its next fence.
  StrandKnowledge next_fence;
  uintptr_t read[8] = {};  ///< the words that it has read last, where there are fences
  uint8_t next_read = 0;
  /// What those knew that have changed the same counters before, without an order in memory.
  StrandClock counted;
  struct HeldLock {
    const void* mutex;
    uint32_t since;  ///< the count at which the strand has got it
  };
  std::vector<HeldLock> locks;
  uint64_t team = 0;  ///< the innermost parallel region; 0: none
  uint32_t barriers = 0;
  std::vector<std::pair<uint64_t, uint32_t>> outer_teams;
  uint64_t children = 0;         ///< what its tasks have done; 0: it has made none
  std::vector<uint64_t> groups;  ///< the groups of tasks that it is in
  /// Addresses from the stack pointer to this one are the executing thread's own: other strands may
  /// have used them before, one after the other.
  uintptr_t private_end = 0, region_frame = 0;
  StrandKnowledge chunk_start, chunk_end;
  uint64_t task = 0;        ///< the number of the task that it is
  Strand* outer = nullptr;  ///< the strand that goes on when this one is over
  AccessHistory::LastPage last_page;
  static constexpr size_t kRuns = 16;
  AccessSpan runs[kRuns];
  bool any_run = false;
  ClearMemory clear;
  uint32_t compared = 0;  ///< accesses that were compared since `clear` was made
  const void* shown_place[64] = {};
  uint32_t shown_number[64] = {};

  uint64_t events = 0;   ///< what it has told
  bool in_call = false;  ///< in a call of MPI

  StrandEvent event() const { return {number, lock_set, now}; }
};

/// Memory that a call of MPI uses or has used.
struct StrandUse {
  uintptr_t low = 0, high = 0;
  bool writes = false;
  bool open = false;         ///< the call has not returned
  StrandEvent event;         ///< its end, or if `open` its begin
  const void* of = nullptr;  ///< the operation or CheckedCall
  const char* base = nullptr;
  std::vector<ByteBlock> blocks;  ///< empty: all bytes
  CallRecord call;
};

/// An access or another call that conflicts with a use of memory.
struct StrandConflict {
  const void* place = nullptr;  ///< of an access
  bool writes = false;
  bool call_writes = false;  ///< the call that it conflicts with writes the memory
  CallRecord call;           ///< of a call, where `place` is null
  bool open = false;         ///< that call has not returned
};

class ThreadCalls;

class ThreadOrder {
 public:
  explicit ThreadOrder(Rank* rank);
  /// The checks of calls that need the order.
  ThreadCalls& calls() { return *calls_; }
  /// The function behind access::Order.
  uint64_t tell(access::Sync what, const void* object, uint64_t value);
  /// Does the rank have several threads now?
  bool is_active() const { return active_; }
  /// The calling thread makes an access. Returns the use that it conflicts with; else the result's
  /// `of` is null. `frame`: a frame of the caller.
  StrandUse record_access(const access::ProgramAccess& access, uintptr_t frame);
  /// As record_access(), where no call can conflict, and without the lock. False: it has done
  /// nothing.
  bool join_run(const access::ProgramAccess& access, uintptr_t frame);
  /// The memory has a new owner: what was done there before is of no interest.
  void forget_memory(uintptr_t low, uintptr_t high);

  /// A call or operation `of` begins, or ends, to use memory. Returns what conflicts.
  std::vector<StrandConflict> begin_use(const void* of, const Regions& regions,
                                        const CallRecord& call, bool blocks, uintptr_t frame);
  std::vector<StrandConflict> end_use(const void* of, const Regions& regions,
                                      const CallRecord& call, uintptr_t frame);
  /// The calling strand knows now as well, by a call of its own, that this use has ended.
  void end_use_again(const void* of);

  /// The event that the calling thread is at; count 0: it is not known.
  StrandEvent now();
  uint32_t strand_here() { return now().strand; }
  /// Does the calling thread know of the event, for certain in every run if `firm`? A counter that
  /// both have changed may tell it, too.
  bool knows(const StrandEvent& event, bool firm);
  bool share_a_lock(LockSet a, LockSet b) const;
  /// The mutexes that the calling thread has held since the event, without a break.
  LockSet held_since(const StrandEvent& event);
  /// What the calling thread knows of all strands.
  StrandKnowledge known_here();
  /// A thread that waits for a mutex whose owner is in a call of MPI.
  struct BlockedThread {
    const void* place = nullptr;
    const CheckedCall* call = nullptr;  ///< the owner's
    std::vector<void*> callers = {};    ///< of the function with the place
    bool again = false;                 ///< it waits for itself
  };
  std::vector<BlockedThread> blocked_threads();
  /// All threads that wait for a mutex that a strand holds; `call` is null.
  std::vector<BlockedThread> wanting_threads();
  /// A strand that waits for other strands, in words and with its place. `parked`: in the checker.
  struct AwaitingStrand {
    const char* at = nullptr;
    const void* place = nullptr;
    bool parked = false;
    std::vector<void*> callers;  ///< of the function with the place
  };
  std::vector<AwaitingStrand> awaiting();
  /// Lets the rank's first thread look again for what it awaits, once after all that has happened:
  /// it may have come from code that tells nothing. Called when nothing in the process can go on.
  void poke();
  /// The calling thread begins or ends a call of MPI.
  void begin_call();
  void end_call();
  /// The calling thread takes part in communication, by which others may learn what it knows.
  void begin_communication();
  void end_communication();

 private:
  uint64_t tell_locked(access::Sync what, const void* object, uint64_t value);
  struct PendingTask {
    StrandKnowledge start;
    uint64_t parent = 0, team = 0;
    bool repeats = false;  ///< several tasks of a taskloop have the number
    bool begun = false;
    std::vector<uint64_t> groups, needs;
  };
  struct Mutex {
    StrandKnowledge released;
    StrandEvent got;
    bool is_held = false;
    pthread_t owner{};
    std::vector<void*> waiters;  ///< in MPIX_Tool_wait
  };
  struct Want {
    const void* mutex = nullptr;
    const void* place = nullptr;
    bool again = false;  ///< the strand has it, and cannot get it again
    std::vector<void*> callers;
  };
  /// The return addresses behind the place on the calling thread's stack.
  static std::vector<void*> callers_of(const void* place);
  /// A fence of the strand with a number.
  struct Fence {
    uint32_t count = 0;
    StrandKnowledge knew;
  };
  /// What a strand awaits, from kAwaits... on until its next event.
  struct Await {
    access::Sync what{};
    uint64_t key = 0, needed = 0;  ///< of a region: the arrivals that it awaits
    const void* place = nullptr;
    bool over = false;
    bool by_wake = false;    ///< it is over because of kWake
    bool has_limit = false;  ///< the program waits until a time, or tries again at once
    void* waiter = nullptr;  ///< in MPIX_Tool_wait
    /// Where a thread that is not the rank's first sleeps, if it waits in the checker.
    std::shared_ptr<std::atomic<uint32_t>> bed;
    std::vector<void*> callers;  ///< as in AwaitingStrand
  };
  /// Waits of a strand that have ended without success, one after the other at one place, while no
  /// other strand has told anything and the rank has not communicated.
  struct TimeOuts {
    const void* place = nullptr;
    uint32_t count = 0;
    int64_t since = 0;  ///< in ns
    uint64_t happened = 0;
  };
  /// How often threads of a region have come to a barrier or to the region's end. `unknown`: one of
  /// them has no strand, so that not all are counted.
  struct TeamCounts {
    uint64_t arrived = 0, ended = 0;
    bool unknown = false;
  };
  static constexpr size_t kMostFences = 4;
  struct Barrier {
    uint64_t threads = 0, arrived = 0;
  };

  /// The strand of the calling thread; here() makes one where the thread is known.
  Strand* here();
  Strand* running() const;
  void set_here(Strand* strand);
  Strand* make_strand();
  void end_strand(Strand* strand);
  /// The stack of the calling thread, which begins, may have been another thread's before.
  void forget_stack();
  bool knows(const Strand& me, const StrandClock& clock, uint32_t strand, uint32_t count) const;
  /// `locks`: what the strand holds.
  bool is_unordered(const Strand& me, const StrandEvent& event, LockSet locks) const;
  std::vector<StrandConflict> conflicts_of(const Strand& me, LockSet locks, const void* of,
                                           const Region& region);
  void release(Strand* me, uint64_t key);
  void acquire(Strand* me, uint64_t key);
  StrandKnowledge publish(Strand* me);
  /// `value`: that of Sync::kWants.
  void wait_for_mutex(const void* mutex, uint64_t value);
  bool is_awaited(const Strand& me, const void* lock) const;
  uint64_t begin_await(access::Sync what, Strand* me, uint64_t key, uint64_t value);
  bool has_come(const Await& await) const;
  bool has_task_to_begin(const Strand& me, const Await& await) const;
  bool is_awaited_task(const PendingTask& task, const Await& await) const;
  bool may_park(const Strand& me, const Await& await) const;
  bool others_wait(const Strand& me) const;
  uint64_t happened_beside(const Strand& me) const;
  void record_time_out(const Strand& me, const void* place);
  uint64_t wait_for_strands();
  uint64_t sleep_until_over(Strand* me);
  /// f(await): has it come? Those whose strands are parked are woken when the lock is free.
  template <class F>
  void end_awaits(F&& f);
  void end_awaits_at(const void* object);
  void end_awaits_of_tasks(uint64_t team);
  void end_awaits_that_have_come();
  void end_awaits_with_limit(const Strand* by);
  void end_await_of(const Strand& me, access::Sync what);
  uint64_t arrive(uint64_t barrier);
  uint64_t happened() const { return events_of_others_ + rank_->communications; }
  void got_mutex(Strand* me, const void* mutex);
  void releases_mutex(Strand* me, const void* mutex);
  void forget_locked(uintptr_t low, uintptr_t high);
  LockSet set_of(std::vector<const void*> locks);
  LockSet held_since(const Strand& me, const StrandEvent& event);
  uint64_t tell_region(access::Sync what, Strand* me, uint64_t key, uint64_t value);
  uint64_t tell_chunk(access::Sync what, Strand* me);
  uint64_t tell_task(access::Sync what, Strand* me, const void* object, uint64_t value);
  uint64_t tell_thread(access::Sync what, Strand* me, uint64_t value);
  uint64_t tell_barrier(access::Sync what, Strand* me, uint64_t key, uint64_t value);
  void tell_atomic(access::Sync what, Strand* me, uint64_t key, uint64_t order);
  void begin_member(Strand* me, uint64_t region, uintptr_t frame);
  void end_member(Strand* me, uint64_t region);
  void begin_chunk(Strand* me);
  void end_chunk(Strand* me);
  void begin_task(uint64_t number, uintptr_t frame);
  void end_task(uint64_t number);
  void update_active();
  void add_use(const void* of, const Region& region, const CallRecord& call,
               const StrandEvent& event, bool open);
  uint32_t number_of_place(Strand* me, const void* place);
  void record_word(Strand* me, uintptr_t word, unsigned bytes, bool writes, uint32_t place);
  void read_from(Strand* me, const AccessHistory::HistoryCell& cell);
  void read_before_fence(Strand* me);
  /// Puts the calling strand's runs into the history.
  void settle();
  void settle(Strand* me);
  void add_to_run(Strand* me, const access::ProgramAccess& access);
  void end_run(Strand* me, AccessSpan* run);
  void record_range(Strand* me, const AccessSpan& run, uintptr_t low, uintptr_t high);
  bool conflicts_with(const Strand& me, const StrandUse& use, bool writes) const;
  const StrandUse* find_conflict(const Strand& me, uintptr_t low, uintptr_t high,
                                 bool writes) const;
  void find_clear(Strand* me, uintptr_t low, uintptr_t high);
  uint64_t fresh_key() { return uint64_t{1} << 63 | next_key_++; }
  uint64_t children_of(Strand* me);

  std::unique_ptr<ThreadCalls> calls_;
  AccessSpinLock lock_;
  Rank* const rank_;
  bool active_ = false;
  uint32_t regions_ = 0;
  int64_t threads_ = 0;
  uint64_t next_key_ = 1, next_task_ = 1, next_thread_ = 1;
  uint32_t last_count_[kMostStrands] = {};
  std::deque<uint8_t> free_numbers_;
  uint8_t numbers_ = 0;
  Strand* main_ = nullptr;  ///< of the rank's first thread
  StrandKnowledge created_, sent_;
  bool any_created_ = false;
  std::unordered_map<uint64_t, StrandKnowledge> objects_;  ///< by address, or fresh_key()
  std::unordered_map<uint64_t, StrandClock> counters_;
  std::deque<Fence> fences_[kMostStrands];  ///< the last ones, newest first
  bool any_fence_ = false;
  std::unordered_map<const void*, Mutex> mutexes_;
  std::unordered_map<uint8_t, Want> wants_;    ///< by strand
  std::unordered_map<uint8_t, Await> awaits_;  ///< by strand
  std::unordered_map<uint64_t, TeamCounts> teams_;
  std::unordered_map<uint8_t, TimeOuts> time_outs_;  ///< by strand
  Strand* live_[kMostStrands] = {};                  ///< by number
  uint64_t events_ = 0;                              ///< events of all strands
  uint64_t events_of_others_ = 0;  ///< events of strands but that of the rank's first thread
  /// Where poke() has last let the rank's first thread look again, and what had happened by then.
  const void* poked_at_ = nullptr;
  uint64_t poked_after_ = 0;
  std::vector<void*> woken_;  ///< waiters to be woken without the lock
  std::unordered_map<uint64_t, Barrier> barriers_;
  std::unordered_map<uint64_t, PendingTask> tasks_;
  std::unordered_map<uint64_t, StrandKnowledge> starts_;
  std::unordered_map<uint64_t, Strand*> by_handle_;
  std::vector<std::vector<const void*>> lock_sets_{{}};
  std::unordered_map<const void*, uint32_t> place_numbers_;
  std::vector<const void*> places_{nullptr};
  AccessHistory history_;
  std::deque<StrandUse> uses_;
  uintptr_t uses_low_ = ~uintptr_t{0}, uses_high_ = 0;
  std::unordered_map<const void*, StrandEvent> begun_;
  std::atomic<uint64_t> uses_changes_ = 1;  ///< grows when a use is added
  struct ForgottenMemory {
    uintptr_t low = 0, high = 0;
  };
  /// The last memory with new owners, in a ring: accesses of runs that began before are not those
  /// of the new owner.
  static constexpr uint64_t kMostForgotten = 64;
  ForgottenMemory last_forgotten_[kMostForgotten];
  uint64_t forgotten_ = 0;
};

}  // namespace fgmpi::check
