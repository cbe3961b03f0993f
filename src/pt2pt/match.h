// The two queues of an endpoint: posted receives and unexpected messages.
//
//   short:  head -> entry -> entry -> entry     a list in order of arrival, searched from the front
//   long:   the same list, and beside it a hash table
//           (ctx, source, tag) -> bin: its entries in order of arrival
//
// Wildcards. A posted receive lives in the one bin of its own pattern (ANY is a value like
// another); a message looks at the heads of up to four bins and takes the eldest. An unexpected
// message lives in the bin of its envelope and, once a wildcard receive of that shape has been
// seen, also in the bins of the patterns with ANY for its source, its tag or both; a receive looks
// at one bin. So each step is O(1) amortised, whatever the order, and the eldest match is always
// the one taken (MPI-4.0 section 3.5).
//
// An empty queue owns no memory. The table appears when a search has looked at kShort entries in
// vain, so a long queue that is taken from the front never needs one, and goes when the queue is
// empty again. Thread rule: one thread. Invariants: an entry is in at most one queue; list order is
// arrival order.
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

/// Does a receive with this pattern take that message?
[[gnu::always_inline]] inline bool covers(const Envelope& pattern, const Envelope& message) {
  return pattern.ctx == message.ctx &&
         (pattern.source == message.source || pattern.source == MPI_ANY_SOURCE) &&
         (pattern.tag == message.tag || pattern.tag == MPI_ANY_TAG);
}

/// A search looks at this many entries one by one; one that must go on builds the table.
inline constexpr uint32_t kShort = 24;

struct Bin;
struct BinHook {
  BinHook* next;
  BinHook* prev;
  Bin* bin;
  void* owner;
};

/// Base of what PostedQueue holds.
struct Posted {
  Envelope envelope;
  Posted* next;
  Posted* prev;
  uint64_t order;  ///< while the table exists: smaller was posted earlier
  BinHook hook;
};

/// Base of what UnexpectedQueue holds.
struct Arrived {
  struct Links;
  Envelope envelope;
  Arrived* next;
  Arrived* prev;
  Links* links;  ///< its places in bins while the table exists
};

struct PostedBins;
struct UnexpectedBins;

/// Entries that were looked at in vain in all queues of the process.
[[gnu::visibility("hidden")]] extern uint64_t g_matches_searched;

class PostedQueue {
 public:
  bool empty() const { return list_.empty(); }
  /// Walks the list: for reports and tests.
  uint32_t size() const;
  Posted* front() const { return list_.front(); }

  /// The eldest entry; nullptr when there are none, or a table.
  Posted* first() const { return __builtin_expect(bins_ == nullptr, 1) ? list_.front() : nullptr; }
  /// Removes it. REQUIRES: first() != nullptr.
  void pop_first() { list_.pop_front(); }
  /// push() for an empty queue. REQUIRES: empty().
  void push_only(Posted* p) { list_.push_only(p); }
  void push(Posted* p) {
    list_.push_back(p);
    if (__builtin_expect(bins_ != nullptr, 0)) enter(p);
  }
  /// Removes and returns the eldest receive that takes this message, or nullptr.
  Posted* take(const Envelope& message) {
    if (__builtin_expect(bins_ != nullptr, 0)) return take_slow(message);
    uint32_t looks = 0;
    for (Posted* p = list_.front(); p; p = p->next) {
      if (covers(p->envelope, message)) {
        list_.remove(p);
        return p;
      }
      ++g_matches_searched;
      if (__builtin_expect(++looks > kShort, 0)) return take_slow(message);
    }
    return nullptr;
  }
  void remove(Posted* p) {
    if (__builtin_expect(bins_ != nullptr, 0)) return remove_slow(p);
    list_.remove(p);
  }

 private:
  Posted* take_slow(const Envelope& message);
  void remove_slow(Posted* p);
  void enter(Posted* p);

  List<Posted> list_;
  PostedBins* bins_ = nullptr;
};

class UnexpectedQueue {
 public:
  bool empty() const { return list_.empty(); }
  /// Walks the list, as far as `most` entries.
  uint32_t size(uint32_t most = ~0u) const;
  Arrived* front() const { return list_.front(); }

  void push(Arrived* a) {
    list_.push_back(a);
    if (__builtin_expect(bins_ != nullptr, 0)) enter(a);
  }
  /// The eldest message that this pattern takes, or nullptr. It stays.
  Arrived* find(const Envelope& pattern) {
    if (__builtin_expect(bins_ != nullptr, 0)) return find_slow(pattern);
    uint32_t looks = 0;
    for (Arrived* a = list_.front(); a; a = a->next) {
      if (covers(pattern, a->envelope)) return a;
      ++g_matches_searched;
      if (__builtin_expect(++looks > kShort, 0)) return find_slow(pattern);
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
