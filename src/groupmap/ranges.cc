// Include and exclude by ranges and lists of group ranks (algebra.h).
#include <algorithm>

#include "groupmap/algebra.h"
#include "groupmap/bits.h"

namespace fgmpi::groupmap {
namespace {

/// Checks the ranges by MPI's rules and sets the bit of each group rank that they name.
Status mark(const MapRef& group, std::span<const RankRange> ranges, std::vector<uint64_t>* named) {
  named->assign(words_for(static_cast<uint64_t>(group.size())), 0);
  for (const RankRange& range : ranges) {
    if (range.stride == 0)
      return error(kErrArg, "range (%d, %d, 0): the stride is 0", range.first, range.last);
    for (int64_t i = range.first; range.stride > 0 ? i <= range.last : i >= range.last;
         i += range.stride) {
      if (i < 0 || i >= group.size())
        return error(kErrRank, "rank %lld in a group of %d; allowed is 0 to %d",
                     static_cast<long long>(i), group.size(), group.size() - 1);
      if (get_bit(named->data(), static_cast<uint64_t>(i)))
        return error(kErrRank, "rank %lld is named twice", static_cast<long long>(i));
      set_bit(named->data(), static_cast<uint64_t>(i));
    }
  }
  return Status();
}

/// Collects members of a group, as pieces when the group is stored in pieces, else as ranks.
class Slicer {
 public:
  explicit Slicer(const MapRef& group) : group_(group) { as_pieces_ = group.pieces(source_); }

  /// Appends the members at group ranks first, first + stride, ...: `count` of them, all in the
  /// group.
  void take(int64_t first, int64_t stride, int64_t count) {
    if (!as_pieces_) {
      for (; count > 0; --count, first += stride)
        ranks_.push_back(group_.select(static_cast<int32_t>(first)));
      return;
    }
    while (count > 0) {
      auto after = std::upper_bound(source_.begin(), source_.end(), first,
                                    [](int64_t i, const Piece& piece) { return i < piece.index; });
      const Piece& piece = *(after - 1);
      int64_t end = after == source_.end() ? group_.size() : after->index;
      // `room` further steps, up or down, stay within the piece.
      int64_t room = stride > 0 ? (end - 1 - first) / stride : (first - piece.index) / -stride;
      int64_t here = std::min(count, room + 1);
      int64_t step = here > 1 ? stride * piece.stride : 1;
      pieces_.push_back({static_cast<int32_t>(size_),
                         static_cast<int32_t>(piece.value + (first - piece.index) * piece.stride),
                         static_cast<int32_t>(step)});
      size_ += here;
      first += here * stride;
      count -= here;
    }
  }
  Status build(const Strategy& strategy, MapRef* out) const {
    if (as_pieces_) return groupmap::build(pieces_, static_cast<int32_t>(size_), strategy, out);
    return groupmap::build(ranks_, strategy, out);
  }

 private:
  const MapRef& group_;
  bool as_pieces_;
  std::vector<Piece> source_;
  std::vector<Piece> pieces_;
  int64_t size_ = 0;
  std::vector<int32_t> ranks_;
};

std::vector<RankRange> singles(std::span<const int32_t> ranks) {
  std::vector<RankRange> ranges;
  for (int32_t rank : ranks) ranges.push_back({rank, rank, 1});
  return ranges;
}

}  // namespace

Status range_include(const MapRef& group, std::span<const RankRange> ranges,
                     const Strategy& strategy, MapRef* out) {
  std::vector<uint64_t> named;
  FGMPI_TRY(mark(group, ranges, &named));
  Slicer slicer(group);
  for (const RankRange& range : ranges) {
    int64_t count = (int64_t{range.last} - range.first) / range.stride + 1;
    bool any = range.stride > 0 ? range.first <= range.last : range.first >= range.last;
    if (any) slicer.take(range.first, range.stride, count);
  }
  return slicer.build(strategy, out);
}

Status range_exclude(const MapRef& group, std::span<const RankRange> ranges,
                     const Strategy& strategy, MapRef* out) {
  std::vector<uint64_t> named;
  FGMPI_TRY(mark(group, ranges, &named));
  Slicer slicer(group);
  int64_t first = 0;
  for (int64_t i = 0; i <= group.size(); ++i) {
    // Words without a named rank are skipped.
    if (i % 64 == 0 && i + 64 <= group.size() && named[static_cast<size_t>(i / 64)] == 0) {
      i += 63;
      continue;
    }
    if (i < group.size() && !get_bit(named.data(), static_cast<uint64_t>(i))) continue;
    slicer.take(first, 1, i - first);
    first = i + 1;
  }
  return slicer.build(strategy, out);
}

Status include(const MapRef& group, std::span<const int32_t> ranks, const Strategy& strategy,
               MapRef* out) {
  return range_include(group, singles(ranks), strategy, out);
}

Status exclude(const MapRef& group, std::span<const int32_t> ranks, const Strategy& strategy,
               MapRef* out) {
  return range_exclude(group, singles(ranks), strategy, out);
}

}  // namespace fgmpi::groupmap
