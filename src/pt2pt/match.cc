// The bins and lists of posted receives and unexpected messages, beyond the short paths
// in the header.

#include "pt2pt/match.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "pt2pt/pool.h"

namespace fgmpi::pt2pt {

uint64_t g_matches_searched = 0;

/// All entries of one queue with the same envelope, which may contain wildcards; eldest first.
struct Bin : HashTableHook {
  explicit Bin(const Envelope& its_key) : key(its_key) {}
  const Envelope key;
  List<BinHook> entries;
};

/// Shapes of a pattern. Bit 0: any source; bit 1: any tag.
constexpr int kShapes = 4;

struct Arrived::Links {
  BinHook hooks[kShapes];
};

namespace {

Pool<Bin> g_bins;
Pool<Arrived::Links> g_links;

int shape_of(const Envelope& e) {
  return (e.source == MPI_ANY_SOURCE ? 1 : 0) | (e.tag == MPI_ANY_TAG ? 2 : 0);
}

/// The pattern of this shape that covers the message.
Envelope pattern_of(const Envelope& e, int shape) {
  return {e.ctx, shape & 1 ? MPI_ANY_SOURCE : e.source, shape & 2 ? MPI_ANY_TAG : e.tag};
}

struct BinByEnvelope {
  static const Envelope& key(const Bin& bin) { return bin.key; }
  static uint64_t hash(const Envelope& e) {
    return mix(e.ctx,
               uint64_t{static_cast<uint32_t>(e.source)} << 32 | static_cast<uint32_t>(e.tag));
  }
};

/// The table from envelopes to bins. A bin exists while it has entries.
class BinTable {
 public:
  Bin* find(const Envelope& key) { return bins_.find(key); }
  void append(const Envelope& key, BinHook* hook) {
    Bin* bin = find(key);
    if (!bin) {
      bin = g_bins.make(key);
      bins_.insert(bin);
    }
    hook->bin = bin;
    bin->entries.push_back(hook);
  }
  void remove(BinHook* hook) {
    Bin* bin = hook->bin;
    bin->entries.remove(hook);
    if (!bin->entries.empty()) return;
    bins_.erase(bin);
    g_bins.drop(bin);
  }

 private:
  HashTable<Bin, BinByEnvelope> bins_;
};

template <class Entry>
uint32_t length(const Entry* head, uint32_t most) {
  uint32_t n = 0;
  for (; head && n < most; head = head->next) ++n;
  return n;
}

}  // namespace

uint32_t PostedQueue::size() const { return length(list_.front(), ~0u); }
uint32_t UnexpectedQueue::size(uint32_t most) const { return length(list_.front(), most); }

bool trim_matching() {
  const bool more = g_bins.trim();
  return g_links.trim() || more;
}

// ---- Posted receives ----------------------------------------------------------------------------

struct PostedBins {
  BinTable table;
  uint64_t next_order = 0;
  uint32_t of_shape[kShapes] = {};
};

void PostedQueue::enter(PostedReceive* p) {
  p->order = bins_->next_order++;
  p->hook.owner = p;
  ++bins_->of_shape[shape_of(p->envelope)];
  bins_->table.append(p->envelope, &p->hook);
}

void PostedQueue::remove_slow(PostedReceive* p) {
  --bins_->of_shape[shape_of(p->envelope)];
  bins_->table.remove(&p->hook);
  list_.remove(p);
  if (list_.empty()) {
    delete bins_;
    bins_ = nullptr;
  }
}

PostedReceive* PostedQueue::match_slow(const Envelope& message) {
  if (!bins_) {
    bins_ = new PostedBins;
    for (PostedReceive* each = list_.front(); each; each = each->next) enter(each);
  }
  PostedReceive* eldest = nullptr;
  for (int shape = 0; shape < kShapes; ++shape) {
    if (bins_->of_shape[shape] == 0) continue;
    Bin* bin = bins_->table.find(pattern_of(message, shape));
    if (!bin) continue;
    PostedReceive* p = static_cast<PostedReceive*>(bin->entries.front()->owner);
    if (eldest) ++g_matches_searched;
    if (!eldest || p->order < eldest->order) eldest = p;
  }
  if (eldest) remove_slow(eldest);
  return eldest;
}

// ---- Unexpected messages ------------------------------------------------------------------------

struct UnexpectedBins {
  BinTable table;
  bool kept[kShapes] = {true, false, false, false};  ///< shapes whose bins are maintained
};

void UnexpectedQueue::enter(Arrived* a, int shape) {
  BinHook* hook = &a->links->hooks[shape];
  hook->owner = a;
  bins_->table.append(pattern_of(a->envelope, shape), hook);
}

void UnexpectedQueue::enter(Arrived* a) {
  a->links = static_cast<Arrived::Links*>(g_links.take());
  for (int shape = 0; shape < kShapes; ++shape)
    if (bins_->kept[shape]) enter(a, shape);
}

void UnexpectedQueue::remove_slow(Arrived* a) {
  for (int shape = 0; shape < kShapes; ++shape)
    if (bins_->kept[shape]) bins_->table.remove(&a->links->hooks[shape]);
  g_links.give(a->links);
  list_.remove(a);
  if (list_.empty()) {
    delete bins_;
    bins_ = nullptr;
  }
}

Arrived* UnexpectedQueue::find_slow(const Envelope& pattern) {
  if (!bins_) {
    bins_ = new UnexpectedBins;
    for (Arrived* each = list_.front(); each; each = each->next) enter(each);
  }
  int shape = shape_of(pattern);
  if (!bins_->kept[shape]) {  // once for each shape while the table lives
    bins_->kept[shape] = true;
    for (Arrived* each = list_.front(); each; each = each->next) enter(each, shape);
  }
  Bin* bin = bins_->table.find(pattern);
  return bin ? static_cast<Arrived*>(bin->entries.front()->owner) : nullptr;
}

}  // namespace fgmpi::pt2pt
