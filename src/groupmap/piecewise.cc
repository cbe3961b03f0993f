// piecewise: a group as stretches of any stride, falling ones too, in any order.
//
//   group    20 22 24 26 | 9 8 7 | 100 101 102 103
//   first    0             4       7                  group rank at which a piece begins
//   low      20            7       100                its smallest world rank
//   stride   2             -1      1
//
// Up to 16 pieces are stored as plain records and searched one by one. More are stored in columns:
// `first` as Elias-Fano (nothing when all pieces are equally long), `stride` packed (nothing when
// all are equal), `low` as the sorted lows (Elias-Fano, or nothing when they are regular) and the
// permutation that brings them into order (nothing when it is the identity).
//
// When it wins: unions of ranges and strides, blocks in any order: 10,000 permuted blocks of 50
// take 20 KB of the 1,953 of the array. Costs: 12 bytes a piece for few, 3 to 50 bits a piece in
// columns; select is finding the piece (a division or an Elias-Fano rank) and two loads; rank finds
// the piece by its low and, in columns, inverts the permutation (up to 64 loads). Where the pieces'
// ranges of world ranks overlap, rank tries every piece.
#include <algorithm>
#include <numeric>

#include "groupmap/cuts.h"
#include "groupmap/permutation.h"
#include "groupmap/progression.h"

