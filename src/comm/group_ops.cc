// MPI's group operations on rank maps: the algebra of src/groupmap, which works on encoded maps
// where it can, with this process's strategy for what has to be stored.

#include <algorithm>
#include <numeric>
#include <vector>

#include "comm/group.h"
#include "groupmap/algebra.h"

namespace fgmpi::comm {
namespace {

using groupmap::MapRef;
using groupmap::SetOperation;

RankMap combine(const RankMap& a, const RankMap& b, SetOperation operation) {
  MapRef out;
  Status status = groupmap::combine(a.encoded(), b.encoded(), operation, RankMap::strategy(), &out);
  // An encoding that the user asked for by name may be unable to hold the result; the hybrid choice
  // always can.
  if (!status.ok())
    status =
        groupmap::combine(a.encoded(), b.encoded(), operation, groupmap::Strategy::hybrid(), &out);
  FGMPI_CHECK(status.ok());
  return RankMap(std::move(out));
}

std::vector<groupmap::RankRange> triplets(const int (*ranges)[3], int count) {
  std::vector<groupmap::RankRange> out;
  for (int k = 0; k < count; ++k) out.push_back({ranges[k][0], ranges[k][1], ranges[k][2]});
  return out;
}

/// Calls f(&map) and wraps the map that it made.
template <class F>
Status make(RankMap* out, F&& f) {
  MapRef map;
  FGMPI_TRY(f(&map));
  *out = RankMap(std::move(map));
  return {};
}

}  // namespace

Status include(const RankMap& map, std::span<const int32_t> ranks, RankMap* out) {
  return make(out, [&](MapRef* m) {
    return groupmap::include(map.encoded(), ranks, RankMap::strategy(), m);
  });
}

Status exclude(const RankMap& map, std::span<const int32_t> ranks, RankMap* out) {
  return make(out, [&](MapRef* m) {
    return groupmap::exclude(map.encoded(), ranks, RankMap::strategy(), m);
  });
}

Status range_include(const RankMap& map, const int (*ranges)[3], int count, RankMap* out) {
  return make(out, [&](MapRef* m) {
    return groupmap::range_include(map.encoded(), triplets(ranges, count), RankMap::strategy(), m);
  });
}

Status range_exclude(const RankMap& map, const int (*ranges)[3], int count, RankMap* out) {
  return make(out, [&](MapRef* m) {
    return groupmap::range_exclude(map.encoded(), triplets(ranges, count), RankMap::strategy(), m);
  });
}

RankMap unite(const RankMap& a, const RankMap& b) { return combine(a, b, SetOperation::kUnion); }
RankMap intersect(const RankMap& a, const RankMap& b) {
  return combine(a, b, SetOperation::kIntersection);
}
RankMap subtract(const RankMap& a, const RankMap& b) {
  return combine(a, b, SetOperation::kDifference);
}

bool contains(const RankMap& whole, const RankMap& part) {
  if (part.size() == 0 || part.encoded().same(whole.encoded())) return true;
  if (part.size() > whole.size()) return false;
  if (whole.model() == RankMap::Model::kDirect || whole.model() == RankMap::Model::kOffset) {
    const auto [low, high] = std::minmax({whole.world_of(0), whole.world_of(whole.size() - 1)});
    return part.count_within(low, high + 1) == part.size();
  }
  if (whole.regular() && part.regular()) return intersect(part, whole).size() == part.size();
  constexpr int32_t kChunk = 1024;
  std::vector<int32_t> asked, found;
  for (int32_t first = 0; first < part.size(); first += kChunk) {
    asked.resize(static_cast<size_t>(std::min(kChunk, part.size() - first)));
    found.resize(asked.size());
    std::iota(asked.begin(), asked.end(), first);
    groupmap::translate(part.encoded(), asked, whole.encoded(), found);
    if (std::find(found.begin(), found.end(), -1) != found.end()) return false;
  }
  return true;
}

int compare(const RankMap& a, const RankMap& b) {
  switch (groupmap::compare(a.encoded(), b.encoded())) {
    case groupmap::Comparison::kIdentical:
      return MPI_IDENT;
    case groupmap::Comparison::kSimilar:
      return MPI_SIMILAR;
    case groupmap::Comparison::kUnequal:
      break;
  }
  return MPI_UNEQUAL;
}

Status translate(const RankMap& from, std::span<const int32_t> in, const RankMap& to,
                 int32_t* out) {
  std::vector<int32_t> asked;
  asked.reserve(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == MPI_PROC_NULL) continue;
    if (in[i] < 0 || in[i] >= from.size())
      return error(MPI_ERR_RANK, "ranks1[%zu] is %d; allowed is 0 to %d or MPI_PROC_NULL", i, in[i],
                   from.size() - 1);
    asked.push_back(in[i]);
  }
  std::vector<int32_t> found(asked.size());
  groupmap::translate(from.encoded(), asked, to.encoded(), found);
  for (size_t i = 0, k = 0; i < in.size(); ++i) {
    int32_t rank = in[i] == MPI_PROC_NULL ? MPI_PROC_NULL : found[k++];
    out[i] = rank == -1 && in[i] != MPI_PROC_NULL ? MPI_UNDEFINED : rank;
  }
  return {};
}

}  // namespace fgmpi::comm
