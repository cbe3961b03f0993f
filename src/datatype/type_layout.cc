// Trees of datatypes from their contents.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "datatype/derived_type.h"
#include "datatype/type_source.h"

namespace fgmpi::datatype {
namespace {

TypePart moved(TypePart part, int64_t by) {
  part.offset += by;
  return part;
}

// ---- Arrays -------------------------------------------------------------------------------------

/// The indices of an array's dimension that a type has: `count` blocks, `cycle` from one to the
/// next, and then `rest`, less than a block.
struct KeptIndices {
  int64_t first, block, cycle = 0, count = 1, rest = 0;
};

/// The elements of an array whose index in each dimension is one of those that are kept. The first
/// dimension varies slowest (in C's order).
TypePart grid(TypePart one, int64_t order, std::vector<int64_t> sizes,
              std::vector<KeptIndices> kept, int64_t step) {
  if (order == MPI_ORDER_FORTRAN) {
    std::reverse(sizes.begin(), sizes.end());
    std::reverse(kept.begin(), kept.end());
  }
  for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) {
    const KeptIndices& k = kept[d];
    const TypePart blocks = make_loop(make_loop(one, k.block, step), k.count, k.cycle * step);
    const TypePart rest = make_loop(one, k.rest, step);
    const int64_t behind = k.rest > 0 ? (k.first + k.count * k.cycle) * step : 0;
    one = make_list({moved(blocks, k.first * step), moved(rest, behind)});
  }
  return one;
}

TypePart subarray(const TypeContents& c, const TypePart& one, int64_t step) {
  const auto dims = static_cast<uint64_t>(c.integers[0]);
  // With large counts, `counts` has nothing but sizes, subsizes and starts; else these follow the
  // number of dimensions.
  auto value = [&](uint64_t i) { return c.large() ? c.counts[i] : c.integers[1 + i]; };
  std::vector<KeptIndices> kept;
  for (uint64_t d = 0; d < dims; ++d) kept.push_back({value(2 * dims + d), value(dims + d)});
  return grid(one, c.integers[c.integers.size() - 1], array_sizes(c), std::move(kept), step);
}

/// The blocks of process `me` of `processes`, where blocks of `block` elements are distributed
/// cyclically.
KeptIndices dealt(int64_t size, int64_t block, int64_t processes, int64_t me) {
  const int64_t first = me * block, cycle = processes * block, left = size - first;
  if (left <= 0) return {0, 0};
  if (left < block) return {first, block, cycle, 0, left};
  const int64_t more = (left - block) / cycle;  // blocks behind the first one
  return {first, block, cycle, more + 1,
          std::clamp<int64_t>(left - more * cycle - cycle, 0, block)};
}

TypePart darray(const TypeContents& c, const TypePart& one, int64_t step) {
  int64_t below = c.integers[0], rank = c.integers[1];
  const auto dims = static_cast<uint64_t>(c.integers[2]);
  // With large counts, the global sizes are among the counts.
  const uint64_t after = c.large() ? 3 : 3 + dims;
  const std::vector<int64_t> sizes = array_sizes(c);
  std::vector<KeptIndices> kept;
  for (uint64_t d = 0; d < dims; ++d) {
    const int64_t distribution = c.integers[after + d], argument = c.integers[after + dims + d],
                  processes = c.integers[after + 2 * dims + d], n = sizes[d];
    // The grid of processes is in row-major order, whatever the array's order is (MPI-4.0 section
    // 5.1.4).
    below /= processes;
    const int64_t place = rank / below;
    rank %= below;
    if (distribution == MPI_DISTRIBUTE_NONE) {
      kept.push_back({0, n});
      continue;
    }
    const bool given = argument != MPI_DISTRIBUTE_DFLT_DARG;
    int64_t block = given ? argument : 1;
    if (distribution == MPI_DISTRIBUTE_BLOCK && !given) block = (n + processes - 1) / processes;
    kept.push_back(dealt(n, block, processes, place));
  }
  return grid(one, c.integers[c.integers.size() - 1], sizes, std::move(kept), step);
}

// ---- The predefined type of all bytes -----------------------------------------------------------

/// The predefined types that occur: none yet, one, or several.
struct ElementsFound {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool several = false;
  void add(MPI_Datatype other) {
    if (type == MPI_DATATYPE_NULL) type = other;
    several |= type != other;
  }
};

void add_elements(const Type& type, ElementsFound* found) {
  if (type.size() == 0) return;
  if (type.predefined() != MPI_DATATYPE_NULL) return found->add(type.predefined());
  const MPI_Datatype element = type.derived()->tree.element;
  found->several |= element == MPI_DATATYPE_NULL;
  found->add(element);
}

MPI_Datatype element_of(const TypeContents& c) {
  ElementsFound found;
  const bool of_struct = c.combiner == MPI_COMBINER_STRUCT;
  for (size_t i = 0; i < c.types.size() && !found.several; ++i)
    if (!of_struct || c.count(1 + i) > 0) add_elements(c.types[i], &found);
  return found.several ? MPI_DATATYPE_NULL : found.type;
}

}  // namespace