namespace fgmpi::groupmap {
namespace {

constexpr size_t kFewPieces = 16;
/// The most pairs of pieces with overlapping ranges of world ranks: each pair is tested for common
/// ranks, and a group with more pairs is refused.
constexpr int64_t kMaxOverlaps = 100000;

int64_t end_of(std::span<const Piece> pieces, size_t k, int32_t size) {
  return k + 1 < pieces.size() ? pieces[k + 1].index : size;
}

/// True where no two pieces share a rank and all ranks are valid. *overlaps (if given) is set to
/// whether the ranges of world ranks of any two pieces overlap.
bool check_pieces(std::span<const Piece> pieces, int32_t size, bool* overlaps,
                  std::string* reason) {
  std::vector<Progression> sets;
  for (size_t k = 0; k < pieces.size(); ++k) {
    const Piece& piece = pieces[k];
    int64_t length = end_of(pieces, k, size) - piece.index;
    if (length < 1 || (k == 0 && piece.index != 0)) return invalid(reason, "piece %zu is empty", k);
    if (piece.stride == 0 && length > 1) return invalid(reason, "piece %zu has stride 0", k);
    sets.push_back(Progression::of(piece.value, piece.stride, length));
    if (sets.back().first < 0 || sets.back().last > INT32_MAX)
      return invalid(reason, "piece %zu is outside 0..2^31-1", k);
  }
  std::sort(sets.begin(), sets.end(),
            [](const Progression& a, const Progression& b) { return a.first < b.first; });
  std::vector<Progression> open;
  int64_t pairs = 0;
  for (const Progression& set : sets) {
    std::erase_if(open, [&](const Progression& other) { return other.last < set.first; });
    pairs += static_cast<int64_t>(open.size());
    if (pairs > kMaxOverlaps) return invalid(reason, "its pieces overlap too much");
    for (const Progression& other : open)
      if (intersect(set, other)) return invalid(reason, "a rank occurs twice");
    open.push_back(set);
  }
  if (overlaps) *overlaps = pairs > 0;
  return true;
}

/// The index of rank w in the piece, or -1.
int32_t rank_in(const Piece& piece, int32_t length, int32_t w) {
  int64_t difference = int64_t{w} - piece.value;
  int64_t k = piece.stride ? difference / piece.stride : 0;
  bool inside = k >= 0 && k < length && k * piece.stride == difference;
  return inside ? static_cast<int32_t>(piece.index + k) : -1;
}

bool rises(std::span<const Piece> pieces, int32_t size) {
  int64_t last = -1;
  for (size_t k = 0; k < pieces.size(); ++k) {
    int64_t length = end_of(pieces, k, size) - pieces[k].index;
    if (pieces[k].value <= last || (length > 1 && pieces[k].stride < 0)) return false;
    last = pieces[k].value + (length - 1) * pieces[k].stride;
  }
  return true;
}

/// The block length, if the pieces consist of equally long blocks and storing these is shorter;
/// else 0. (Blocks that were permuted but stayed neighbours appear as one piece.)
int32_t block_length(std::span<const Piece> pieces, int32_t size) {
  int64_t block = 0;
  int32_t stride = 0;
  for (size_t k = 0; k < pieces.size() && block != 1; ++k) {
    int64_t length = end_of(pieces, k, size) - pieces[k].index;
    if (k + 1 < pieces.size() || block == 0) block = std::gcd(block, length);
    if (length == 1) continue;
    if (stride != 0 && pieces[k].stride != stride) return 0;
    stride = pieces[k].stride;
  }
  bool few = block > 1 && (size + block - 1) / block <= static_cast<int64_t>(2 * pieces.size());
  return few ? static_cast<int32_t>(block) : 0;
}

std::vector<Piece> in_blocks(std::span<const Piece> pieces, int32_t size, int32_t block) {
  std::vector<Piece> blocks;
  for (size_t k = 0; k < pieces.size(); ++k) {
    Piece next = pieces[k];
    for (int64_t end = end_of(pieces, k, size); next.index < end; next.index += block) {
      blocks.push_back(next);
      if (end - next.index > block) next.value += block * next.stride;
    }
  }
  return blocks;
}

/// The code that both forms (few pieces, columns) share.
class PiecewiseMap : public GroupMap {
 public:
  using GroupMap::GroupMap;
  bool validate(std::string* reason) const override {
    std::vector<Piece> all;
    pieces(all);
    return check_pieces(all, size(), nullptr, reason);
  }
  void write(ByteWriter& out) const override {
    std::vector<Piece> all;
    pieces(all);
    out.varint(all.size());
    int64_t next = 0;
    for (size_t k = 0; k < all.size(); ++k) {
      int64_t length = end_of(all, k, size()) - all[k].index;
      out.varint(static_cast<uint64_t>(length));
      out.zigzag(all[k].stride);
      out.zigzag(all[k].value - next);
      next = all[k].value + length * all[k].stride;
    }
  }
  std::string describe() const override { return "piecewise"; }
};

class FewPieces final : public PiecewiseMap {
 public:
  FewPieces(std::span<const Piece> pieces, int32_t size)
      : PiecewiseMap(Encoding::piecewise, size, rises(pieces, size)),
        count_(static_cast<int32_t>(pieces.size())),
        pieces_(std::make_unique<Piece[]>(pieces.size())) {
    std::copy(pieces.begin(), pieces.end(), pieces_.get());
  }
  int32_t select(int32_t i) const override {
    // Counts all firsts up to i instead of stopping at the piece: the branch would be mispredicted,
    // since i is arbitrary.
    const Piece* piece = pieces_.get();
    const Piece* each = piece;
    for (int32_t k = 1; k < count_; ++k) piece += i >= each[k].index;
    return piece->value + (i - piece->index) * piece->stride;
  }
  int32_t rank(int32_t w) const override {
    for (int32_t k = 0; k < count_; ++k) {
      int32_t i = rank_in(pieces_[k], length(k), w);
      if (i >= 0) return i;
    }
    return -1;
  }
  void select_range(int32_t first, int32_t count, int32_t* out) const override {
    for (int32_t k = 0; k < count_ && count > 0; ++k) {
      const Piece& piece = pieces_[k];
      int32_t stop = std::min(piece.index + length(k), first + count);
      for (; first < stop; ++first, --count)
        *out++ = piece.value + (first - piece.index) * piece.stride;
    }
  }
  bool pieces(std::vector<Piece>& out) const override {
    out.insert(out.end(), pieces_.get(), pieces_.get() + count_);
    return true;
  }
  size_t bytes() const override {
    return sizeof(*this) + sizeof(Piece) * static_cast<size_t>(count_);
  }

 private:
  int32_t length(int32_t k) const {
    return (k + 1 < count_ ? pieces_[k + 1].index : size()) - pieces_[k].index;
  }
  int32_t count_;
  std::unique_ptr<Piece[]> pieces_;
};

class ManyPieces final : public PiecewiseMap {
 public:
  /// REQUIRES: check_pieces() has returned true and set `overlaps`.
  ManyPieces(std::span<const Piece> pieces, int32_t size, bool overlaps);

