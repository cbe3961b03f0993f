// Board: memory that all processes of a communicator share, where they are on one host. A process
// posts on it that it has arrived at a barrier or allreduce, and what it contributes; whoever comes
// last posts the result. So a process waits at most once in a collective, for one word, and nobody
// sends a message.
//
//   header    | closed at | first closer |
//   groups    | word | release: round, closed, woken, up to 40 bytes of the result |    x groups
//   slots     | number, root, tag, signature, up to 40 bytes of a broadcast |           x 256
//   batches   | taken, wanted |                                         for each of 32 slots, x 8
//   blocks    1 KiB a process: its contribution; 1 KiB a group: the fold of its members
//
//   processes   0 1 2 3   4 5 6 7   8 9        groups of at most four, which share a cache where
//   groups         a         b       c         that is known; groups of groups of one NUMA node;
//   groups               root                  up to one, the root
//
// Barrier and allreduce. A process adds its unit to the word of its group. Whoever makes the word
// full folds the contributions of the group in order, and adds the unit to the group's own group,
// and so on. Whoever makes the root's word full releases every group of processes: it stores the
// round, and wakes those that sleep. Which process does what depends on the order of arrival; what
// is folded with what does not.
//
//   word   | sum of hashes 32 | arrivals 31 | closed |     unit = hash << 32 | 2
//
// Words only grow. All processes know the words' values between two collectives (`base`), and so
// see from a sum whether all members of a group have arrived at the same collective with the same
// signature. The bit `closed` is used in the root's word only.
//
// Broadcast. The root of the broadcast adds the units of all members of the root group at once,
// writes the data into the next slot, and goes on. Readers count themselves in `taken` when they
// have read the last slot of a batch; the root waits before the first slot of a batch until all
// have read what was in it.
//
// Closing. A board ends for ever when a collective of the communicator fails in a process, or when
// members disagree. The collective under way is then done by messages: at every process, or at
// none. The value of the root's word when the bit `closed` was set decides: where it was full, the
// collective has been done here, and its release will come.
//
// Cost: docs/memory-budget.md; lines that move on the critical path: benchmarks/README.md. Thread
// rule: one thread in each process. Nothing here switches. Numbers that other processes could
// write are only used as far as this process's own memory is not in danger.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace fgmpi::coll {

/// Where a process of the board runs: numbers of a NUMA node and of a cache; -1: not bound to one.
struct BoardPlace {
  int32_t numa = -1, cache = -1;
};

/// A collective to which all processes give the same tag and signature.
struct BoardOperation {
  int32_t tag;
  uint32_t signature;
  uint64_t unit() const;
};

/// What a process that arrives is.
enum class BoardRole : uint8_t { kLast, kNotLast, kClosed };

struct BoardGroup {
  uint32_t first = 0;  ///< of its members: an index into `order`, or the number of a group
  uint32_t size = 0;
  uint32_t parent = UINT32_MAX;
};

/// The groups of a board. All processes compute the same from the same places.
struct BoardTree {
  static constexpr uint32_t kFan = 4, kNone = UINT32_MAX;
  std::vector<uint32_t> order;  ///< team ranks; those of a group are consecutive
  /// Groups of processes first, then groups of these, and so on; the root is the last.
  std::vector<BoardGroup> groups;
  uint32_t leaves = 0;  ///< groups of processes
  BoardTree() = default;
  explicit BoardTree(std::span<const BoardPlace> places);
};

class Board {
 public:
  static constexpr size_t kMostReduced = 1024, kMostBroadcast = 40;
  /// Bytes of an object for so many processes. Only pages that are used exist.
  static size_t bytes(uint32_t processes);

