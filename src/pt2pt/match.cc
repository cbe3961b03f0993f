#include "pt2pt/match.h"

#include <memory>

#include "base/assert.h"
#include "pt2pt/pool.h"

namespace fgmpi::pt2pt {

/// All entries of one queue with the same envelope, in which wildcards may stand, eldest first.
struct Bin {
  Envelope key;
  Bin* chain = nullptr;
  BinHook* head = nullptr;
  BinHook* tail = nullptr;
};

/// Shapes of a pattern: bit 0: any source, bit 1: any tag.
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

/// The pattern of this shape that covers a message.
Envelope pattern_of(const Envelope& e, int shape) {
  return {e.ctx, shape & 1 ? MPI_ANY_SOURCE : e.source, shape & 2 ? MPI_ANY_TAG : e.tag};
}

uint64_t hash(const Envelope& e) {
  uint64_t h = e.ctx * 0x9e3779b97f4a7c15ull;
  h ^= uint64_t{static_cast<uint32_t>(e.source)} << 32 | static_cast<uint32_t>(e.tag);
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ull;
  return h ^ (h >> 32);
}

/// Envelope -> bin, chained, twice as large whenever it is full.
class BinTable {
 public:
  Bin* find(const Envelope& key) const {
    for (Bin* b = buckets_[hash(key) & mask_]; b; b = b->chain)
      if (b->key == key) return b;
    return nullptr;
  }
  void append(const Envelope& key, BinHook* hook) {
    Bin* bin = find(key);
    if (!bin) bin = add(key);
    hook->bin = bin;
    hook->next = nullptr;
    hook->prev = bin->tail;
    (bin->tail ? bin->tail->next : bin->head) = hook;
    bin->tail = hook;
  }
  void remove(BinHook* hook) {
    Bin* bin = hook->bin;
    (hook->prev ? hook->prev->next : bin->head) = hook->next;
    (hook->next ? hook->next->prev : bin->tail) = hook->prev;
    if (!bin->head) discard(bin);
  }

 private:
  Bin* add(const Envelope& key) {
    if (used_ > mask_) grow();
    ++used_;
    Bin* bin = g_bins.make(Bin{key});
    Bin*& bucket = buckets_[hash(key) & mask_];
    bin->chain = bucket;
    return bucket = bin;
  }
  void discard(Bin* bin) {
    Bin** at = &buckets_[hash(bin->key) & mask_];
    while (*at != bin) at = &(*at)->chain;
    *at = bin->chain;
    --used_;
    g_bins.drop(bin);
  }
  void grow() {
    uint64_t size = (mask_ + 1) * 2;
    auto buckets = std::make_unique<Bin*[]>(size);
    for (uint64_t i = 0; i <= mask_; ++i) {
      for (Bin *b = buckets_[i], *next; b; b = next) {
        next = b->chain;
        Bin*& bucket = buckets[hash(b->key) & (size - 1)];
        b->chain = bucket;
        bucket = b;
      }
    }
    buckets_ = std::move(buckets);
    mask_ = size - 1;
  }

  uint64_t mask_ = 63;
  uint64_t used_ = 0;
  std::unique_ptr<Bin*[]> buckets_ = std::make_unique<Bin*[]>(64);
};

template <class Entry>
uint32_t length(const Entry* head, uint32_t most) {
  uint32_t n = 0;
  for (; head && n < most; head = head->next) ++n;
  return n;
}

}  // namespace

uint32_t PostedQueue::size() const { return length(head_, ~0u); }
uint32_t UnexpectedQueue::size(uint32_t most) const { return length(head_, most); }

bool trim_matching() {
  const bool more = g_bins.trim();
  return g_links.trim() || more;
}

// ---- Posted receives ---------------------------------------------------------------------------

struct PostedBins {
  BinTable table;
  uint64_t next_order = 0;
  uint32_t of_shape[kShapes] = {};
};

void PostedQueue::enter(Posted* p) {
  p->order = bins_->next_order++;
  p->hook.owner = p;
  ++bins_->of_shape[shape_of(p->envelope)];
  bins_->table.append(p->envelope, &p->hook);
}

void PostedQueue::remove_slow(Posted* p) {
  --bins_->of_shape[shape_of(p->envelope)];
  bins_->table.remove(&p->hook);
  unlink(p);
  if (!head_) {
    delete bins_;
    bins_ = nullptr;
  }
}

Posted* PostedQueue::take_slow(const Envelope& message) {
  if (!bins_) {
    bins_ = new PostedBins;
    for (Posted* each = head_; each; each = each->next) enter(each);
  }
  Posted* eldest = nullptr;
  for (int shape = 0; shape < kShapes; ++shape) {
    if (bins_->of_shape[shape] == 0) continue;
    Bin* bin = bins_->table.find(pattern_of(message, shape));
    if (!bin) continue;
    Posted* p = static_cast<Posted*>(bin->head->owner);
    if (!eldest || p->order < eldest->order) eldest = p;
  }
  if (eldest) remove_slow(eldest);
  return eldest;
}

// ---- Unexpected messages ---------------------------------------------------------------------

struct UnexpectedBins {
  BinTable table;
  bool kept[kShapes] = {true, false, false, false};  ///< shapes whose bins are kept up
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
  unlink(a);
  if (!head_) {
    delete bins_;
    bins_ = nullptr;
  }
}

Arrived* UnexpectedQueue::find_slow(const Envelope& pattern) {
  if (!bins_) {
    bins_ = new UnexpectedBins;
    for (Arrived* each = head_; each; each = each->next) enter(each);
  }
  int shape = shape_of(pattern);
  if (!bins_->kept[shape]) {  // once for each shape as long as the table lives
    bins_->kept[shape] = true;
    for (Arrived* each = head_; each; each = each->next) enter(each, shape);
  }
  Bin* bin = bins_->table.find(pattern);
  return bin ? static_cast<Arrived*>(bin->head->owner) : nullptr;
}

}  // namespace fgmpi::pt2pt