std::vector<int64_t> array_sizes(const TypeContents& c) {
  const bool sub = c.combiner == MPI_COMBINER_SUBARRAY;
  const auto dims = static_cast<uint64_t>(c.integers[sub ? 0 : 2]);
  std::vector<int64_t> sizes;
  for (uint64_t d = 0; d < dims; ++d)
    sizes.push_back(c.large() ? c.counts[d] : c.integers[(sub ? 1 : 3) + d]);
  return sizes;
}

// ---- Inner types --------------------------------------------------------------------------------

namespace {

TypeBounds bounds_of_basic(MPI_Datatype type, int64_t size) {
  // A marker of one bound is an entry without bytes for the other one.
  if (type == MPI_LB) return {{0, TypeBound::kMarked}, {0, TypeBound::kData}};
  if (type == MPI_UB) return {{0, TypeBound::kData}, {0, TypeBound::kMarked}};
  if (size == 0) return {};
  return {{0, TypeBound::kData}, {size, TypeBound::kData}};
}

}  // namespace

TypeSource::PlacedType TypeSource::place(const DerivedType& type) const {
  PlacedType placed;
  if (type.values != MPI_DATATYPE_NULL) {  // of a precision
    const int64_t size = basic_size(type.values);
    return {bounds_of_basic(type.values, size), make_run(0, size)};
  }
  const Status ignored = bounds_of(type.contents, &placed.bounds);  // as in memory, or smaller
  placed.part = part_of(type.contents);
  return placed;
}

const TypeSource::PlacedType& TypeSource::placed(const DerivedType* type) const {
  // What a type is made of is placed before it, so that calls are not nested as types are.
  for (std::vector<const DerivedType*> open{type}; !open.empty();) {
    const DerivedType* in = open.back();
    if (!placed_.count(in)) {
      for (const Type& inner : in->contents.types)
        if (inner.predefined() == MPI_DATATYPE_NULL && !placed_.count(inner.derived()))
          open.push_back(inner.derived());
      if (open.back() != in) continue;
      placed_.emplace(in, place(*in));
    }
    open.pop_back();
  }
  return placed_.at(type);
}

int64_t TypeSource::basic_size(MPI_Datatype type) const {
  const auto found = sizes_->find(type);
  return found == sizes_->end() ? 0 : found->second;
}

TypeBounds TypeSource::bounds(const Type& type) const {
  if (!sizes_ && type.derived()) return type.derived()->bounds;
  if (type.predefined() != MPI_DATATYPE_NULL) return bounds_of_basic(type.predefined(), size(type));
  return placed(type.derived()).bounds;
}

int64_t TypeSource::size(const Type& type) const {
  if (!sizes_) return type.size();
  if (type.predefined() != MPI_DATATYPE_NULL) return basic_size(type.predefined());
  const TypePart& part = placed(type.derived()).part;
  return part.node ? part.node->size : 0;
}

int64_t TypeSource::low(const Type& type) const {
  return !sizes_ && type.derived() ? type.derived()->tree.low() : 0;
}

int64_t TypeSource::high(const Type& type) const {
  return !sizes_ && type.derived() ? type.derived()->tree.high() : size(type);
}

TypePart TypeSource::part(const Type& type) const {
  if (!sizes_ && type.derived()) return type.derived()->tree.root;
  if (type.predefined() != MPI_DATATYPE_NULL) return make_run(0, size(type));
  return placed(type.derived()).part;
}