  /// REQUIRES: `memory` is bytes(places.size()) zeroed bytes at a page's start, which stay mapped.
  /// `me`: the team rank of this process, an index into `places`.
  Board(void* memory, std::span<const BoardPlace> places, uint32_t me);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // ---- Barrier and allreduce --------------------------------------------------------------------
  /// Counts this process in. Calls fold(group) for each group that it completes; false closes the
  /// board. kLast: the caller releases the others. kNotLast: it waits for is_released().
  template <class Fold>
  BoardRole arrive(const BoardOperation& operation, Fold&& fold) {
    for (const PathStep& step : path_) {
      std::atomic<uint64_t>& word = groups()[step.group].word;
      const uint64_t unit = operation.unit(), full = step.base + step.size * unit;
      const uint64_t before = word.fetch_add(unit, std::memory_order_acq_rel);
      if (arrivals(before, step) + 1 < step.size && !(before & kClosedBit))
        return BoardRole::kNotLast;
      const bool agreed = before + unit == full;
      if (!agreed || !fold(step.group)) {
        if (agreed) word.fetch_add(kSpoiled, std::memory_order_relaxed);
        close();
        return BoardRole::kClosed;
      }
    }
    return BoardRole::kLast;
  }
  /// The block of a contribution, and of the fold of a group.
  char* own_block() { return block(me_); }
  char* group_block(uint32_t group) { return block(count() + group); }
  /// The blocks of a group's members, in order.
  uint32_t members(uint32_t group) const { return tree_.groups[group].size; }
  char* member_block(uint32_t group, uint32_t member) {
    const uint32_t i = tree_.groups[group].first + member;
    return block(group < tree_.leaves ? tree_.order[i] : count() + i);
  }
  /// Releases all processes with `length` bytes of the root's block. waker.sleeps(team rank) says
  /// whether a process sleeps, waker.wake(team rank) wakes it. REQUIRES: arrive() returned kLast.
  template <class Waker>
  void release(size_t length, Waker&& waker) {
    post_release(length);
    const uint32_t own = path_.front().group;
    for (uint32_t g = 0; g < tree_.leaves; ++g)
      if (g != own) wake_one(g, round_ + 1, waker);
    wake_released(own, round_ + 1, waker);
  }
  bool is_released() const {
    return release_line().round.load(std::memory_order_acquire) == round_ + 1;
  }
  /// The result of an allreduce. REQUIRES: is_released().
  const char* result(size_t length) const;
  /// Called once by each process when the collective is done.
  void end_round(const BoardOperation& operation);

  // ---- Broadcast --------------------------------------------------------------------------------
  /// Has everybody read the slot that the next broadcast uses? Else the last one wakes this
  /// process.
  bool has_slot();
  /// At the root: false where the board was closed before.
  template <class Waker>
  bool post(const BoardOperation& operation, uint32_t root, const char* data, size_t length,
            Waker&& waker) {
    if (!post_data(operation, root, data, length)) return false;
    for (uint32_t member : tree_.order)
      if (member != me_) waker.wake(member);
    return true;
  }
  bool is_posted() const;
  /// What the root has posted, and with what. REQUIRES: is_posted().
  const char* posted() const;
  BoardOperation posted_operation() const;
  uint32_t posting_root() const;
  /// Called by each reader when it has read the slot. Returns the team rank of a root that waits
  /// for it and is to be woken, or kNobody.
  uint32_t take(const BoardOperation& operation);

  // ---- Both -------------------------------------------------------------------------------------
  static constexpr uint32_t kNobody = UINT32_MAX;
  /// Called by a process that was woken by a release: wakes its mates that sleep and have not been
  /// woken for it.
  template <class Waker>
  void wake_mates(Waker&& waker) {
    wake_released(path_.front().group, round_ + 1, waker);
  }
  /// Called by a process before it sleeps: it needs no waking for the last release.
  void forgo_wake() { claim_wake(path_.front().group, place_, round_); }
  /// Ends the use of the board in all processes. The caller wakes them.
  void close();
  bool is_closed() const { return release_line().closed.load(std::memory_order_acquire) != 0; }
  /// Has the board been closed before the collective was decided? Then it is done by messages.
  /// REQUIRES: this process has begun the collective and not ended it.
  bool is_declined(const BoardOperation& operation) const;
  uint32_t count() const { return static_cast<uint32_t>(tree_.order.size()); }
  uint32_t me() const { return me_; }
  /// How many members of this process's group have arrived, for reports.
  uint32_t arrived() const;
  uint32_t mates() const { return path_.front().size; }

