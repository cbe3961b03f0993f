// Building type trees, and the cursor that walks one.

#include "datatype/type_tree.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

namespace fgmpi::datatype {
namespace {

std::shared_ptr<TypeNode> make_node(TypeNode::Kind kind) {
  auto node = std::make_shared<TypeNode>();
  node->kind = kind;
  return node;
}

/// Begins the bounds of a node whose rows follow by append_rows().
void begin_bounds(TypeNode* node) {
  node->low = std::numeric_limits<int64_t>::max();
  node->high = std::numeric_limits<int64_t>::min();
  node->count = 0;
}
/// Updates a node for a body that follows at `offset`.
void append_rows(TypeNode* node, int64_t offset, const TypeNode& body) {
  const bool is_first = node->count++ == 0;
  node->ascends &= body.ascends && (is_first || offset + body.low >= node->high);
  node->descends |= body.descends || (!is_first && offset + body.first < node->last);
  if (is_first) node->first = offset + body.first;
  node->last = offset + body.last;
  node->low = std::min(node->low, offset + body.low);
  node->high = std::max(node->high, offset + body.high);
  node->size += body.size;
  node->height = std::max(node->height, body.height + 1);
}

/// True for offsets at equal distances.
bool evenly_spaced(const std::vector<int64_t>& offsets) {
  const int64_t stride = offsets[1] - offsets[0];
  for (size_t i = 2; i < offsets.size(); ++i)
    if (offsets[i] - offsets[i - 1] != stride) return false;
  return true;
}

/// Adds the runs of a part to a list; returns false when the part is more than a list of runs, or a
/// long one: types that are nested, each with a run more than the one before, would together take
/// the square of their number.
bool add_runs(const TypePart& part, std::vector<TypeRun>* out) {
  constexpr int64_t kMost = 1024;
  const TypeNode& node = *part.node;
  if (node.count > kMost) return false;
  const auto add = [&](int64_t offset, int64_t bytes) {
    out->push_back({part.offset + offset, bytes});
  };
  if (node.kind == TypeNode::kRun) {
    add(0, node.size);
    return true;
  }
  if (node.kind == TypeNode::kRuns) {
    for_each_listed_run(node, add);
    return true;
  }
  if (node.kind != TypeNode::kPlaces || node.body->kind != TypeNode::kRun) return false;
  node.lists->offsets.for_each([&](int64_t offset) { add(offset, node.body->size); });
  return true;
}

/// Joins runs that touch.
void join(std::vector<TypeRun>* runs) {
  size_t kept = 0;
  for (const TypeRun& run : *runs) {
    if (run.bytes == 0) continue;
    if (kept > 0 && (*runs)[kept - 1].offset + (*runs)[kept - 1].bytes == run.offset)
      (*runs)[kept - 1].bytes += run.bytes;
    else
      (*runs)[kept++] = run;
  }
  runs->resize(kept);
}

/// The words of few runs, where they are not more than two a run on average: then they take no more
/// memory than the runs. Else nullptr.
std::unique_ptr<const RunWords> words_of(const std::vector<TypeRun>& runs, int64_t bytes) {
  const auto consist_of = [&](int32_t word) {
    return std::all_of(runs.begin(), runs.end(),
                       [&](const TypeRun& run) { return run.bytes % word == 0; });
  };
  const int32_t word = consist_of(8) ? 8 : consist_of(4) ? 4 : 0;
  if (word == 0 || bytes / word > 2 * static_cast<int64_t>(runs.size())) return nullptr;
  auto words = std::make_unique<RunWords>();
  words->bytes = word;
  words->offsets.reserve(static_cast<size_t>(bytes / word));
  for (const TypeRun& run : runs)
    for (int64_t at = 0; at < run.bytes; at += word)
      words->offsets.push_back(static_cast<int32_t>(run.offset + at));
  return words;
}

}  // namespace

TypePart make_run(int64_t offset, int64_t bytes) {
  if (bytes == 0) return {};
  auto node = make_node(TypeNode::kRun);
  node->size = node->high = bytes;
  return {offset, node};
}

TypePart make_loop(const TypePart& part, int64_t count, int64_t stride) {
  if (count <= 0 || !part.node) return {};
  const TypeNode& body = *part.node;
  if (count == 1) return part;
  if (body.kind == TypeNode::kRun && body.size == stride)
    return make_run(part.offset, count * stride);
  if (body.kind == TypeNode::kLoop && stride == body.count * body.stride)
    return make_loop({part.offset, body.body}, count * body.count, body.stride);
  auto node = make_node(TypeNode::kLoop);
  node->count = count;
  node->stride = stride;
  node->body = part.node;
  node->size = count * body.size;
  const int64_t last = (count - 1) * stride;
  node->low = body.low + std::min<int64_t>(last, 0);
  node->high = body.high + std::max<int64_t>(last, 0);
  node->ascends = body.ascends && stride >= body.high - body.low;
  node->descends = body.descends || stride + body.first < body.last;
  node->first = body.first;
  node->last = body.last + last;
  node->height = body.height + 1;
  return {part.offset, node};
}

TypePart make_places(const TypePart& part, const std::vector<int64_t>& offsets) {
  if (!part.node || offsets.empty()) return {};
  if (offsets.size() == 1) return {part.offset + offsets[0], part.node};
  if (evenly_spaced(offsets))
    return make_loop({part.offset + offsets[0], part.node}, static_cast<int64_t>(offsets.size()),
                     offsets[1] - offsets[0]);
  auto node = make_node(TypeNode::kPlaces);
  begin_bounds(node.get());
  for (const int64_t offset : offsets) append_rows(node.get(), offset, *part.node);
  node->body = part.node;
  auto lists = std::make_unique<TypeNodeLists>();
  lists->offsets = NumberList(offsets);
  node->lists = std::move(lists);
  return {part.offset, node};
}

TypePart make_runs(std::vector<TypeRun> runs) {
  join(&runs);
  if (runs.empty()) return {};
  std::vector<int64_t> offsets;
  for (const TypeRun& run : runs) offsets.push_back(run.offset);
  const bool equal = std::all_of(runs.begin(), runs.end(),
                                 [&](const TypeRun& run) { return run.bytes == runs[0].bytes; });
  if (equal) return make_places(make_run(0, runs[0].bytes), offsets);
  auto node = make_node(TypeNode::kRuns);
  begin_bounds(node.get());
  std::vector<int64_t> ends;
  TypeNode one;
  one.height = 0;
  for (const TypeRun& run : runs) {
    one.size = one.high = run.bytes;
    append_rows(node.get(), run.offset, one);
    ends.push_back(node->size);
  }
  auto lists = std::make_unique<TypeNodeLists>();
  if (runs.size() <= TypeNodeLists::kMostFew && fits_32_bits(node->size) &&
      fits_32_bits(node->low) && fits_32_bits(node->high)) {
    for (size_t i = 0; i < runs.size(); ++i)
      lists->few.push_back({static_cast<int32_t>(offsets[i]), static_cast<int32_t>(ends[i])});
    lists->few.shrink_to_fit();
    lists->words = words_of(runs, node->size);
  } else {
    lists->offsets = NumberList(offsets);
    lists->ends = NumberList(ends);
  }
  node->lists = std::move(lists);
  return {0, node};
}

TypePart make_list(const std::vector<TypePart>& parts) {
  std::vector<TypePart> kept;
  bool flat = true, same = true;
  std::vector<TypeRun> runs;
  for (const TypePart& part : parts) {
    if (!part.node) continue;
    kept.push_back(part);
    flat = flat && add_runs(part, &runs);
    same = same && part.node == kept[0].node;
  }
  if (kept.empty()) return {};
  if (kept.size() == 1) return kept[0];
  if (flat) return make_runs(std::move(runs));
  if (same) {
    std::vector<int64_t> offsets;
    for (const TypePart& part : kept) offsets.push_back(part.offset);
    return make_places({0, kept[0].node}, offsets);
  }
  auto node = make_node(TypeNode::kList);
  auto lists = std::make_unique<TypeNodeLists>();
  begin_bounds(node.get());
  for (const TypePart& part : kept) {
    lists->starts.push_back(node->size);
    append_rows(node.get(), part.offset, *part.node);
  }
  lists->parts = std::move(kept);
  node->lists = std::move(lists);
  return {0, node};
}

TypeNode::~TypeNode() {
  // The nodes below are deleted here, not one within another: that could need more stack than a
  // proclet has.
  static auto* unused = new std::vector<TypeNodePtr>;
  static bool deleting = false;
  if (body) unused->push_back(std::move(body));
  if (lists)
    for (TypePart& part : lists->parts) unused->push_back(std::move(part.node));
  if (deleting) return;
  deleting = true;
  while (!unused->empty()) {
    const TypeNodePtr last = std::move(unused->back());
    unused->pop_back();
  }
  deleting = false;
}

// ---- All nodes ----------------------------------------------------------------------------------

namespace {

/// Calls f(node) once for each node of a tree.
template <class F>
void for_each_node(const TypeTree& tree, F&& f) {
  std::unordered_set<const TypeNode*> seen;
  std::vector<const TypeNode*> left;
  const auto add = [&](const TypeNodePtr& node) {
    if (node && seen.insert(node.get()).second) left.push_back(node.get());
  };
  add(tree.root.node);
  while (!left.empty()) {
    const TypeNode& node = *left.back();
    left.pop_back();
    f(node);
    add(node.body);
    if (!node.lists) continue;
    for (const TypePart& part : node.lists->parts) add(part.node);
  }
}

int64_t size_of_contents(const TypeNode& node) {
  int64_t bytes = 0;
  switch (node.kind) {
    case TypeNode::kRun:
      return node.high - node.low;
    case TypeNode::kLoop:
    case TypeNode::kPlaces:
      return node.count * node.body->size;
    case TypeNode::kRuns:
      for_each_listed_run(node, [&](int64_t, int64_t n) { bytes += n; });
      return bytes;
    case TypeNode::kList:
      for (const TypePart& part : node.lists->parts) bytes += part.node->size;
      return bytes;
  }
  return bytes;
}

}  // namespace

size_t TypeTree::memory() const {
  size_t bytes = sizeof *this;
  for_each_node(*this, [&](const TypeNode& node) {
    bytes += sizeof node;
    if (!node.lists) return;
    const TypeNodeLists& lists = *node.lists;
    bytes += sizeof lists + lists.few.capacity() * sizeof(FewRun) + lists.offsets.heap_bytes() +
             lists.ends.heap_bytes() + lists.parts.capacity() * sizeof(TypePart) +
             lists.starts.capacity() * sizeof(int64_t);
    if (lists.words)
      bytes += sizeof *lists.words + lists.words->offsets.capacity() * sizeof(int32_t);
  });
  return bytes;
}

bool TypeTree::validate() const {
  bool good = size == (root.node ? root.node->size : 0);
  for_each_node(*this, [&](const TypeNode& node) { good &= node.size == size_of_contents(node); });
  return good;
}

// ---- The walk -----------------------------------------------------------------------------------

int64_t TypeNode::index_of(int64_t byte) const {
  switch (kind) {
    case TypeNode::kLoop:
    case TypeNode::kPlaces:
      return byte / body->size;
    case TypeNode::kRuns: {
      int64_t low = 0, high = count;  // the first run that ends behind the byte
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (run_end(middle) <= byte)
          low = middle + 1;
        else
          high = middle;
      }
      return low;
    }
    case TypeNode::kList: {
      const auto& starts = lists->starts;
      return std::upper_bound(starts.begin(), starts.end(), byte) - starts.begin() - 1;
    }
    default:
      return 0;
  }
}

