// Group operations on rank maps: by formula where the maps are regular, else by one walk over each side.

#include <algorithm>
#include <vector>

#include "comm/group.h"

namespace fgmpi::comm {
namespace {

using groupmap::Regular;

/// Offset and stride of a map of one level with more than one member.
struct Line {
  int64_t offset = 0, stride = 1, size = 0;
  int64_t last() const { return offset + (size - 1) * stride; }
};

bool as_line(const RankMap& map, Line* out) {
  if (map.size() == 0 || map.model() > RankMap::Model::kStride) return false;
  out->size = map.size();
  out->offset = map.world_of(0);
  out->stride = map.size() > 1 ? map.world_of(1) - map.world_of(0) : 1;
  return true;
}

/// Membership of a map, for many questions: asks a regular map, else marks a bitmap once.
class Members {
 public:
  explicit Members(const RankMap& map) : map_(map) {
    if (map.regular()) return;
    for (int32_t w : map.encoded().expand()) {
      if (static_cast<size_t>(w) >= marks_.size()) marks_.resize(static_cast<size_t>(w) + 1);
      marks_[static_cast<size_t>(w)] = true;
    }
  }
  bool has(int32_t world) const {
    if (map_.regular()) return map_.rank_of(world) >= 0;
    return static_cast<size_t>(world) < marks_.size() && marks_[static_cast<size_t>(world)];
  }

 private:
  const RankMap& map_;
  std::vector<bool> marks_;
};

/// The members of `from` for which keep(world) holds, after those in `worlds`.
template <class Keep>
RankMap filter(const RankMap& from, Keep keep, std::vector<int32_t> worlds = {}) {
  constexpr int32_t kBlock = 4096;
  std::vector<int32_t> block(static_cast<size_t>(std::min(kBlock, from.size())));
  for (int32_t first = 0; first < from.size(); first += kBlock) {
    int32_t count = std::min(kBlock, from.size() - first);
    from.world_range(first, count, block.data());
    for (int32_t i = 0; i < count; ++i)
      if (keep(block[static_cast<size_t>(i)])) worlds.push_back(block[static_cast<size_t>(i)]);
  }
  return RankMap::from_ranks(worlds);
}

/// Ranks must be in the group, each once.
Status check_ranks(const RankMap& map, std::span<const int32_t> ranks, std::vector<bool>* listed) {
  listed->assign(static_cast<size_t>(map.size()), false);
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= map.size())
      return error(MPI_ERR_RANK, "ranks[%zu] is %d; allowed is 0 to %d", i, ranks[i], map.size() - 1);
    if ((*listed)[static_cast<size_t>(ranks[i])])
      return error(MPI_ERR_RANK, "ranks[%zu] is %d, which is there twice; allowed is each rank once", i, ranks[i]);
    (*listed)[static_cast<size_t>(ranks[i])] = true;
  }
  return {};
}

/// Number of ranks of a triplet. Errors: MPI_ERR_ARG (stride 0), MPI_ERR_RANK (ends outside).
Status check_range(const RankMap& map, const int range[3], int number, int64_t* count) {
  int64_t first = range[0], last = range[1], stride = range[2];
  if (stride == 0)
    return error(MPI_ERR_ARG, "ranges[%d] has stride 0; allowed is any other", number);
  *count = (last - first) / stride + 1;
  if ((last - first) * (stride > 0 ? 1 : -1) < 0) *count = 0;
  if (*count == 0) return {};
  int64_t end = first + (*count - 1) * stride;
  for (int64_t rank : {first, end}) {
    if (rank < 0 || rank >= map.size())
      return error(MPI_ERR_RANK, "ranges[%d] = (%d, %d, %d) has rank %lld; allowed is 0 to %d", number, range[0], range[1],
                   range[2], static_cast<long long>(rank), map.size() - 1);
  }
  return {};
}

Status expand_ranges(const RankMap& map, const int (*ranges)[3], int count, std::vector<int32_t>* ranks) {
  for (int k = 0; k < count; ++k) {
    int64_t n;
    FGMPI_TRY(check_range(map, ranges[k], k, &n));
    for (int64_t i = 0; i < n; ++i) ranks->push_back(static_cast<int32_t>(ranges[k][0] + i * ranges[k][2]));
  }
  return {};
}

}  // namespace

Status include(const RankMap& map, std::span<const int32_t> ranks, RankMap* out) {
  std::vector<bool> listed;
  FGMPI_TRY(check_ranks(map, ranks, &listed));
  *out = RankMap::compose(map, RankMap::from_ranks(ranks));
  return {};
}

Status exclude(const RankMap& map, std::span<const int32_t> ranks, RankMap* out) {
  std::vector<bool> listed;
  FGMPI_TRY(check_ranks(map, ranks, &listed));
  if (ranks.empty()) {
    *out = map;
    return {};
  }
  std::vector<int32_t> left;
  left.reserve(static_cast<size_t>(map.size()) - ranks.size());
  for (int32_t r = 0; r < map.size(); ++r)
    if (!listed[static_cast<size_t>(r)]) left.push_back(r);
  *out = RankMap::compose(map, RankMap::from_ranks(left));
  return {};
}

