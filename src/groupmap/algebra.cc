// Union, intersection, difference, comparison and translation of groups in their stored forms.

#include "groupmap/algebra.h"

#include <algorithm>

#include "groupmap/bits.h"
#include "groupmap/progression.h"

namespace fgmpi::groupmap {
namespace {

using Progressions = std::vector<Progression>;

/// A table that answers whether a world rank is in a group, in constant or logarithmic time.
class RankTable {
 public:
  explicit RankTable(const MapRef& group) {
    if (group.size() == 0) return;
    sorted_.resize(static_cast<size_t>(group.size()));
    group.ordered_range(0, group.size(), sorted_.data());
    least_ = sorted_.front();
    uint64_t span = static_cast<uint64_t>(int64_t{sorted_.back()} - least_) + 1;
    if (span / 64 > sorted_.size()) return;
    bits_.resize(words_for(span));
    for (int32_t rank : sorted_) set_bit(bits_.data(), static_cast<uint64_t>(rank - least_));
    span_ = span;
    sorted_ = {};
  }
  bool contains(int32_t rank) const {
    if (bits_.empty()) return std::binary_search(sorted_.begin(), sorted_.end(), rank);
    uint64_t at = static_cast<uint64_t>(int64_t{rank} - least_);
    return at < span_ && get_bit(bits_.data(), at);
  }

 private:
  std::vector<int32_t> sorted_;
  std::vector<uint64_t> bits_;
  int32_t least_ = 0;
  uint64_t span_ = 0;
};

Status combine_expanded(const MapRef& a, const MapRef& b, SetOperation operation,
                        const Strategy& strategy, MapRef* out) {
  std::vector<int32_t> ranks = a.expand();
  if (operation == SetOperation::kUnion) {
    RankTable in_a(a);
    for (int32_t rank : b.expand())
      if (!in_a.contains(rank)) ranks.push_back(rank);
  } else {
    RankTable in_b(b);
    bool keep = operation == SetOperation::kIntersection;
    std::erase_if(ranks, [&](int32_t rank) { return in_b.contains(rank) != keep; });
  }
  return build(ranks, strategy, out);
}

// ---- pieces

/// Appends the pieces of an ordered group to *out, as progressions that rise and do not overlap.
/// Returns false when the group is not ordered or not stored in pieces.
bool as_progressions(const MapRef& group, Progressions* out) {
  std::vector<Piece> pieces;
  if (!group.ordered() || !group.pieces(pieces)) return false;
  for (size_t k = 0; k < pieces.size(); ++k) {
    int32_t end = k + 1 < pieces.size() ? pieces[k + 1].index : group.size();
    if (end > pieces[k].index)
      out->push_back(Progression::of(pieces[k].value, pieces[k].stride, end - pieces[k].index));
  }
  return true;
}

Progressions intersect_all(const Progressions& a, const Progressions& b) {
  Progressions common;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (std::optional<Progression> part = intersect(a[i], b[j])) common.push_back(*part);
    if (a[i].last < b[j].last)
      ++i;
    else
      ++j;
  }
  return common;
}

/// Appends the members of `from` at positions [begin, end).
void append_segment(const Progression& from, int64_t begin, int64_t end, Progressions* out) {
  if (begin < end)
    out->push_back({from.first + begin * from.step, from.first + (end - 1) * from.step, from.step});
}

/// Appends `from` without the rising, disjoint progressions `gone`, each a subset of it.
void append_difference(const Progression& from, std::span<const Progression> gone,
                       Progressions* out) {
  int64_t next = 0;
  for (const Progression& each : gone) {
    // A progression with the step of `from` is removed as one stretch. The members of any other
    // progression are removed one by one.
    bool solid = each.step == from.step;
    for (int64_t at = each.first; at <= each.last;
         at += solid ? each.last - each.first + 1 : each.step) {
      append_segment(from, next, (at - from.first) / from.step, out);
      next = ((solid ? each.last : at) - from.first) / from.step + 1;
    }
  }
  append_segment(from, next, from.count(), out);
}

Progressions subtract_all(const Progressions& a, const Progressions& b) {
  Progressions rest, gone;
  size_t j = 0;
  for (const Progression& from : a) {
    while (j < b.size() && b[j].last < from.first) ++j;
    gone.clear();
    for (size_t k = j; k < b.size() && b[k].first <= from.last; ++k)
      if (std::optional<Progression> part = intersect(from, b[k])) gone.push_back(*part);
    append_difference(from, gone, &rest);
  }
  return rest;
}

Status build_progressions(const Progressions& parts, const Strategy& strategy, MapRef* out) {
  std::vector<Piece> pieces;
  int64_t size = 0;
  for (const Progression& part : parts) {
    pieces.push_back({static_cast<int32_t>(size), static_cast<int32_t>(part.first),
                      static_cast<int32_t>(part.step)});
    size += part.count();
  }
  return build(pieces, static_cast<int32_t>(size), strategy, out);
}

Status combine_pieces(const Progressions& a, const Progressions& b, SetOperation operation,
                      const Strategy& strategy, MapRef* out) {
  if (operation == SetOperation::kIntersection)
    return build_progressions(intersect_all(a, b), strategy, out);
  if (operation == SetOperation::kDifference)
    return build_progressions(subtract_all(a, b), strategy, out);
  Progressions both = a, others = subtract_all(b, a);
  both.insert(both.end(), others.begin(), others.end());
  return build_progressions(both, strategy, out);
}

/// Combines two groups in the same encoding, where that can do it. The result ascends.
bool combine_alike(const MapRef& a, const MapRef& b, SetOperation operation, MapRef* out) {
  if (a.size() == 0 || b.size() == 0 || a.encoding() != b.encoding()) return false;
  if (!a.stored() || !b.stored()) return false;
  return a.stored()->combine(*b.stored(), operation, out);
}

}  // namespace