namespace {

/// What a node's round, place or part number `index` is.
struct InnerNode {
  const TypeNode* node;
  int64_t offset;
};
InnerNode inner_node(const TypeNode& node, int64_t index) {
  const auto i = static_cast<size_t>(index);
  if (node.kind == TypeNode::kLoop) return {node.body.get(), index * node.stride};
  if (node.kind == TypeNode::kPlaces) return {node.body.get(), node.lists->offsets[i]};
  const TypePart& part = node.lists->parts[i];
  return {part.node.get(), part.offset};
}

/// The bytes of data of a node before its round, place, run or part number `index`.
int64_t bytes_before(const TypeNode& node, int64_t index) {
  if (node.kind == TypeNode::kRuns) return node.run_start(index);
  if (node.kind == TypeNode::kList) return node.lists->starts[static_cast<size_t>(index)];
  return index * node.body->size;
}

}  // namespace

void TypeCursor::descend(const TypeNode* node, int64_t at, int64_t rest) {
  while (node->kind != TypeNode::kRun) {
    const int64_t index = rest > 0 ? node->index_of(rest) : 0;
    if (rest > 0) rest -= bytes_before(*node, index);
    frames_.push_back({node, at, index});
    if (node->kind == TypeNode::kRuns) {
      const TypeRun run = node->run(index);
      row_ = {at + run.offset + rest, run.bytes - rest};
      return;
    }
    const InnerNode inner = inner_node(*node, index);
    node = inner.node;
    at += inner.offset;
  }
  row_ = {at + rest, node->size - rest};
}

