// The pass over a group's ranks that computes what strategies decide on.

#include "groupmap/stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace fgmpi::groupmap {
namespace {

// At kTrialPieces pieces, and at each doubling, a group whose pieces are shorter than
// kWorthwhileLength on average is probed at kProbes positions. If few probes find longer pieces,
// the list of pieces is dropped and the rest of the group is only counted.
constexpr size_t kTrialPieces = 256;
constexpr int32_t kWorthwhileLength = 3;
constexpr int32_t kProbes = 128;

/// Returns length * log2(length), from a table for short runs: random groups have hundreds of
/// thousands of them.
double weighted_log(int32_t length) {
  static const auto kShort = [] {
    std::array<double, 32> table{};
    for (size_t k = 2; k < table.size(); ++k)
      table[k] = static_cast<double>(k) * std::log2(static_cast<double>(k));
    return table;
  }();
  if (static_cast<size_t>(length) < kShort.size()) return kShort[length];
  return length * std::log2(static_cast<double>(length));
}

/// The running totals that change at the ends of pieces.
class PieceTotals {
 public:
  explicit PieceTotals(Stats& stats) : stats_(stats) {}

  /// Adds the next stretch of the group: `length` elements from `value` on by `stride`.
  void add(int32_t value, int32_t stride, int32_t length) {
    int32_t last = static_cast<int32_t>(value + int64_t{stride} * (length - 1));
    stats_.min = std::min({stats_.min, value, last});
    stats_.max = std::max({stats_.max, value, last});
    if (length > 1) divide(stride);
    if (!first_) divide(int64_t{value} - last_);
    if (!first_ && value < last_) end_ascent();
    if (first_ || value >> 16 != last_ >> 16) ++stats_.chunks;
    if (first_ || int64_t{value} != int64_t{last_} + 1) ++stats_.unit_runs;
    if (stride != 1) stats_.unit_runs += length - 1;
    if (stride > 0) {
      ascent_ += length;
      stats_.chunks += std::min(length - 1, (last >> 16) - (value >> 16));
    } else if (length > 1) {
      // In a falling stretch the first element ends the ascending run before it; the last element
      // may begin another.
      ++ascent_;
      end_ascent();
      stats_.ascending_runs += length - 2;
      ascent_ = 1;
    } else {
      ++ascent_;
    }
    last_ = last;
    first_ = false;
  }

  /// Counts the remaining ranks without listing pieces. The entropy of the runs is then only an
  /// upper bound.
  void count_rest(std::span<const int32_t> rest) {
    int32_t least = stats_.min, most = stats_.max, last = last_;
    uint32_t ascents = 0, units = 0, chunks = 0;
    for (int32_t rank : rest) {
      least = std::min(least, rank);
      most = std::max(most, rank);
      ascents += rank < last;
      units += static_cast<uint32_t>(rank) - static_cast<uint32_t>(last) != 1;
      chunks += rank >> 16 != last >> 16;
      last = rank;
    }
    stats_.min = least;
    stats_.max = most;
    stats_.unit_runs += static_cast<int32_t>(units);
    stats_.chunks += static_cast<int32_t>(chunks);
    for (size_t k = 0; k < rest.size() && stats_.gcd != 1; ++k) divide(int64_t{rest[k]} - last_);
    end_ascent();
    stats_.ascending_runs += static_cast<int32_t>(ascents);
    weighted_sum_ = 0;
    entropy_bound_ = std::log2(static_cast<double>(stats_.ascending_runs));
  }

  void finish() {
    if (ascent_) end_ascent();
    double n = stats_.size;
    stats_.run_entropy = entropy_bound_ >= 0 ? entropy_bound_
                         : n > 0             ? std::max(0.0, std::log2(n) - weighted_sum_ / n)
                                             : 0;
    stats_.ordered = stats_.ascending_runs <= 1;
    stats_.negative = stats_.min < 0;
  }

 private:
  void divide(int64_t difference) {
    if (stats_.gcd != 1)
      stats_.gcd = static_cast<uint32_t>(std::gcd(int64_t{stats_.gcd}, difference));
  }
  void end_ascent() {
    ++stats_.ascending_runs;
    weighted_sum_ += weighted_log(ascent_);
    ascent_ = 0;
  }

  Stats& stats_;
  bool first_ = true;
  int32_t last_ = 0;
  int32_t ascent_ = 0;  // length of the ascending run so far
  double weighted_sum_ = 0;
  double entropy_bound_ = -1;
};

/// The regular shape of pieces that are all alike, if their starts are regular.
bool regular_from_pieces(const Stats& stats, Regular* out) {
  size_t count = stats.pieces.size();
  int32_t length = stats.length(0);
  int32_t stride = stats.pieces[0].stride;
  if (length == 1) return false;
  std::vector<int32_t> starts(count);
  for (size_t k = 0; k < count; ++k) {
    if (stats.length(k) != length || stats.pieces[k].stride != stride) return false;
    starts[k] = stats.pieces[k].value;
  }
  Regular outer;
  if (!detect_regular(starts, &outer) || outer.levels == Regular::kMaxLevels) return false;
  std::copy_backward(outer.level, outer.level + outer.levels, outer.level + outer.levels + 1);
  outer.level[0] = {static_cast<uint32_t>(length), stride};
  ++outer.levels;
  outer.normalize();
  if (!outer.validate(nullptr)) return false;
  *out = outer;
  return true;
}

}  // namespace