  int32_t select(int32_t i) const override {
    uint32_t k = cuts_.part_of(static_cast<uint32_t>(i));
    uint32_t first = cuts_.first(k);
    int32_t stride = stride_of(k);
    uint32_t low = low_of(k);
    if (stride > 0) return static_cast<int32_t>(low + (static_cast<uint32_t>(i) - first) * stride);
    return static_cast<int32_t>(low + (static_cast<uint32_t>(i) - (cuts_.end(k) - 1)) * stride);
  }
  int32_t rank(int32_t w) const override;
  void select_range(int32_t first, int32_t count, int32_t* out) const override {
    uint32_t i = static_cast<uint32_t>(first), end = i + static_cast<uint32_t>(count);
    for (uint32_t k = count ? cuts_.part_of(i) : 0; i < end; ++k) {
      Piece piece = piece_at(k);
      for (uint32_t stop = std::min(end, cuts_.end(k)); i < stop; ++i)
        *out++ = piece.value + static_cast<int32_t>(i - piece.index) * piece.stride;
    }
  }
  bool pieces(std::vector<Piece>& out) const override {
    for (uint32_t k = 0; k < count_; ++k) out.push_back(piece_at(k));
    return true;
  }
  size_t bytes() const override {
    return sizeof(*this) + cuts_.heap_bytes() + strides_.heap_bytes() + lows_.heap_bytes() +
           order_.heap_bytes();
  }

 private:
  int32_t stride_of(uint32_t k) const {
    return strides_.size() ? least_stride_ + static_cast<int32_t>(strides_[k]) : least_stride_;
  }
  /// The j-th smallest low.
  uint32_t sorted_low(uint32_t j) const {
    return lows_.size() ? lows_[j] : least_low_ + j * low_step_;
  }
  uint32_t low_of(uint32_t k) const { return sorted_low(order_.size() ? order_.forward(k) : k); }
  Piece piece_at(uint32_t k) const {
    uint32_t first = cuts_.first(k);
    return {static_cast<int32_t>(first), select(static_cast<int32_t>(first)), stride_of(k)};
  }

