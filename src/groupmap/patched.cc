// patched: a regular or piecewise group (the base) with a sorted list of exceptions.
//
//   group       0 1 2 9 4 5 6 7 8 3 10 11
//   base        0 1 2 3 4 5 6 7 8 9 10 11             any map, here the world
//   exceptions        3->9          9->3              by group rank
//
//   flags    | whether group ranks b*2^s .. have an exception |   a bit a bucket,
//                                                                 16 to 32 an exception
//   index    | group rank |                                       packed, as are
//   value    | world rank - smallest |
//   order    | by world rank |
//
// When it wins: groups with a few ranks moved or replaced: a world with 50 swaps takes 1.1 KB (WTR
// of the paper: 812). Costs: 7 to 11 bytes an exception and the base; select is the base's and the
// test of a flag, and a binary search where the flag is set, which is seldom; rank is the base's
// and a binary search.
#include "groupmap/patched.h"

#include <algorithm>
#include <numeric>

#include "groupmap/packed_vector.h"

namespace fgmpi::groupmap {
namespace {

/// Pieces of at least this length form the base.
constexpr int32_t kLongPiece = 6;
constexpr int kBucketsPerException = 32;  // at most; half as many at least

size_t most_exceptions(const Stats& stats) { return static_cast<size_t>(stats.size) / 16; }

class PatchedMap final : public GroupMap {
 public:
  PatchedMap(MapRef base, std::span<const Exception> exceptions);

  int32_t select(int32_t i) const override {
    uint32_t at = static_cast<uint32_t>(i);
    if (__builtin_expect(get_bit(flags_.data(), at >> shift_), 0)) {
      uint32_t k = indices_.lower_bound(at);
      if (k < indices_.size() && indices_[k] == at) return value(k);
    }
    return base_.select(i);
  }
  int32_t rank(int32_t w) const override {
    uint32_t low = 0, high = order_.size();
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (value(static_cast<uint32_t>(order_[middle])) < w)
        low = middle + 1;
      else
        high = middle;
    }
    if (low < order_.size()) {
      uint32_t k = static_cast<uint32_t>(order_[low]);
      if (value(k) == w) return index_of(k);
    }
    int32_t i = base_.rank(w);
    return i >= 0 && base_.select(i) == select(i) ? i : -1;
  }
  void select_range(int32_t first, int32_t count, int32_t* out) const override {
    if (count <= 0) return;
    base_.select_range(first, count, out);
    for (uint32_t k = indices_.lower_bound(static_cast<uint32_t>(first)); k < indices_.size();
         ++k) {
      int64_t i = index_of(k);
      if (i >= int64_t{first} + count) break;
      out[i - first] = value(k);
    }
  }
  size_t bytes() const override {
    return sizeof(*this) - sizeof(base_) + base_.bytes() + flags_.capacity() * sizeof(uint64_t) +
           indices_.heap_bytes() + values_.heap_bytes() + order_.heap_bytes();
  }
  bool validate(std::string* reason) const override {
    if (!base_.validate(reason)) return false;
    for (uint32_t j = 1; j < order_.size(); ++j)
      if (value(static_cast<uint32_t>(order_[j - 1])) >= value(static_cast<uint32_t>(order_[j])))
        return invalid(reason, "an exception occurs twice");
    // The base must not have an exception's world rank as a member as well, unless another
    // exception replaces it there.
    for (uint32_t k = 0; k < values_.size(); ++k) {
      int32_t i = base_.rank(value(k));
      if (i >= 0 && select(i) == value(k) && i != index_of(k))
        return invalid(reason, "world rank %d is in the base and an exception", value(k));
    }
    return true;
  }
  void write(ByteWriter& out) const override {
    write_map(base_, out);
    out.varint(indices_.size());
    int64_t before = -1;
    for (uint32_t k = 0; k < indices_.size(); ++k) {
      out.varint(static_cast<uint64_t>(index_of(k) - before - 1));
      out.varint(static_cast<uint32_t>(value(k)));
      before = index_of(k);
    }
  }
  std::string describe() const override {
    return "patched(" + base_.describe() + ", exceptions=" + std::to_string(indices_.size()) + ")";
  }

 private:
  int32_t value(uint32_t k) const { return least_ + static_cast<int32_t>(values_[k]); }
  int32_t index_of(uint32_t k) const { return static_cast<int32_t>(indices_[k]); }
  MapRef base_;
  std::vector<uint64_t> flags_;
  PackedVector indices_;
  PackedVector values_;
  PackedVector order_;
  int32_t least_ = 0;
  int shift_ = 0;
};

PatchedMap::PatchedMap(MapRef base, std::span<const Exception> exceptions)
    : GroupMap(Encoding::patched, base.size(), false), base_(std::move(base)) {
  uint32_t count = static_cast<uint32_t>(exceptions.size());
  uint64_t most_buckets = uint64_t{kBucketsPerException} * count + 64;
  while ((static_cast<uint64_t>(size()) >> shift_) >= most_buckets) ++shift_;
  flags_.assign(words_for((static_cast<uint64_t>(size()) >> shift_) + 1), 0);
  least_ = INT32_MAX;
  int32_t most = 0;
  for (const Exception& exception : exceptions) {
    set_bit(flags_.data(), static_cast<uint32_t>(exception.index) >> shift_);
    least_ = std::min(least_, exception.value);
    most = std::max(most, exception.value);
  }
  indices_ = PackedVector::make(count, bit_width(static_cast<uint64_t>(size())),
                                [&](uint32_t k) { return exceptions[k].index; });
  values_ = PackedVector::make(count, count ? bit_width(static_cast<uint64_t>(most - least_)) : 0,
                               [&](uint32_t k) { return exceptions[k].value - least_; });
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return exceptions[a].value < exceptions[b].value; });
  order_ = PackedVector::of(std::span<const uint32_t>(order));
}