Status range_include(const RankMap& map, const int (*ranges)[3], int count, RankMap* out) {
  if (count == 1) {
    int64_t n;
    FGMPI_TRY(check_range(map, ranges[0], 0, &n));
    *out = n == 0 ? RankMap()
                  : RankMap::compose(map, RankMap::strided(static_cast<int32_t>(n), ranges[0][0], ranges[0][2]));
    return {};
  }
  std::vector<int32_t> ranks;
  FGMPI_TRY(expand_ranges(map, ranges, count, &ranks));
  return include(map, ranks, out);
}

Status range_exclude(const RankMap& map, const int (*ranges)[3], int count, RankMap* out) {
  std::vector<int32_t> ranks;
  FGMPI_TRY(expand_ranges(map, ranges, count, &ranks));
  return exclude(map, ranks, out);
}

RankMap unite(const RankMap& a, const RankMap& b) {
  if (a.size() == 0) return b;
  if (b.size() == 0 || a.identical(b)) return a;
  Line x, y;
  if (as_line(a, &x) && as_line(b, &y)) {
    // One line continues the other.
    if (x.size == 1) x.stride = y.stride;
    if (y.size == 1) y.stride = x.stride;
    if (x.size == 1 && y.size == 1) x.stride = y.stride = y.offset - x.offset;
    if (x.stride == y.stride && y.offset == x.last() + x.stride)
      return RankMap::strided(static_cast<int32_t>(x.size + y.size), static_cast<int32_t>(x.offset),
                              static_cast<int32_t>(x.stride));
  }
  Members in_a(a);
  std::vector<int32_t> worlds = a.encoded().expand();
  worlds.reserve(worlds.size() + static_cast<size_t>(b.size()));
  return filter(b, [&](int32_t w) { return !in_a.has(w); }, std::move(worlds));
}

RankMap intersect(const RankMap& a, const RankMap& b) {
  if (a.size() == 0 || b.size() == 0) return {};
  if (b.model() == RankMap::Model::kDirect || b.model() == RankMap::Model::kOffset) {
    // b is an interval: where a is one line, so is the result.
    Line x;
    int32_t low = b.world_of(0), high = low + b.size();
    int32_t n = a.count_within(low, high);
    if (n == a.size()) return a;
    if (n == 0) return {};
    if (as_line(a, &x)) {
      int64_t skip = x.stride > 0 ? std::max<int64_t>(0, (low - x.offset + x.stride - 1) / x.stride)
                                  : std::max<int64_t>(0, (x.offset - (high - 1) - x.stride - 1) / -x.stride);
      return RankMap::strided(n, static_cast<int32_t>(x.offset + skip * x.stride), static_cast<int32_t>(x.stride));
    }
  }
  Members in_b(b);
  return filter(a, [&](int32_t w) { return in_b.has(w); });
}

RankMap subtract(const RankMap& a, const RankMap& b) {
  if (a.size() == 0 || b.size() == 0) return a;
  Members in_b(b);
  return filter(a, [&](int32_t w) { return !in_b.has(w); });
}

int compare(const RankMap& a, const RankMap& b) {
  if (a.identical(b)) return MPI_IDENT;
  return a.similar(b) ? MPI_SIMILAR : MPI_UNEQUAL;
}

Status translate(const RankMap& from, std::span<const int32_t> in, const RankMap& to, int32_t* out) {
  // Many questions to a stored map: one walk over it and a table instead.
  std::vector<std::pair<int32_t, int32_t>> table;
  if (!to.regular() && in.size() > 32) {
    std::vector<int32_t> worlds = to.encoded().expand();
    table.reserve(worlds.size());
    for (size_t r = 0; r < worlds.size(); ++r) table.emplace_back(worlds[r], static_cast<int32_t>(r));
    if (!std::is_sorted(table.begin(), table.end())) std::sort(table.begin(), table.end());
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == MPI_PROC_NULL) {
      out[i] = MPI_PROC_NULL;
      continue;
    }
    if (in[i] < 0 || in[i] >= from.size())
      return error(MPI_ERR_RANK, "ranks1[%zu] is %d; allowed is 0 to %d or MPI_PROC_NULL", i, in[i], from.size() - 1);
    int32_t world = from.world_of(in[i]);
    int32_t rank;
    if (table.empty()) {
      rank = to.rank_of(world);
    } else {
      auto it = std::lower_bound(table.begin(), table.end(), std::pair<int32_t, int32_t>(world, 0));
      rank = it != table.end() && it->first == world ? it->second : -1;
    }
    out[i] = rank < 0 ? MPI_UNDEFINED : rank;
  }
  return {};
}

}  // namespace fgmpi::comm
