// Type maps: what a datatype is by the definition of MPI-4.0 section 5.1, written out entry by
// entry. They are slow, and share nothing with the library but its handles.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/processor.h"
#include "datatype/basic_type.h"
#include "datatype/datatype.h"

namespace fgmpi::datatype::test {

/// What is known of a predefined type. A pair has two rows of bytes.
struct LeafType {
  MPI_Datatype handle;
  int64_t extent, alignment;
  int64_t first_bytes;                    ///< of the value of a pair, else of all
  int64_t index_at = 0, index_bytes = 0;  ///< of the index of a pair
  int64_t size() const { return first_bytes + index_bytes; }
};
template <class T>
constexpr LeafType leaf_of(MPI_Datatype handle) {
  return {handle, sizeof(T), alignof(T), sizeof(T)};
}
template <class V>
constexpr LeafType pair_leaf(MPI_Datatype handle) {
  using Pair = PairOf<V, int>;
  return {handle, sizeof(Pair), alignof(Pair), sizeof(V), offsetof(Pair, index), sizeof(int)};
}
inline constexpr LeafType kLeaves[] = {
    leaf_of<char>(MPI_CHAR),
    leaf_of<char>(MPI_BYTE),
    leaf_of<short>(MPI_SHORT),
    leaf_of<int>(MPI_INT),
    leaf_of<float>(MPI_FLOAT),
    leaf_of<double>(MPI_DOUBLE),
    leaf_of<long double>(MPI_LONG_DOUBLE),
    leaf_of<std::complex<double>>(MPI_C_DOUBLE_COMPLEX),
    leaf_of<PairOf<int>>(MPI_2INT),
    leaf_of<double>(MPI_REAL8),
    leaf_of<int32_t>(MPI_INTEGER4),
    leaf_of<std::complex<double>>(MPI_COMPLEX16),
    pair_leaf<double>(MPI_DOUBLE_INT),
    pair_leaf<short>(MPI_SHORT_INT),
    pair_leaf<float>(MPI_FLOAT_INT),
    pair_leaf<long double>(MPI_LONG_DOUBLE_INT),
    leaf_of<processor::Quad>(MPI_REAL16),
};
inline const LeafType& leaf_type(MPI_Datatype handle) {
  return *std::find_if(std::begin(kLeaves), std::end(kLeaves),
                       [&](const LeafType& leaf) { return leaf.handle == handle; });
}

/// An entry of a type map. The padding of a struct is the end of its last element, and no marker.
struct MapEntry {
  enum Kind { kData, kLowerMarker, kUpperMarker, kPadding };
  Kind kind;
  int64_t at;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

struct TypeMap {
  std::vector<MapEntry> entries;
  const PlacedSizes* sizes = nullptr;  ///< of predefined types in a file; nullptr: as in memory

  int64_t extent_of(const MapEntry& entry) const {
    if (entry.kind != MapEntry::kData) return 0;
    return sizes ? sizes->at(entry.type) : leaf_type(entry.type).extent;
  }
  /// MPI-4.0 section 5.1.7: the least of the markers, or of all entries where there are none.
  int64_t lb() const {
    const bool marked = has(MapEntry::kLowerMarker);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const MapEntry& e : entries)
      if (marked ? e.kind == MapEntry::kLowerMarker : e.kind != MapEntry::kPadding)
        least = std::min(least, e.at);
    return entries.empty() ? 0 : least;
  }
  int64_t ub() const {
    const bool marked = has(MapEntry::kUpperMarker);
    int64_t most = std::numeric_limits<int64_t>::min();
    for (const MapEntry& e : entries)
      if (!marked || e.kind == MapEntry::kUpperMarker) most = std::max(most, e.at + extent_of(e));
    return entries.empty() ? 0 : most;
  }
  int64_t extent() const { return ub() - lb(); }
  bool has(MapEntry::Kind kind) const {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const MapEntry& e) { return e.kind == kind; });
  }
  int64_t alignment() const {
    int64_t most = 1;
    for (const MapEntry& e : entries)
      if (e.kind == MapEntry::kData) most = std::max(most, leaf_type(e.type).alignment);
    return most;
  }
  /// The predefined types in order.
  std::vector<MPI_Datatype> signature() const {
    std::vector<MPI_Datatype> types;
    for (const MapEntry& e : entries)
      if (e.kind == MapEntry::kData) types.push_back(e.type);
    return types;
  }
  /// The offsets of all bytes of one element, in order.
  std::vector<int64_t> bytes() const {
    std::vector<int64_t> all;
    for (const MapEntry& e : entries) {
      if (e.kind != MapEntry::kData) continue;
      const LeafType& leaf = leaf_type(e.type);
      const int64_t first = sizes ? sizes->at(e.type) : leaf.first_bytes;
      for (int64_t b = 0; b < first; ++b) all.push_back(e.at + b);
      for (int64_t b = 0; !sizes && b < leaf.index_bytes; ++b)
        all.push_back(e.at + leaf.index_at + b);
    }
    return all;
  }
  /// Adds another map at an offset.
  void add(const TypeMap& inner, int64_t at) {
    for (MapEntry e : inner.entries) {
      e.at += at;
      entries.push_back(e);
    }
  }
  /// Sets the only markers of the bounds.
  void mark(int64_t low, int64_t high) {
    std::erase_if(entries, [](const MapEntry& e) { return e.kind != MapEntry::kData; });
    entries.push_back({MapEntry::kLowerMarker, low});
    entries.push_back({MapEntry::kUpperMarker, high});
  }
  /// Pads a struct: its extent becomes a multiple of the alignment (MPI-4.0 section 5.1.7).
  void pad() {
    if (entries.empty() || has(MapEntry::kUpperMarker)) return;
    const int64_t unit = alignment(), rest = ((extent() % unit) + unit) % unit;
    if (rest > 0) entries.push_back({MapEntry::kPadding, ub() + unit - rest});
  }
};