  uint32_t count_;
  int32_t least_stride_;
  uint32_t least_low_ = 0;
  uint32_t low_step_ = 0;  // when lows_ is empty
  bool overlaps_;
  Cuts cuts_;
  PackedVector strides_;     // over least_stride_; empty: all equal
  EliasFano lows_;           // sorted; empty: least_low_ + j * low_step_
  PackedPermutation order_;  // piece -> position of its low in lows_; empty: the identity
};

ManyPieces::ManyPieces(std::span<const Piece> pieces, int32_t size, bool overlaps)
    : PiecewiseMap(Encoding::piecewise, size, rises(pieces, size)),
      count_(static_cast<uint32_t>(pieces.size())),
      overlaps_(overlaps) {
  auto length = [&](size_t k) { return groupmap::end_of(pieces, k, size) - pieces[k].index; };
  std::vector<uint32_t> column(count_);
  for (size_t k = 0; k < count_; ++k) column[k] = static_cast<uint32_t>(pieces[k].index);
  cuts_ = Cuts(column, static_cast<uint32_t>(size));

  auto stride = [&](size_t k) { return length(k) == 1 ? 1 : pieces[k].stride; };
  int32_t most_stride = least_stride_ = stride(0);
  for (size_t k = 1; k < count_; ++k) {
    least_stride_ = std::min(least_stride_, stride(k));
    most_stride = std::max(most_stride, stride(k));
  }
  for (size_t k = 0; k < count_; ++k) column[k] = static_cast<uint32_t>(stride(k)) - least_stride_;
  if (least_stride_ != most_stride) strides_ = PackedVector::of(std::span<const uint32_t>(column));

  auto low = [&](size_t k) {
    return static_cast<uint32_t>(Progression::of(pieces[k].value, stride(k), length(k)).first);
  };
  std::vector<uint32_t> by_low(count_);
  std::iota(by_low.begin(), by_low.end(), 0);
  std::sort(by_low.begin(), by_low.end(), [&](uint32_t a, uint32_t b) { return low(a) < low(b); });
  bool identity = std::is_sorted(by_low.begin(), by_low.end());
  std::vector<uint32_t> place(count_);
  for (uint32_t j = 0; j < count_; ++j) place[by_low[j]] = j;
  if (!identity) order_ = PackedPermutation(place);
  for (uint32_t j = 0; j < count_; ++j) column[j] = low(by_low[j]);
  least_low_ = column[0];
  low_step_ = column[1] - column[0];
  bool even = true;
  for (uint32_t j = 2; j < count_; ++j) even = even && column[j] - column[j - 1] == low_step_;
  if (!even) lows_ = EliasFano(column);
}

int32_t ManyPieces::rank(int32_t w) const {
  if (w < 0 || static_cast<uint32_t>(w) < least_low_) return -1;
  uint64_t past = uint64_t{static_cast<uint32_t>(w)} + 1;
  // The number of pieces whose low is at most w. Without overlaps only the last of them can have w.
  uint32_t j = lows_.size() ? lows_.count_below(past)
                            : std::min<uint32_t>(
                                  count_, (static_cast<uint32_t>(w) - least_low_) / low_step_ + 1);
  while (j-- > 0) {
    uint32_t k = order_.size() ? order_.inverse(j) : j;
    Piece piece = piece_at(k);
    int32_t i = rank_in(piece, static_cast<int32_t>(cuts_.end(k)) - piece.index, w);
    if (i >= 0 || !overlaps_) return i;
  }
  return -1;
}

const GroupMap* make(std::span<const Piece> pieces, int32_t size, std::string* why) {
  bool overlaps = false;
  if (!check_pieces(pieces, size, &overlaps, why)) return nullptr;
  if (pieces.size() <= kFewPieces) return new FewPieces(pieces, size);
  if (int32_t block = block_length(pieces, size))
    return new ManyPieces(in_blocks(pieces, size, block), size, overlaps);
  return new ManyPieces(pieces, size, overlaps);
}

std::optional<Cost> estimate_piecewise(const Stats& stats) {
  if (!stats.pieces_complete || stats.size == 0) return std::nullopt;
  size_t count = stats.pieces.size();
  if (count <= kFewPieces) {
    double bytes = sizeof(MapRef) + sizeof(FewPieces) + static_cast<double>(count * sizeof(Piece));
    return Cost{bytes, 2 + 0.3 * static_cast<double>(count)};
  }
  int32_t length = block_length(stats.pieces, stats.size);
  bool equal = length > 0, same = true, identity = true;
  int32_t least = INT32_MAX, most = INT32_MIN;
  for (size_t k = 0; k < count; ++k) {
    const Piece& piece = stats.pieces[k];
    int32_t stride = stats.length(k) == 1 ? 1 : piece.stride;
    least = std::min(least, stride);
    most = std::max(most, stride);
    identity = identity && stride > 0 && (k == 0 || piece.value > stats.pieces[k - 1].value);
  }
  same = least == most;
  if (equal) count = static_cast<size_t>((stats.size + length - 1) / length);
  // Blocks that tile their range: their lows are evenly spaced.
  bool even = equal && same && std::abs(most) == 1 && stats.span() == stats.size &&
              stats.size % length == 0;
  double pieces = static_cast<double>(count);
  double bytes = sizeof(MapRef) + sizeof(ManyPieces);
  if (!equal) bytes += EliasFano::expected_bytes(pieces, stats.size);
  if (!same) bytes += pieces * bit_width(static_cast<uint64_t>(int64_t{most} - least)) / 8;
  if (!even) bytes += EliasFano::expected_bytes(pieces, stats.max);
  if (!identity) bytes += PackedPermutation::expected_bytes(pieces);
  double ns = 4.5 + (equal ? 0 : 16) + (even ? 0 : 5) + (same ? 0 : 2);
  return Cost{bytes, ns + memory_ns(bytes)};
}

const GroupMap* build_piecewise(std::span<const int32_t>, const Stats& stats, std::string* why) {
  if (stats.pieces_complete && stats.size) return make(stats.pieces, stats.size, why);
  invalid(why, stats.size ? "it has too many pieces" : "it is empty");
  return nullptr;
}

const GroupMap* read_piecewise(ByteReader& in, int32_t size, int) {
  // A piece takes three bytes at least.
  size_t count = static_cast<size_t>(in.varint(in.left() / 3));
  std::vector<Piece> pieces;
  int64_t index = 0, next = 0;
  for (size_t k = 0; k < count && !in.failed(); ++k) {
    int64_t length = static_cast<int64_t>(in.varint(static_cast<uint64_t>(size - index)));
    int64_t stride = in.zigzag(), value = in.zigzag();
    if (stride < -INT32_MAX || stride > INT32_MAX || value < -(int64_t{1} << 62) ||
        value > int64_t{1} << 62)
      return nullptr;
    value += next;
    if (value < 0 || value > INT32_MAX || length < 1) return nullptr;
    pieces.push_back(
        {static_cast<int32_t>(index), static_cast<int32_t>(value), static_cast<int32_t>(stride)});
    index += length;
    next = value + length * stride;
  }
  if (in.failed() || index != size || pieces.empty()) return nullptr;
  return make(pieces, size, nullptr);
}

}  // namespace

extern const EncodingInfo encoding_piecewise = {
    Encoding::piecewise, "piecewise", estimate_piecewise, true, build_piecewise, read_piecewise};

}  // namespace fgmpi::groupmap