// ---- Constructors -------------------------------------------------------------------------------

namespace {

/// A product that wraps around. One that matters has 63 bits (type_bounds.cc); others are the
/// offsets of blocks without elements.
int64_t product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

/// Blocks of one type, or of one each, at listed places.
TypePart TypeSource::blocks(const TypeContents& c) const {
  const auto n = static_cast<uint64_t>(c.count(0));
  if (n == 0) return {};
  const bool of_struct = c.combiner == MPI_COMBINER_STRUCT;
  const bool equal =
      c.combiner == MPI_COMBINER_INDEXED_BLOCK || c.combiner == MPI_COMBINER_HINDEXED_BLOCK;
  const bool in_elements =
      c.combiner == MPI_COMBINER_INDEXED || c.combiner == MPI_COMBINER_INDEXED_BLOCK;
  const uint64_t before = equal ? 2 : 1 + n;
  TypePart one = part(c.types[0]);
  int64_t step = bounds(c.types[0]).extent();
  auto offset = [&](uint64_t i) {
    return in_elements ? product(c.count(before + i), step) : c.address(i, before);
  };
  if (equal) {
    const TypePart block = make_loop(one, c.count(1), step);
    if (!block.node) return {};
    std::vector<int64_t> offsets;
    for (uint64_t i = 0; i < n; ++i) offsets.push_back(offset(i));
    if (block.node->kind != TypeNode::kRun) return make_places(block, offsets);
    std::vector<TypeRun> runs;  // which join where they touch
    for (const int64_t at : offsets) runs.push_back({block.offset + at, block.node->size});
    return make_runs(std::move(runs));
  }
  if (!of_struct && one.node && one.node->kind == TypeNode::kRun && one.node->size == step) {
    std::vector<TypeRun> runs;
    for (uint64_t i = 0; i < n; ++i)
      if (c.count(1 + i) > 0) runs.push_back({one.offset + offset(i), c.count(1 + i) * step});
    return make_runs(std::move(runs));
  }
  std::vector<TypePart> parts;
  for (uint64_t i = 0; i < n; ++i) {
    if (c.count(1 + i) == 0) continue;
    if (of_struct) {
      one = part(c.types[i]);
      step = bounds(c.types[i]).extent();
    }
    parts.push_back(moved(make_loop(one, c.count(1 + i), step), offset(i)));
  }
  return make_list(parts);
}

TypePart TypeSource::part_of(const TypeContents& c) const {
  if (c.types.empty()) return {};  // a structure of nothing
  switch (c.combiner) {
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
      return blocks(c);
    default:
      break;
  }
  const TypePart one = part(c.types[0]);
  const int64_t step = bounds(c.types[0]).extent();
  switch (c.combiner) {
    case MPI_COMBINER_CONTIGUOUS:
      return make_loop(one, c.count(0), step);
    case MPI_COMBINER_VECTOR:
      return make_loop(make_loop(one, c.count(1), step), c.count(0), product(c.count(2), step));
    case MPI_COMBINER_HVECTOR:
      return make_loop(make_loop(one, c.count(1), step), c.count(0), c.address(0, 2));
    case MPI_COMBINER_SUBARRAY:
      return subarray(c, one, step);
    case MPI_COMBINER_DARRAY:
      return darray(c, one, step);
    default:  // a duplicate, or a resized type
      return one;
  }
}

void make_tree(const TypeContents& contents, const TypeBounds& bounds, TypeTree* out) {
  out->root = TypeSource().part_of(contents);
  out->size = out->root.node ? out->root.node->size : 0;
  out->extent = bounds.extent();
  out->element = element_of(contents);
}

Status bounds_of(const TypeContents& contents, TypeBounds* out) {
  return TypeSource().bounds_of(contents, out);
}

TypeTree placed_tree_of(const Type& type, const PlacedSizes& sizes) {
  const TypeSource source(&sizes);
  TypeTree tree;
  tree.root = source.part(type);
  tree.size = tree.root.node ? tree.root.node->size : 0;
  tree.extent = source.bounds(type).extent();
  tree.element = type.tree().element;
  return tree;
}

}  // namespace fgmpi::datatype