std::optional<Cost> estimate_patched(const Stats& stats) {
  Patches patches;
  if (stats.regular || stats.ordered || !stats.pieces_complete) return std::nullopt;
  if (!find_patches(stats, most_exceptions(stats), &patches)) return std::nullopt;
  double count = static_cast<double>(patches.exceptions.size());
  Stats base = gather(patches.base, stats.size);
  double base_bytes = 0, base_ns = 0;
  if (base.regular) {
    base_ns = 1;
  } else {
    std::optional<Cost> cost = encoding_info(Encoding::piecewise)->estimate(base);
    base_bytes = cost->bytes;
    base_ns = cost->select_ns;
  }
  double bits = 0.75 * kBucketsPerException + bit_width(static_cast<uint64_t>(stats.size)) +
                bit_width(static_cast<uint64_t>(stats.span())) +
                bit_width(patches.exceptions.size());
  double bytes = sizeof(MapRef) + sizeof(PatchedMap) + 32 + base_bytes + count * bits / 8;
  return Cost{bytes, 2 + base_ns + memory_ns(bytes)};
}

const GroupMap* build_patched(std::span<const int32_t>, const Stats& stats, std::string* why) {
  Patches patches;
  if (stats.ordered || !stats.pieces_complete ||
      !find_patches(stats, most_exceptions(stats), &patches)) {
    invalid(why, "it is ordered, or not a piecewise regular group with few exceptions");
    return nullptr;
  }
  MapRef base;
  Status status =
      groupmap::build(patches.base, stats.size, Strategy::named(Encoding::piecewise), &base);
  if (!status.ok()) {
    invalid(why, "%s", status.what().c_str());
    return nullptr;
  }
  return new PatchedMap(std::move(base), patches.exceptions);
}

const GroupMap* read_patched(ByteReader& in, int32_t size, int depth) {
  std::optional<MapRef> base = read_map(in, nullptr, depth + 1);
  if (!base || base->size() != size) return nullptr;
  // An exception takes two bytes at least.
  size_t count = static_cast<size_t>(
      in.varint(std::min<uint64_t>(in.left() / 2, static_cast<uint64_t>(size))));
  std::vector<Exception> exceptions;
  int64_t index = -1;
  for (size_t k = 0; k < count && !in.failed(); ++k) {
    index += 1 + static_cast<int64_t>(in.varint(INT32_MAX));
    int32_t value = static_cast<int32_t>(in.varint(INT32_MAX));
    if (index >= size) return nullptr;
    exceptions.push_back({static_cast<int32_t>(index), value});
  }
  if (in.failed() || exceptions.empty()) return nullptr;
  return new PatchedMap(std::move(*base), exceptions);
}

}  // namespace

bool find_patches(const Stats& stats, size_t most, Patches* out) {
  // Long pieces on one line (value = a + b * index) become one piece of the base. All other members
  // are exceptions, or lie on the line by chance.
  for (size_t k = 0; k < stats.pieces.size(); ++k) {
    const Piece& piece = stats.pieces[k];
    if (stats.length(k) < kLongPiece) continue;
    if (!out->base.empty()) {
      const Piece& last = out->base.back();
      int64_t predicted = last.value + int64_t{last.stride} * (piece.index - last.index);
      if (last.stride == piece.stride && predicted == piece.value) continue;
    }
    out->base.push_back(piece);
  }
  if (out->base.empty()) return false;
  // Exceptions at the front precede every base piece: the first one is extended back to group rank
  // 0, if its value there is a valid rank.
  Piece& front = out->base.front();
  int64_t reach = front.value - int64_t{front.stride} * front.index;
  if (reach < 0 || reach > INT32_MAX) return false;
  front = {0, static_cast<int32_t>(reach), front.stride};
  size_t at = 0;
  for (size_t k = 0; k < stats.pieces.size(); ++k) {
    const Piece& piece = stats.pieces[k];
    for (int32_t j = 0, length = stats.length(k); j < length; ++j) {
      int32_t index = piece.index + j, value = piece.value + j * piece.stride;
      while (at + 1 < out->base.size() && out->base[at + 1].index <= index) ++at;
      const Piece& base = out->base[at];
      bool on_line = value == base.value + int64_t{base.stride} * (index - base.index);
      // If the first element of a piece of the same stride is on the line, all of them are.
      if (on_line && piece.stride == base.stride) break;
      if (on_line) continue;
      if (out->exceptions.size() == most) return false;
      out->exceptions.push_back({index, value});
    }
  }
  return !out->exceptions.empty();
}

extern const EncodingInfo encoding_patched = {
    Encoding::patched, "patched", estimate_patched, true, build_patched, read_patched};

}  // namespace fgmpi::groupmap
