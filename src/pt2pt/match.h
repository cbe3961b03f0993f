// The two queues of an endpoint: posted receives and unexpected messages.
//
//   short:  head -> entry -> entry -> entry     a list in order of arrival, searched from the front
//   long:   the same list, and beside it a hash table
//           (ctx, source, tag) -> bin: its entries in order of arrival
//
// Wildcards. A posted receive is in the one bin of its own pattern, where ANY is a value like
// another. A message is compared with the heads of up to four bins and matches the eldest. An
// unexpected message is in the bin of its envelope. Once a wildcard receive of some shape has been
// searched for, the message is also in the bins of the patterns of that shape: with ANY for its
// source, its tag or both. A receive searches one bin. So each step is O(1) amortised in any order,
// and the eldest match is always found (MPI-4.0 section 3.5).
//
// An empty queue owns no memory. The table is built when a search has compared kShort entries in
// vain, so a long queue whose front always matches needs none. The table is dropped when the queue
// is empty again. Thread rule: one thread. Invariants: an entry is in at most one queue; list order
// is arrival order.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/list.h"

namespace fgmpi::pt2pt {

struct Envelope {
  uint64_t ctx;
  int32_t source;
  int32_t tag;
  bool operator==(const Envelope&) const = default;
};

/// Does a receive with this pattern match that message?
[[gnu::always_inline]] inline bool covers(const Envelope& pattern, const Envelope& message) {
  return pattern.ctx == message.ctx &&
         (pattern.source == message.source || pattern.source == MPI_ANY_SOURCE) &&
         (pattern.tag == message.tag || pattern.tag == MPI_ANY_TAG);
}

/// A search compares this many entries one by one; a search that must go on builds the table.
inline constexpr uint32_t kShort = 24;

struct Bin;
struct BinHook {
  BinHook* next;
  BinHook* prev;
  Bin* bin;
  void* owner;
};

/// Base of what PostedQueue holds.
struct PostedReceive {
  Envelope envelope;
  PostedReceive* next;
  PostedReceive* prev;
  uint64_t order;  ///< while the table exists: a smaller number was posted earlier
  BinHook hook;
};

/// Base of what UnexpectedQueue holds.
struct Arrived {
  struct Links;
  Envelope envelope;
  Arrived* next;
  Arrived* prev;
  Links* links;  ///< its hooks in bins, while the table exists
};

struct PostedBins;
struct UnexpectedBins;

/// How many entries all queues of the process have compared in vain.
[[gnu::visibility("hidden")]] extern uint64_t g_matches_searched;

class PostedQueue {
 public:
  bool empty() const { return list_.empty(); }
  /// The number of entries. Walks the list: for reports and tests.
  uint32_t size() const;
  PostedReceive* front() const { return list_.front(); }
  PostedReceive* back() const { return list_.back(); }

  /// The eldest entry; nullptr when the queue is empty or has a table.
  PostedReceive* first() const {
    return __builtin_expect(bins_ == nullptr, 1) ? list_.front() : nullptr;
  }
  /// Removes first(). REQUIRES: first() != nullptr.
  void pop_first() { list_.pop_front(); }
  /// push() for an empty queue. REQUIRES: empty().
  void push_only(PostedReceive* p) { list_.push_only(p); }
  void push(PostedReceive* p) {
    list_.push_back(p);
    if (__builtin_expect(bins_ != nullptr, 0)) enter(p);
  }
  /// Removes and returns the eldest receive that matches this message, or nullptr.
  PostedReceive* take(const Envelope& message) {
    if (__builtin_expect(bins_ != nullptr, 0)) return match_slow(message);
    uint32_t compared = 0;
    for (PostedReceive* p = list_.front(); p; p = p->next) {
      if (covers(p->envelope, message)) {
        list_.remove(p);
        return p;
      }
      ++g_matches_searched;
      if (__builtin_expect(++compared > kShort, 0)) return match_slow(message);
    }
    return nullptr;
  }
  void remove(PostedReceive* p) {
    if (__builtin_expect(bins_ != nullptr, 0)) return remove_slow(p);
    list_.remove(p);
  }

 private:
  PostedReceive* match_slow(const Envelope& message);
  void remove_slow(PostedReceive* p);
  void enter(PostedReceive* p);

  List<PostedReceive> list_;
  PostedBins* bins_ = nullptr;
};

class UnexpectedQueue {
 public:
  bool empty() const { return list_.empty(); }
  /// The number of entries, at most `most`. Walks the list.
  uint32_t size(uint32_t most = ~0u) const;
  Arrived* front() const { return list_.front(); }

  void push(Arrived* a) {
    list_.push_back(a);
    if (__builtin_expect(bins_ != nullptr, 0)) enter(a);
  }
  /// The eldest message that this pattern matches, or nullptr. The message stays in the queue.
  Arrived* find(const Envelope& pattern) {
    if (__builtin_expect(bins_ != nullptr, 0)) return find_slow(pattern);
    uint32_t compared = 0;
    for (Arrived* a = list_.front(); a; a = a->next) {
      if (covers(pattern, a->envelope)) return a;
      ++g_matches_searched;
      if (__builtin_expect(++compared > kShort, 0)) return find_slow(pattern);
    }
    return nullptr;
  }
  void remove(Arrived* a) {
    if (__builtin_expect(bins_ != nullptr, 0)) return remove_slow(a);
    list_.remove(a);
  }

 private:
  Arrived* find_slow(const Envelope& pattern);
  void remove_slow(Arrived* a);
  void enter(Arrived* a);
  void enter(Arrived* a, int shape);

  List<Arrived> list_;
  UnexpectedBins* bins_ = nullptr;
};

}  // namespace fgmpi::pt2pt
