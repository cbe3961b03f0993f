// Building type trees, and the cursor that walks one.

#include "datatype/type_tree.h"

#include <algorithm>
#include <limits>
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
}

TypeNode run_node(int64_t bytes) {
  TypeNode node;
  node.size = node.high = bytes;
  return node;
}

/// True for offsets at equal distances.
bool evenly_spaced(const std::vector<int64_t>& offsets) {
  const int64_t stride = offsets[1] - offsets[0];
  for (size_t i = 2; i < offsets.size(); ++i)
    if (offsets[i] - offsets[i - 1] != stride) return false;
  return true;
}

/// Adds the runs of a part to a list; returns false when the part is more than a list of runs.
bool add_runs(const TypePart& part, std::vector<TypeRun>* out) {
  const TypeNode& node = *part.node;
  const bool of_runs = node.kind == TypeNode::kRun || node.kind == TypeNode::kRuns ||
                       (node.kind == TypeNode::kPlaces && node.body->kind == TypeNode::kRun);
  if (of_runs)
    for_each_run(part, 0, [&](int64_t offset, int64_t bytes) { out->push_back({offset, bytes}); });
  return of_runs;
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
  for (const TypeRun& run : runs) {
    append_rows(node.get(), run.offset, run_node(run.bytes));
    ends.push_back(node->size);
  }
  auto lists = std::make_unique<TypeNodeLists>();
  lists->offsets = NumberList(offsets);
  lists->ends = NumberList(ends);
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

// ---- Memory -------------------------------------------------------------------------------------

namespace {

size_t memory_of(const TypeNode* node) {
  if (!node) return 0;
  size_t bytes = sizeof *node + memory_of(node->body.get());
  if (!node->lists) return bytes;
  const TypeNodeLists& lists = *node->lists;
  bytes += sizeof lists + lists.offsets.heap_bytes() + lists.ends.heap_bytes() +
           lists.parts.capacity() * sizeof(TypePart) + lists.starts.capacity() * sizeof(int64_t);
  for (const TypePart& part : lists.parts) bytes += memory_of(part.node.get());
  return bytes;
}

}  // namespace

size_t TypeTree::memory() const { return sizeof *this + memory_of(root.node.get()); }

// ---- The walk -----------------------------------------------------------------------------------

namespace {

/// The round, place, run or part in which byte number `rest` of the node's data is.
int64_t index_of(const TypeNode& node, int64_t rest) {
  switch (node.kind) {
    case TypeNode::kLoop:
    case TypeNode::kPlaces:
      return rest / node.body->size;
    case TypeNode::kRuns: {
      int64_t low = 0, high = node.count;  // the first run that ends behind the byte
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (node.lists->ends[static_cast<uint64_t>(middle)] <= rest)
          low = middle + 1;
        else
          high = middle;
      }
      return low;
    }
    case TypeNode::kList: {
      const auto& starts = node.lists->starts;
      return std::upper_bound(starts.begin(), starts.end(), rest) - starts.begin() - 1;
    }
    default:
      return 0;
  }
}

}  // namespace

void TypeCursor::enter(const TypeNode* node, int64_t at, int64_t index, int64_t rest) {
  const auto i = static_cast<size_t>(index);
  switch (node->kind) {
    case TypeNode::kLoop:
      return descend(node->body.get(), at + index * node->stride, rest);
    case TypeNode::kPlaces:
      return descend(node->body.get(), at + node->lists->offsets[i], rest);
    case TypeNode::kRuns: {
      const TypeRun run = node->run(index);
      row_ = {at + run.offset + rest, run.bytes - rest};
      return;
    }
    default: {
      const TypePart& part = node->lists->parts[i];
      return descend(part.node.get(), at + part.offset, rest);
    }
  }
}

void TypeCursor::descend(const TypeNode* node, int64_t at, int64_t rest) {
  if (node->kind == TypeNode::kRun) {
    row_ = {at + rest, node->size - rest};
    return;
  }
  const int64_t index = rest > 0 ? index_of(*node, rest) : 0;
  frames_.push_back({node, at, index});
  if (rest > 0) {
    if (node->kind == TypeNode::kRuns)
      rest -= node->run_start(index);
    else if (node->kind == TypeNode::kList)
      rest -= node->lists->starts[static_cast<size_t>(index)];
    else
      rest -= index * node->body->size;
  }
  enter(node, at, index, rest);
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
    if (++f.index < f.node->count) return enter(f.node, f.at, f.index, 0);
    frames_.pop_back();
  }
  ++element_;
  descend(tree_->root.node.get(), element_ * tree_->extent + tree_->root.offset, 0);
}

TypeRun TypeCursor::next(int64_t most) {
  if (tree_->contiguous()) {
    const TypeRun run{tree_->root.offset + position_, most};
    position_ += most;
    row_ = {tree_->root.offset + position_, tree_->size};
    return run;
  }
  const TypeRun run{row_.offset, std::min(most, row_.bytes)};
  position_ += run.bytes;
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