/// A call of a constructor with its arguments.
struct TypeRecipe {
  using Numbers = std::vector<int64_t>;
  int combiner = MPI_COMBINER_NAMED;
  bool large = false;
  MPI_Datatype leaf =
      MPI_DATATYPE_NULL;  ///< a predefined type, or the values of one of a precision
  int64_t count = 0, length = 0, stride = 0, lb = 0, extent = 0;
  Numbers lengths, displs;                      ///< indexed types and structs
  Numbers sizes, subsizes, starts;              ///< arrays
  Numbers distributions, arguments, processes;  ///< distributed arrays
  int64_t group = 0, rank = 0, order = 0;
  std::vector<std::shared_ptr<TypeRecipe>> inner;

  Type made;                              ///< by the library
  MPI_Datatype host = MPI_DATATYPE_NULL;  ///< by the host, if it was asked

  /// True for types of MPI_Type_create_f90_*.
  bool of_precision() const {
    return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_COMPLEX;
  }
};

/// The indices of a dimension of an array that a process or a subarray has, by trying all.
inline std::vector<int64_t> kept_indices(const TypeRecipe& r, size_t d) {
  std::vector<int64_t> kept;
  int64_t below = 1;
  for (size_t k = d + 1; k < r.sizes.size() && r.combiner == MPI_COMBINER_DARRAY; ++k)
    below *= r.processes[k];
  for (int64_t i = 0; i < r.sizes[d]; ++i) {
    bool mine;
    if (r.combiner == MPI_COMBINER_SUBARRAY) {
      mine = i >= r.starts[d] && i < r.starts[d] + r.subsizes[d];
    } else {
      const int64_t all = r.processes[d], me = r.rank / below % all, argument = r.arguments[d];
      const bool given = argument != MPI_DISTRIBUTE_DFLT_DARG;
      if (r.distributions[d] == MPI_DISTRIBUTE_NONE)
        mine = true;
      else if (r.distributions[d] == MPI_DISTRIBUTE_CYCLIC)
        mine = i / (given ? argument : 1) % all == me;
      else
        mine = i / (given ? argument : (r.sizes[d] + all - 1) / all) == me;
    }
    if (mine) kept.push_back(i);
  }
  return kept;
}

/// Adds the elements of an array whose indices are kept, the slowest dimension first.
inline void add_grid(const TypeRecipe& r, const TypeMap& one, size_t level, int64_t index,
                     TypeMap* to) {
  const size_t dims = r.sizes.size();
  if (level == dims) return to->add(one, index * one.extent());
  const size_t d = r.order == MPI_ORDER_FORTRAN ? dims - 1 - level : level;
  for (int64_t i : kept_indices(r, d)) add_grid(r, one, level + 1, index * r.sizes[d] + i, to);
}

/// The type map of a predefined type, or of one of a precision.
inline TypeMap leaf_map(MPI_Datatype leaf) {
  const MapEntry::Kind kind = leaf == MPI_LB   ? MapEntry::kLowerMarker
                              : leaf == MPI_UB ? MapEntry::kUpperMarker
                                               : MapEntry::kData;
  return {{{kind, 0, leaf}}, nullptr};
}

/// The type map of a recipe. `sizes`: of predefined types in a file, where nothing is aligned; or
/// nullptr.
inline TypeMap expand(const TypeRecipe& r, const PlacedSizes* sizes = nullptr) {
  const bool is_leaf = r.inner.empty() && r.combiner != MPI_COMBINER_STRUCT;
  TypeMap map = is_leaf ? leaf_map(r.leaf) : TypeMap();
  map.sizes = sizes;
  if (is_leaf) return map;
  TypeMap one = r.inner.empty() ? TypeMap() : expand(*r.inner[0], sizes);
  int64_t step = one.extent();
  auto block = [&](int64_t length, int64_t at) {
    for (int64_t i = 0; i < length; ++i) map.add(one, at + i * step);
  };
  auto listed = [&](int64_t unit) {
    for (size_t i = 0; i < r.displs.size(); ++i)
      block(r.lengths.empty() ? r.length : r.lengths[i], r.displs[i] * unit);
  };
  switch (r.combiner) {
    case MPI_COMBINER_DUP:
      block(1, 0);
      break;
    case MPI_COMBINER_RESIZED:
      block(1, 0);
      map.mark(r.lb, r.lb + r.extent);
      break;
    case MPI_COMBINER_CONTIGUOUS:
      block(r.count, 0);
      break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
      for (int64_t i = 0; i < r.count; ++i)
        block(r.length, i * r.stride * (r.combiner == MPI_COMBINER_VECTOR ? step : 1));
      break;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
      listed(step);
      break;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_BLOCK:
      listed(1);
      break;
    case MPI_COMBINER_STRUCT:
      for (size_t i = 0; i < r.displs.size(); ++i) {
        one = expand(*r.inner[i], sizes);
        step = one.extent();
        block(r.lengths[i], r.displs[i]);
      }
      if (!sizes) map.pad();
      break;
    default: {  // subarray, darray
      int64_t all = 1;
      for (int64_t size : r.sizes) all *= size;
      add_grid(r, one, 0, 0, &map);
      map.mark(0, all * step);
    }
  }
  return map;
}

}  // namespace fgmpi::datatype::test
