// The memory of a board, and its tree.

#include "coll/board.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"

namespace fgmpi::coll {
namespace {

/// The most groups of a board of so many processes: each level has at most half as many as the one
/// below, or one.
size_t most_groups(uint32_t processes) { return size_t{2} * processes; }

/// Divides [first, past) into ranges of nearly equal sizes of at most kFan.
template <class F>
void divide(uint32_t first, uint32_t past, F&& range) {
  const uint32_t n = past - first, parts = (n + BoardTree::kFan - 1) / BoardTree::kFan;
  for (uint32_t i = 0; i < parts; ++i) {
    const uint32_t begin = first + n * i / parts, end = first + n * (i + 1) / parts;
    range(begin, end - begin);
  }
}

/// Divides [first, past) as divide() does, with ranges that lie where is_near(i, i + 1) is true for
/// neighbours, unless these are more than half as many as the members.
template <class Near, class F>
void divide_by(uint32_t first, uint32_t past, Near&& is_near, F&& range) {
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  for (uint32_t begin = first, i = first; i < past; ++i) {
    if (i + 1 < past && is_near(i, i + 1)) continue;
    divide(begin, i + 1, [&](uint32_t at, uint32_t size) { ranges.emplace_back(at, size); });
    begin = i + 1;
  }
  if (ranges.size() * 2 > past - first + 1) return divide(first, past, range);
  for (const auto& [at, size] : ranges) range(at, size);
}

}  // namespace

BoardTree::BoardTree(std::span<const BoardPlace> places) : order(places.size()) {
  std::iota(order.begin(), order.end(), 0u);
  const auto place = [&](uint32_t i) { return std::pair(places[i].numa, places[i].cache); };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  std::vector<int32_t> numa;  // of each group: that of its first process
  divide_by(
      0, static_cast<uint32_t>(order.size()),
      [&](uint32_t a, uint32_t b) { return place(order[a]) == place(order[b]); },
      [&](uint32_t first, uint32_t size) {
        groups.push_back({first, size});
        numa.push_back(places[order[first]].numa);
      });
  leaves = static_cast<uint32_t>(groups.size());
  for (uint32_t begin = 0; groups.size() - begin > 1;) {
    const auto past = static_cast<uint32_t>(groups.size());
    divide_by(
        begin, past, [&](uint32_t a, uint32_t b) { return numa[a] == numa[b]; },
        [&](uint32_t first, uint32_t size) {
          for (uint32_t i = first; i < first + size; ++i)
            groups[i].parent = static_cast<uint32_t>(groups.size());
          groups.push_back({first, size});
          numa.push_back(numa[first]);
        });
    begin = past;
  }
}

uint64_t BoardOperation::unit() const {
  return mix(static_cast<uint64_t>(static_cast<uint32_t>(tag)) << 32 | signature) >> 33 << 32 | 2;
}

size_t Board::bytes(uint32_t processes) {
  const size_t groups = most_groups(processes);
  return kLineBytes * (1 + 2 * groups + kSlots + kSlots / kBatch) +
         (processes + groups) * kMostReduced;
}

Board::PostedSlot* Board::slot() const {
  return reinterpret_cast<PostedSlot*>(groups() + most_groups(count())) + broadcasts_ % kSlots;
}

Board::SlotBatch* Board::batch() const {
  PostedSlot* const slots = reinterpret_cast<PostedSlot*>(groups() + most_groups(count()));
  return reinterpret_cast<SlotBatch*>(slots + kSlots) + broadcasts_ % kSlots / kBatch;
}

char* Board::block(uint32_t i) const {
  PostedSlot* const slots = reinterpret_cast<PostedSlot*>(groups() + most_groups(count()));
  return reinterpret_cast<char*>(slots + kSlots + kSlots / kBatch) + i * kMostReduced;
}

Board::Board(void* memory, std::span<const BoardPlace> places, uint32_t me)
    : memory_(static_cast<char*>(memory)), tree_(places), me_(me) {
  const auto place = static_cast<uint32_t>(std::find(tree_.order.begin(), tree_.order.end(), me) -
                                           tree_.order.begin());
  uint32_t group = 0;
  while (place - tree_.groups[group].first >= tree_.groups[group].size) ++group;
  place_ = place - tree_.groups[group].first;
  for (; group != BoardTree::kNone; group = tree_.groups[group].parent)
    path_.push_back({group, tree_.groups[group].size, 0});
}

void Board::post_release(size_t length) {
  const char* const result = group_block(path_.back().group);
  for (uint32_t g = 0; g < tree_.leaves; ++g) {
    ReleaseLine& line = groups()[g].release;
    if (length <= kInLine && length) std::memcpy(line.result, result, length);
    line.woken.store((round_ + 1) << BoardTree::kFan, std::memory_order_relaxed);
    line.round.store(round_ + 1, std::memory_order_release);  // pairs with is_released()
  }
}

/// Claims to be the one that wakes a member for a release; false: another one has, or the release
/// is not the last one.
bool Board::claim_wake(uint32_t group, uint32_t place, uint32_t round) {
  std::atomic<uint32_t>& woken = groups()[group].release.woken;
  uint32_t now = woken.load(std::memory_order_relaxed);
  const uint32_t bit = 1u << place;
  do {
    if ((now ^ round << BoardTree::kFan) >> BoardTree::kFan != 0 || now & bit) return false;
  } while (!woken.compare_exchange_weak(now, now | bit, std::memory_order_relaxed));
  return true;
}

const char* Board::result(size_t length) const {
  return length <= kInLine ? release_line().result : block(count() + path_.back().group);
}

void Board::end_round(const BoardOperation& operation) {
  ++round_;
  for (PathStep& step : path_) step.base += step.size * operation.unit();
}

bool Board::has_slot() {
  if (broadcasts_ % kBatch != 0) return true;
  SlotBatch* const b = batch();
  const auto all = static_cast<uint32_t>(broadcasts_ / kSlots * (count() - 1));
  if (b->taken.load(std::memory_order_acquire) == all) return true;
  // Pairs with take(): a reader sees the wish, or this load the reader's count.
  b->wanted.store(me_ + 1, std::memory_order_seq_cst);
  return b->taken.load(std::memory_order_seq_cst) == all;
}

bool Board::post_data(const BoardOperation& operation, uint32_t root, const char* data,
                      size_t length) {
  PathStep& step = path_.back();
  const uint64_t full = step.base + step.size * operation.unit();
  uint64_t expected = step.base;
  if (!groups()[step.group].word.compare_exchange_strong(expected, full,
                                                         std::memory_order_acq_rel)) {
    close();
    return false;
  }
  if (broadcasts_ % kBatch == 0) batch()->wanted.store(0, std::memory_order_relaxed);
  PostedSlot* const s = slot();
  s->root = root;
  s->tag = operation.tag;
  s->signature = operation.signature;
  if (length) std::memcpy(s->data, data, length);
  s->number.store(static_cast<uint32_t>(broadcasts_ + 1),
                  std::memory_order_release);  // pairs with is_posted()
  step.base = full;
  ++broadcasts_;
  return true;
}

bool Board::is_posted() const {
  return slot()->number.load(std::memory_order_acquire) == static_cast<uint32_t>(broadcasts_ + 1);
}

const char* Board::posted() const { return slot()->data; }

BoardOperation Board::posted_operation() const { return {slot()->tag, slot()->signature}; }

uint32_t Board::posting_root() const { return slot()->root; }

uint32_t Board::take(const BoardOperation& operation) {
  SlotBatch* const b = batch();
  path_.back().base += path_.back().size * operation.unit();
  if (++broadcasts_ % kBatch != 0) return kNobody;
  b->taken.fetch_add(1, std::memory_order_seq_cst);  // pairs with has_slot()
  const uint32_t wanted = b->wanted.load(std::memory_order_seq_cst);
  return wanted == 0 || wanted > count() ? kNobody : wanted - 1;
}

void Board::close() {
  BoardHeader* const h = header();
  if (h->closers.fetch_add(1, std::memory_order_relaxed) > 0) return;
  const uint64_t before =
      groups()[path_.back().group].word.fetch_or(kClosedBit, std::memory_order_acq_rel);
  h->closed_at.store(before, std::memory_order_relaxed);
  for (uint32_t g = 0; g < tree_.leaves; ++g)
    groups()[g].release.closed.store(1, std::memory_order_release);  // pairs with is_closed()
}

bool Board::is_declined(const BoardOperation& operation) const {
  if (!is_closed()) return false;
  const PathStep& root = path_.back();
  const uint64_t at = header()->closed_at.load(std::memory_order_relaxed);
  const uint32_t arrived = arrivals(at, root);
  const bool decided = arrived > root.size || at - root.base == root.size * operation.unit();
  return !decided;
}

uint32_t Board::arrived() const {
  const PathStep& step = path_.front();
  return std::min(arrivals(groups()[step.group].word.load(std::memory_order_relaxed), step),
                  step.size);
}

}  // namespace fgmpi::coll
