// complement: a dense ordered group as a range or stride and the ranks of it that the group lacks.
//
//   range     0 1 2 3 4 5 6 7 8 9        least + k*step, k = 0..n+missing-1
//   group     0 1   3 4     7 8 9
//   missing       2     5 6
//   before        2     4 4              missing(k) - k: members before it; an Elias-Fano sequence
//
//   select(i) = least + step * (i + number of `before` <= i)
//
// When it wins: a world without a few ranks (all but one of a million: under 200 bytes), or without
// a sparse, irregular set of ranks (the primes: 27 KB where a bitmap takes 61). Costs: 2.4 +
// log2(n/missing) bits a missing rank; select is one Elias-Fano rank; rank a short binary search.
#include <algorithm>

#include "groupmap/elias_fano.h"

namespace fgmpi::groupmap {
namespace {

// select only counts in the sequence, so samples for finding its numbers by index may be sparse.
constexpr EliasFano::Sampling kSampling = {9, 7};

/// The number of ranks that the group's range or stride has and the group lacks.
int64_t missing_count(const Stats& stats) {
  return stats.gcd ? (int64_t{stats.max} - stats.min) / stats.gcd + 1 - stats.size : 0;
}

bool is_worthwhile_as_complement(const Stats& stats) {
  return stats.ordered && stats.size > 1 && missing_count(stats) <= int64_t{8} * stats.size;
}

class ComplementMap final : public GroupMap {
 public:
  ComplementMap(EliasFano before, int32_t size, int32_t least, uint32_t step)
      : GroupMap(Encoding::complement, size, true),
        before_(std::move(before)),
        divisor_(step),
        least_(least),
        step_(step) {}

  int32_t select(int32_t i) const override {
    uint32_t at = static_cast<uint32_t>(i);
    return static_cast<int32_t>(least_ + (at + before_.count_below(uint64_t{at} + 1)) * step_);
  }
  int32_t rank(int32_t w) const override {
    if (w < least_) return -1;
    uint32_t difference = static_cast<uint32_t>(w) - least_, at = divisor_.divide(difference);
    if (at * step_ != difference) return -1;
    // The number of missing ranks below `at` lies between `low` and `high`, which follow from
    // counts of `before_`.
    uint32_t high = before_.count_below(at);
    uint32_t low = at > high ? before_.count_below(at - high) : 0;
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (before_[middle] + middle < at)
        low = middle + 1;
      else
        high = middle;
    }
    if (low < before_.size() && before_[low] + low == at) return -1;
    uint32_t i = at - low;
    return i < static_cast<uint32_t>(size()) ? static_cast<int32_t>(i) : -1;
  }
  void select_range(int32_t first, int32_t count, int32_t* out) const override {
    for_each_stretch(static_cast<uint32_t>(first), static_cast<uint32_t>(first + count),
                     [&](uint32_t i, uint32_t end, uint32_t gone) {
                       for (; i < end; ++i)
                         *out++ = static_cast<int32_t>(least_ + (i + gone) * step_);
                     });
  }
  bool pieces(std::vector<Piece>& out) const override {
    for_each_stretch(0, static_cast<uint32_t>(size()), [&](uint32_t i, uint32_t, uint32_t gone) {
      out.push_back({static_cast<int32_t>(i), static_cast<int32_t>(least_ + (i + gone) * step_),
                     static_cast<int32_t>(step_)});
    });
    return true;
  }
  size_t bytes() const override { return sizeof(*this) + before_.heap_bytes(); }
  bool validate(std::string* reason) const override {
    uint32_t missing = before_.size();
    if (missing && before_[missing - 1] > static_cast<uint32_t>(size()))
      return invalid(reason, "a missing rank after the last member");
    uint64_t last = uint64_t{static_cast<uint32_t>(size())} + missing;
    if (last && least_ + (last - 1) * step_ > INT32_MAX)
      return invalid(reason, "the last member is over 2^31-1");
    return true;
  }
  void write(ByteWriter& out) const override {
    out.varint(static_cast<uint32_t>(least_));
    out.varint(step_);
    out.varint(before_.size());
    before_.write(out);
  }

 private:
  /// Calls f(first, past, missing) for each stretch of group ranks within [i, end) whose world
  /// ranks have no missing rank between them; `missing` counts the missing ranks before it.
  template <class F>
  void for_each_stretch(uint32_t i, uint32_t end, F f) const {
    uint32_t gone = before_.count_below(uint64_t{i} + 1);
    uint32_t chunk[256];
    uint32_t have = 0, at = 0, next = gone;
    while (i < end) {
      if (at == have) {
        at = 0;
        have = std::min<uint32_t>(256, before_.size() - next);
        before_.range(next, have, chunk);
        next += have;
      }
      uint32_t stop = at < have ? std::min(end, chunk[at]) : end;
      if (i < stop) f(i, stop, gone);
      i = stop;
      for (; at < have && chunk[at] <= i; ++at) ++gone;
    }
  }

  EliasFano before_;
  FastDivisor divisor_;
  int32_t least_;
  uint32_t step_;
};

std::optional<Cost> estimate_complement(const Stats& stats) {
  if (!is_worthwhile_as_complement(stats)) return std::nullopt;
  double missing = static_cast<double>(missing_count(stats));
  double bytes = sizeof(MapRef) + sizeof(ComplementMap) +
                 EliasFano::expected_bytes(missing, stats.size, kSampling);
  return Cost{bytes, (missing < 8 ? 8 : 16) + 2 * memory_ns(bytes)};
}

const GroupMap* build_complement(std::span<const int32_t> ranks, const Stats& stats,
                                 std::string* why) {
  if (!is_worthwhile_as_complement(stats)) {
    invalid(why, stats.ordered ? "it lacks too much of its range" : "its ranks do not rise");
    return nullptr;
  }
  uint32_t step = stats.gcd;
  FastDivisor divisor(step);
  std::vector<uint32_t> before;
  before.reserve(static_cast<size_t>(missing_count(stats)));
  auto gap = [&](int32_t i, int32_t from, int32_t to) {
    for (uint32_t k = divisor.divide(static_cast<uint32_t>(to - from)); k > 1; --k)
      before.push_back(static_cast<uint32_t>(i));
  };
  if (stats.pieces_complete) {
    int32_t last = stats.min;
    for (size_t k = 0; k < stats.pieces.size(); ++k) {
      const Piece& piece = stats.pieces[k];
      gap(piece.index, last, piece.value);
      int32_t length = stats.length(k);
      if (piece.stride != static_cast<int32_t>(step))
        for (int32_t j = 1; j < length; ++j) gap(piece.index + j, 0, piece.stride);
      last = piece.value + (length - 1) * piece.stride;
    }
  } else {
    for (size_t i = 1; i < ranks.size(); ++i) gap(static_cast<int32_t>(i), ranks[i - 1], ranks[i]);
  }
  return new ComplementMap(EliasFano(before, kSampling), stats.size, stats.min, step);
}

const GroupMap* read_complement(ByteReader& in, int32_t size, int) {
  int32_t least = static_cast<int32_t>(in.varint(INT32_MAX));
  uint32_t step = static_cast<uint32_t>(in.varint(INT32_MAX));
  uint32_t missing = static_cast<uint32_t>(in.varint(INT32_MAX));
  EliasFano before = EliasFano::read(in, missing);
  if (in.failed() || step == 0) return nullptr;
  return new ComplementMap(std::move(before), size, least, step);
}

}  // namespace

extern const EncodingInfo encoding_complement = {Encoding::complement, "complement",
                                                 estimate_complement,  true,
                                                 build_complement,     read_complement};

}  // namespace fgmpi::groupmap