void TypeCursor::seek(int64_t position) {
  frames_.clear();
  position_ = position;
  element_ = position / tree_->size;
  descend(tree_->root.node.get(), element_ * tree_->extent + tree_->root.offset,
          position % tree_->size);
}

void TypeCursor::advance() {
  while (!frames_.empty()) {
    WalkFrame& f = frames_.back();
    if (++f.index == f.node->count) {
      frames_.pop_back();
      continue;
    }
    if (f.node->kind == TypeNode::kLoop && f.node->body->kind == TypeNode::kRun) {
      row_ = {f.at + f.index * f.node->stride, f.node->body->size};
      return;
    }
    if (f.node->kind == TypeNode::kRuns) {
      const TypeRun run = f.node->run(f.index);
      row_ = {f.at + run.offset, run.bytes};
      return;
    }
    const InnerNode inner = inner_node(*f.node, f.index);
    return descend(inner.node, f.at + inner.offset, 0);
  }
  ++element_;
  descend(tree_->root.node.get(), element_ * tree_->extent + tree_->root.offset, 0);
}

TypeRun TypeCursor::next(int64_t most) {
  const TypeRun run = peek(most);
  position_ += run.bytes;
  if (tree_->contiguous()) {
    row_ = {tree_->root.offset + position_, tree_->size};
    return run;
  }
  row_.offset += run.bytes;
  row_.bytes -= run.bytes;
  if (row_.bytes == 0) advance();
  return run;
}

TypeRows TypeCursor::next_rows(int64_t most) {
  // Rows of a loop, from the beginning of one on; else rows of elements that are one run each.
  const bool in_loop = !frames_.empty() && frames_.back().node->kind == TypeNode::kLoop;
  const bool in_elements = frames_.empty() && !tree_->contiguous();
  const int64_t whole = in_loop ? frames_.back().node->body->size : tree_->size;
  if ((!in_loop && !in_elements) || row_.bytes != whole || most < 2 * whole) {
    const TypeRun run = next(most);
    return {run.offset, run.bytes, 0, 1};
  }
  TypeRows rows{row_.offset, whole, tree_->extent, most / whole};
  if (in_loop) {
    WalkFrame& f = frames_.back();
    rows.stride = f.node->stride;
    rows.count = std::min(rows.count, f.node->count - f.index);
    f.index += rows.count - 1;
  } else {
    element_ += rows.count - 1;
  }
  position_ += rows.count * whole;
  advance();
  return rows;
}

}  // namespace fgmpi::datatype
