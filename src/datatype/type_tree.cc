// Building type trees, and the cursor that walks one.

#include "datatype/type_tree.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace fgmpi::datatype {
namespace {

std::shared_ptr<TypeNode> make_node(TypeNode::Kind kind) {
  auto node = std::make_shared<TypeNode>();
  node->kind = kind;
  return node;
}

/// Adds the runs of a part to a list; returns false when the part is a loop or a list of parts.
bool add_runs(const TypePart& part, std::vector<TypeRun>* out) {
  const TypeNode& node = *part.node;
  if (node.kind == TypeNode::kList || node.kind == TypeNode::kLoop) return false;
  auto add = [&](int64_t offset, int64_t bytes) {
    if (!out->empty() && out->back().offset + out->back().bytes == offset)
      out->back().bytes += bytes;
    else
      out->push_back({offset, bytes});
  };
  for_each_run(part, 0, add);
  return true;
}

/// True for runs that are equal and evenly spaced, which become a loop.
bool evenly_spaced(const std::vector<TypeRun>& runs) {
  const int64_t stride = runs[1].offset - runs[0].offset;
  for (size_t i = 1; i < runs.size(); ++i)
    if (runs[i].bytes != runs[0].bytes || runs[i].offset - runs[i - 1].offset != stride)
      return false;
  return true;
}

/// Updates a node for rows that follow, the first at `first`, the last at `last`. REQUIRES:
/// `starts` lists what was before them.
void append_row(TypeNode* node, int64_t first, int64_t last) {
  if (node->starts.empty())
    node->first = first;
  else
    node->descends |= first < node->last;
  node->last = last;
}

TypePart of_runs(std::vector<TypeRun> runs) {
  if (runs.size() == 1) return make_run(runs[0].offset, runs[0].bytes);
  if (evenly_spaced(runs))
    return make_loop(make_run(runs[0].offset, runs[0].bytes), static_cast<int64_t>(runs.size()),
                     runs[1].offset - runs[0].offset);
  auto node = make_node(TypeNode::kRuns);
  node->low = std::numeric_limits<int64_t>::max();
  node->high = std::numeric_limits<int64_t>::min();
  for (const TypeRun& run : runs) {
    node->ascends &= node->starts.empty() || run.offset >= node->high;
    append_row(node.get(), run.offset, run.offset);
    node->starts.push_back(node->size);
    node->size += run.bytes;
    node->low = std::min(node->low, run.offset);
    node->high = std::max(node->high, run.offset + run.bytes);
  }
  runs.shrink_to_fit();
  node->starts.shrink_to_fit();
  node->runs = std::move(runs);
  return {0, node};
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

TypePart make_list(const std::vector<TypePart>& parts) {
  std::vector<TypePart> kept;
  bool flat = true;
  std::vector<TypeRun> runs;
  for (const TypePart& part : parts) {
    if (!part.node) continue;
    kept.push_back(part);
    flat = flat && add_runs(part, &runs);
  }
  if (kept.empty()) return {};
  if (kept.size() == 1) return kept[0];
  if (flat) return of_runs(std::move(runs));
  auto node = make_node(TypeNode::kList);
  node->low = std::numeric_limits<int64_t>::max();
  node->high = std::numeric_limits<int64_t>::min();
  for (const TypePart& part : kept) {
    node->ascends &=
        part.node->ascends && (node->starts.empty() || part.offset + part.node->low >= node->high);
    node->descends |= part.node->descends;
    append_row(node.get(), part.offset + part.node->first, part.offset + part.node->last);
    node->starts.push_back(node->size);
    node->size += part.node->size;
    node->low = std::min(node->low, part.offset + part.node->low);
    node->high = std::max(node->high, part.offset + part.node->high);
  }
  node->parts = std::move(kept);
  return {0, node};
}

// ---- Memory -------------------------------------------------------------------------------------

namespace {

size_t memory_of(const TypeNode* node) {
  if (!node) return 0;
  size_t bytes = sizeof *node + node->runs.capacity() * sizeof(TypeRun) +
                 node->parts.capacity() * sizeof(TypePart) +
                 node->starts.capacity() * sizeof(int64_t) + memory_of(node->body.get());
  for (const TypePart& part : node->parts) bytes += memory_of(part.node.get());
  return bytes;
}

}  // namespace

size_t TypeTree::memory() const { return sizeof *this + memory_of(root.node.get()); }

// ---- The walk -----------------------------------------------------------------------------------

void TypeCursor::descend(const TypeNode* node, int64_t at, int64_t rest) {
  for (;;) {
    int64_t index = 0;
    switch (node->kind) {
      case TypeNode::kRun:
        row_ = {at + rest, node->size - rest};
        return;
      case TypeNode::kLoop:
        index = rest / node->body->size;
        frames_.push_back({node, at, index});
        rest -= index * node->body->size;
        at += index * node->stride;
        node = node->body.get();
        break;
      default: {
        if (rest > 0)
          index = std::upper_bound(node->starts.begin(), node->starts.end(), rest) -
                  node->starts.begin() - 1;
        const auto i = static_cast<size_t>(index);
        frames_.push_back({node, at, index});
        rest -= node->starts[i];
        if (node->kind == TypeNode::kRuns) {
          row_ = {at + node->runs[i].offset + rest, node->runs[i].bytes - rest};
          return;
        }
        at += node->parts[i].offset;
        node = node->parts[i].node.get();
      }
    }
  }
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
    ++f.index;
    const auto i = static_cast<size_t>(f.index);
    switch (f.node->kind) {
      case TypeNode::kLoop:
        if (f.index < f.node->count)
          return descend(f.node->body.get(), f.at + f.index * f.node->stride, 0);
        break;
      case TypeNode::kRuns:
        if (i < f.node->runs.size()) {
          row_ = {f.at + f.node->runs[i].offset, f.node->runs[i].bytes};
          return;
        }
        break;
      default:
        if (i < f.node->parts.size())
          return descend(f.node->parts[i].node.get(), f.at + f.node->parts[i].offset, 0);
        break;
    }
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

// ---- The cache of trees -------------------------------------------------------------------------

namespace {

/// A cached tree. The entry holds the type, so that its handle cannot become another type's while
/// the entry exists.
struct CachedTree {
  Type type;
  TypeTreePtr tree;
};
constexpr size_t kMostCached = 256;

}  // namespace

Status cached_tree_of(const Type& type, TypeTreePtr* out) {
  static auto* cache = new std::unordered_map<MPI_Datatype, CachedTree>;
  const MPI_Datatype handle = type.handle();
  // An entry whose type the user has freed has another host handle now; then the user's handle
  // belongs to a new type.
  if (auto found = cache->find(handle); found != cache->end()) {
    if (found->second.type.host_handle() == handle) {
      *out = found->second.tree;
      return {};
    }
    cache->erase(found);
  }
  auto tree = std::make_shared<TypeTree>();
  FGMPI_TRY(tree_of(type, tree.get()));
  if (cache->size() >= kMostCached) cache->clear();
  cache->emplace(handle, CachedTree{type, tree});
  *out = tree;
  return {};
}

}  // namespace fgmpi::datatype