 private:
  static constexpr uint64_t kClosedBit = 1;
  static constexpr uint64_t kSpoiled = uint64_t{1} << 32;  ///< makes a full word a wrong sum
  static constexpr size_t kLineBytes = 64, kInLine = 40;
  static constexpr uint32_t kSlots = 256, kBatch = 32;

  struct alignas(kLineBytes) BoardHeader {
    std::atomic<uint64_t> closed_at;
    std::atomic<uint32_t> closers;
  };
  struct alignas(kLineBytes) ReleaseLine {
    std::atomic<uint32_t> round;
    std::atomic<uint32_t> closed;
    std::atomic<uint32_t>
        woken;  ///< the round 24, and a bit for each process that was woken for it
    char result[kInLine];
  };
  struct GroupLines {
    alignas(kLineBytes) std::atomic<uint64_t> word;
    ReleaseLine release;
  };
  struct alignas(kLineBytes) PostedSlot {
    std::atomic<uint32_t> number;
    uint32_t root;
    int32_t tag;
    uint32_t signature;
    char data[kMostBroadcast];
  };
  struct alignas(kLineBytes) SlotBatch {
    std::atomic<uint32_t> taken;
    std::atomic<uint32_t> wanted;  ///< the team rank of a root that waits, plus 1
  };
  static_assert(sizeof(ReleaseLine) == kLineBytes && sizeof(PostedSlot) == kLineBytes);

  /// A group on the way from this process to the root.
  struct PathStep {
    uint32_t group, size;
    uint64_t base;
  };
  static uint32_t arrivals(uint64_t word, const PathStep& step) {
    return static_cast<uint32_t>(word - step.base) >> 1;
  }

  /// Each process that sleeps is woken by one other, whoever comes first: the one that releases, or
  /// a mate that was woken before. So all are woken soon where the kernel stops who wakes others.
  template <class Waker>
  void wake_released(uint32_t g, uint32_t round, Waker&& waker) {
    const BoardGroup& group = tree_.groups[g];
    for (uint32_t i = 0; i < group.size; ++i) {
      const uint32_t member = tree_.order[group.first + i];
      if (member != me_ && waker.sleeps(member) && claim_wake(g, i, round)) waker.wake(member);
    }
  }
  /// Wakes the first one of another group that sleeps, which wakes the rest of it.
  template <class Waker>
  void wake_one(uint32_t g, uint32_t round, Waker&& waker) {
    const BoardGroup& group = tree_.groups[g];
    for (uint32_t i = 0; i < group.size; ++i) {
      const uint32_t member = tree_.order[group.first + i];
      if (!waker.sleeps(member)) continue;
      if (claim_wake(g, i, round)) waker.wake(member);
      return;
    }
  }
  bool claim_wake(uint32_t group, uint32_t place, uint32_t round);

  BoardHeader* header() const { return reinterpret_cast<BoardHeader*>(memory_); }
  GroupLines* groups() const { return reinterpret_cast<GroupLines*>(header() + 1); }
  const ReleaseLine& release_line() const { return groups()[path_.front().group].release; }
  PostedSlot* slot() const;
  SlotBatch* batch() const;
  char* block(uint32_t i) const;
  bool post_data(const BoardOperation& operation, uint32_t root, const char* data, size_t length);
  void post_release(size_t length);

  char* const memory_;
  BoardTree tree_;
  std::vector<PathStep> path_;
  uint32_t me_;
  uint32_t place_ = 0;       ///< in its group
  uint32_t round_ = 0;       ///< barriers and allreduces that are done
  uint64_t broadcasts_ = 0;  ///< broadcasts that are done
};

}  // namespace fgmpi::coll
