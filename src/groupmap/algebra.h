// Groups as sets (section 7 of the paper), and MPI's group operations on top. The operations work
// on the stored forms. These pairs of forms need no expansion to lists of ranks:
//
//   both ordered strides              the Chinese remainder theorem
//   both bitmap                       word by word
//   both Roaring                      container by container
//   both BDD                          by BuDDy on paths
//   both ordered, with pieces         a merge of the pieces (runs, piecewise, complement, regular
//                                     maps)
//   any other pair                    the first is expanded, the second becomes a membership table
//
// The strategy that the caller passes chooses the encoding of the result. But a result of two
// bitmaps, Roaring sets or BDDs has their encoding; restore() encodes it by a strategy. Nothing
// here switches proclets. Order (MPI-4.0 section 7.3.2): the result lists the first group's members
// in its order, then, in a union, the other members of the second in the order of the second.
#pragma once

#include <cstdint>
#include <span>

#include "groupmap/groupmap.h"

namespace fgmpi::groupmap {

/// Union, intersection or difference (a without b). Errors: those of build().
Status combine(const MapRef& a, const MapRef& b, SetOperation operation, const Strategy& strategy,
               MapRef* out);

/// Combines two groups in ascending order of world rank, as the paper proposes: the result needs no
/// permutation.
Status combine_sets(const MapRef& a, const MapRef& b, SetOperation operation,
                    const Strategy& strategy, MapRef* out);

/// Stores the members of `group` by `strategy`, in the group's order or ascending.
Status restore(const MapRef& group, const Strategy& strategy, MapRef* out);
Status restore_as_set(const MapRef& group, const Strategy& strategy, MapRef* out);

/// Group ranks first, first+stride, ... up to last inclusive; stride may be negative (MPI's
/// triplets).
struct RankRange {
  int32_t first;
  int32_t last;
  int32_t stride;
};

/// Make a group of the members at these group ranks, in that order; or of all others, in the
/// group's order. Errors: MPI_ERR_RANK for a rank outside the group or named twice, MPI_ERR_ARG for
/// a stride of 0.
Status range_include(const MapRef& group, std::span<const RankRange> ranges,
                     const Strategy& strategy, MapRef* out);
Status range_exclude(const MapRef& group, std::span<const RankRange> ranges,
                     const Strategy& strategy, MapRef* out);
Status include(const MapRef& group, std::span<const int32_t> ranks, const Strategy& strategy,
               MapRef* out);
Status exclude(const MapRef& group, std::span<const int32_t> ranks, const Strategy& strategy,
               MapRef* out);

/// The rank in `to` of the member that has rank i in `from`, or -1. REQUIRES: 0 <= i < from.size().
inline int32_t translate(const MapRef& from, int32_t i, const MapRef& to) {
  return to.rank(from.select(i));
}
/// Translates many ranks. Makes an inverse of `to` first, where that is faster. REQUIRES: the spans
/// have equal lengths.
void translate(const MapRef& from, std::span<const int32_t> ranks, const MapRef& to,
               std::span<int32_t> out);

/// kIdentical: same members, same order; kSimilar: same members; kUnequal.
enum class Comparison { kIdentical, kSimilar, kUnequal };
Comparison compare(const MapRef& a, const MapRef& b);

}  // namespace fgmpi::groupmap