namespace {

/// Finds the regular shape, if there is one, from `ranks` or, where these are empty, from the
/// pieces. Blocks of two whose gaps equal their stride are found from `ranks` only.
void find_shape(Stats& stats, std::span<const int32_t> ranks) {
  if (stats.negative) return;
  if (stats.pieces.size() == 1) {
    stats.regular = true;
    stats.shape = Regular::stride(stats.size, stats.pieces[0].value, stats.pieces[0].stride);
  } else {
    stats.regular = ranks.empty() ? regular_from_pieces(stats, &stats.shape)
                                  : detect_regular(ranks, &stats.shape);
  }
}

/// True where less than half of the probes find three elements at one stride.
bool is_random(std::span<const int32_t> ranks) {
  if (ranks.size() < 4 * kProbes) return true;
  int32_t strides = 0;
  for (size_t k = 0; k < kProbes; ++k) {
    const int32_t* at = ranks.data() + (ranks.size() - 3) * k / (kProbes - 1);
    strides += int64_t{at[1]} - at[0] == int64_t{at[2]} - at[1];
  }
  return strides < kProbes / 2;
}

Stats start(int64_t size) {
  Stats stats;
  stats.size = static_cast<int32_t>(size);
  stats.pieces_complete = true;
  stats.regular = size == 0;
  stats.shape = Regular::direct(0);
  if (size) stats.min = INT32_MAX, stats.max = INT32_MIN;
  return stats;
}

}  // namespace

std::vector<int32_t> expand(std::span<const Piece> pieces, int32_t size) {
  std::vector<int32_t> ranks(static_cast<size_t>(size));
  for (size_t k = 0; k < pieces.size(); ++k) {
    const Piece& piece = pieces[k];
    int32_t end = k + 1 < pieces.size() ? pieces[k + 1].index : size;
    for (int32_t i = piece.index; i < end; ++i)
      ranks[i] = static_cast<int32_t>(piece.value + int64_t{piece.stride} * (i - piece.index));
  }
  return ranks;
}

Stats gather(std::span<const Piece> pieces, int32_t size) {
  Stats stats = start(size);
  if (size == 0) return stats;
  PieceTotals totals(stats);
  // Pieces that happen to continue each other become one.
  int64_t follows = 0;
  for (const Piece& piece : pieces) {
    if (!stats.pieces.empty()) {
      const Piece& last = stats.pieces.back();
      follows = last.value + int64_t{piece.index - last.index} * last.stride;
      if (follows == piece.value && last.stride == piece.stride) continue;
    }
    stats.pieces.push_back(piece);
  }
  for (size_t k = 0; k < stats.pieces.size(); ++k)
    totals.add(stats.pieces[k].value, stats.pieces[k].stride, stats.length(k));
  totals.finish();
  // Expanding many short pieces costs little more than their list.
  bool shorts = stats.pieces.size() * 16 >= static_cast<size_t>(size);
  find_shape(stats, shorts ? expand(stats.pieces, size) : std::vector<int32_t>());
  return stats;
}

Stats gather(std::span<const int32_t> ranks) {
  Stats stats = start(static_cast<int64_t>(ranks.size()));
  if (ranks.empty()) return stats;
  PieceTotals totals(stats);
  const int32_t* r = ranks.data();
  int32_t n = stats.size;
  size_t trial = kTrialPieces;
  auto difference = [&](int32_t i) { return int64_t{r[i]} - r[i - 1]; };
  for (int32_t i = 0; i < n;) {
    int32_t j = i + 1;
    int64_t stride = 1;
    if (j < n) {
      stride = difference(j);
      while (++j < n && difference(j) == stride) {
      }
      // Two elements before a longer stretch: the first stands alone, the second begins the
      // stretch.
      if (j == i + 2 && j + 1 < n && difference(j) == difference(j + 1)) --j, stride = 1;
      // A stride outside of 32 bits (a jump between negative and large ranks) and a stride of 0 (a
      // rank that occurs twice) end the piece after one element.
      if (stride != static_cast<int32_t>(stride) || stride == 0) j = i + 1, stride = 1;
    }
    totals.add(r[i], static_cast<int32_t>(stride), j - i);
    stats.pieces.push_back({i, r[i], static_cast<int32_t>(stride)});
    i = j;
    if (stats.pieces.size() < trial) continue;
    trial *= 2;
    if (static_cast<size_t>(i) >= kWorthwhileLength * stats.pieces.size() ||
        !is_random(ranks.subspan(i)))
      continue;
    totals.count_rest(ranks.subspan(static_cast<size_t>(i)));
    stats.pieces_complete = false;
    stats.pieces = {};
    break;
  }
  totals.finish();
  find_shape(stats, ranks);
  return stats;
}

}  // namespace fgmpi::groupmap