Status restore(const MapRef& group, const Strategy& strategy, MapRef* out) {
  std::vector<Piece> pieces;
  if (group.pieces(pieces)) return build(pieces, group.size(), strategy, out);
  return build(group.expand(), strategy, out);
}

Status restore_as_set(const MapRef& group, const Strategy& strategy, MapRef* out) {
  if (group.ordered()) return restore(group, strategy, out);
  std::vector<int32_t> ranks(static_cast<size_t>(group.size()));
  group.ordered_range(0, group.size(), ranks.data());
  return build(ranks, strategy, out);
}

Status combine(const MapRef& a, const MapRef& b, SetOperation operation, const Strategy& strategy,
               MapRef* out) {
  // In MPI's order, a union of ordered groups ascends if the second begins after the first's end.
  bool ascending =
      operation != SetOperation::kUnion ||
      (a.size() && b.size() && a.ordered() && b.ordered() && a.select(a.size() - 1) < b.select(0));
  if (ascending && combine_alike(a, b, operation, out)) return Status();
  Progressions pieces_a, pieces_b;
  if (as_progressions(a, &pieces_a) && as_progressions(b, &pieces_b))
    return combine_pieces(pieces_a, pieces_b, operation, strategy, out);
  return combine_expanded(a, b, operation, strategy, out);
}

Status combine_sets(const MapRef& a, const MapRef& b, SetOperation operation,
                    const Strategy& strategy, MapRef* out) {
  if (combine_alike(a, b, operation, out)) return Status();
  if (a.ordered() && operation != SetOperation::kUnion)
    return combine(a, b, operation, strategy, out);
  MapRef combined;
  FGMPI_TRY(combine(a, b, operation, Strategy::time(), &combined));
  return restore_as_set(combined, strategy, out);
}

Comparison compare(const MapRef& a, const MapRef& b) {
  if (a.size() != b.size()) return Comparison::kUnequal;
  if (a.same(b)) return Comparison::kIdentical;
  constexpr int32_t kChunk = 1024;
  std::vector<int32_t> x(kChunk), y(kChunk);
  bool identical = true;
  for (int32_t first = 0; first < a.size() && identical; first += kChunk) {
    int32_t count = std::min(kChunk, a.size() - first);
    a.select_range(first, count, x.data());
    b.select_range(first, count, y.data());
    identical = std::equal(x.begin(), x.begin() + count, y.begin());
  }
  if (identical) return Comparison::kIdentical;
  if (a.ordered() && b.ordered()) return Comparison::kUnequal;
  x.resize(static_cast<size_t>(a.size()));
  y.resize(static_cast<size_t>(a.size()));
  a.ordered_range(0, a.size(), x.data());
  b.ordered_range(0, b.size(), y.data());
  return x == y ? Comparison::kSimilar : Comparison::kUnequal;
}

void translate(const MapRef& from, std::span<const int32_t> ranks, const MapRef& to,
               std::span<int32_t> out) {
  if (from.same(to)) {
    std::copy(ranks.begin(), ranks.end(), out.begin());
    return;
  }
  // Where rank() scans the group, sorting the group once is cheaper than some dozens of scans.
  Encoding encoding = to.encoding();
  bool scans = encoding == Encoding::bwt ||
               (!to.ordered() && (encoding == Encoding::array || encoding == Encoding::packed));
  if (!scans || ranks.size() < 32) {
    for (size_t k = 0; k < ranks.size(); ++k) out[k] = translate(from, ranks[k], to);
    return;
  }
  // Pairs of world rank and group rank, sorted by world rank.
  std::vector<std::pair<int32_t, int32_t>> inverse(static_cast<size_t>(to.size()));
  std::vector<int32_t> members = to.expand();
  for (int32_t i = 0; i < to.size(); ++i) inverse[i] = {members[i], i};
  std::sort(inverse.begin(), inverse.end());
  for (size_t k = 0; k < ranks.size(); ++k) {
    int32_t w = from.select(ranks[k]);
    auto at = std::lower_bound(inverse.begin(), inverse.end(), std::pair<int32_t, int32_t>{w, 0});
    out[k] = at != inverse.end() && at->first == w ? at->second : -1;
  }
}

}  // namespace fgmpi::groupmap
