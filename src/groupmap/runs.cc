// runs: an ordered group as its ranges of consecutive ranks.
//
//   group    3 4 5 | 9 10 11 | 20 21 | ...
//   first    0       3         6                group rank at which a run begins; implied when
//                                               all runs are equally long
//   shift    3       6        14                world rank - group rank within the run: rising
//
// Both are Elias-Fano sequences. When it wins: ordered unions of ranges: about 2 +
// log2(missing/runs) bits a run, and as much again unless the runs are equal. Costs: select(i) = i
// + shift[run of i], where the run is a division (equal runs) or an Elias-Fano rank; rank is a
// binary search over the runs.
#include <algorithm>

#include "groupmap/codec.h"
#include "groupmap/cuts.h"

namespace fgmpi::groupmap {
namespace {

struct ShiftRun {
  uint32_t first;
  uint32_t shift;
};

class RunsMap final : public GroupMap {
 public:
  /// REQUIRES: `shifts` has a number for each part of `cuts`.
  RunsMap(int32_t size, Cuts cuts, EliasFano shifts)
      : GroupMap(Encoding::runs, size, true), cuts_(std::move(cuts)), shifts_(std::move(shifts)) {}

  int32_t select(int32_t i) const override {
    return static_cast<int32_t>(i + shifts_[cuts_.part_of(static_cast<uint32_t>(i))]);
  }
  int32_t rank(int32_t w) const override {
    if (w < 0 || size() == 0) return -1;
    // Only the runs with a shift of at most w can begin at or before w.
    uint32_t low = 0, high = shifts_.count_below(uint64_t{static_cast<uint32_t>(w)} + 1);
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (cuts_.first(middle) + uint64_t{shifts_[middle]} <= static_cast<uint32_t>(w))
        low = middle + 1;
      else
        high = middle;
    }
    if (low == 0) return -1;
    uint32_t i = static_cast<uint32_t>(w) - shifts_[low - 1];
    return i < cuts_.end(low - 1) ? static_cast<int32_t>(i) : -1;
  }
  void select_range(int32_t first, int32_t count, int32_t* out) const override {
    if (count <= 0) return;
    uint32_t i = static_cast<uint32_t>(first), end = i + static_cast<uint32_t>(count);
    for (uint32_t run = cuts_.part_of(i); i < end; ++run) {
      uint32_t shift = shifts_[run], stop = std::min(end, cuts_.end(run));
      for (; i < stop; ++i) *out++ = static_cast<int32_t>(i + shift);
    }
  }
  bool pieces(std::vector<Piece>& out) const override {
    for (uint32_t run = 0; run < shifts_.size(); ++run) {
      uint32_t first = cuts_.first(run);
      out.push_back({static_cast<int32_t>(first), static_cast<int32_t>(first + shifts_[run]), 1});
    }
    return true;
  }
  size_t bytes() const override {
    return sizeof(*this) + cuts_.heap_bytes() + shifts_.heap_bytes();
  }
  bool validate(std::string* reason) const override {
    uint32_t runs = shifts_.size();
    if (runs != cuts_.parts()) return invalid(reason, "%u shifts for %u runs", runs, cuts_.parts());
    uint32_t before = 0;
    for (uint32_t run = 0; run < runs; ++run) {
      if (run && shifts_[run] <= before)
        return invalid(reason, "run %u touches the one before", run);
      before = shifts_[run];
      if (uint64_t{cuts_.end(run)} - 1 + before > INT32_MAX)
        return invalid(reason, "run %u is over 2^31-1", run);
    }
    return true;
  }
  void write(ByteWriter& out) const override {
    cuts_.write(out);
    shifts_.write(out);
  }

 private:
  Cuts cuts_;
  EliasFano shifts_;
};

/// The runs of an ordered group, from its pieces if there are any.
std::vector<ShiftRun> find_runs(std::span<const int32_t> ranks, const Stats& stats) {
  std::vector<ShiftRun> runs;
  runs.reserve(static_cast<size_t>(stats.unit_runs));
  auto add = [&](uint32_t first, int32_t value) {
    uint32_t shift = static_cast<uint32_t>(value) - first;
    if (runs.empty() || runs.back().shift != shift) runs.push_back({first, shift});
  };
  if (!stats.pieces_complete) {
    for (uint32_t i = 0; i < ranks.size(); ++i) add(i, ranks[i]);
    return runs;
  }
  for (size_t k = 0; k < stats.pieces.size(); ++k) {
    const Piece& piece = stats.pieces[k];
    int32_t elements = piece.stride == 1 ? 1 : stats.length(k);
    for (int32_t j = 0; j < elements; ++j)
      add(static_cast<uint32_t>(piece.index + j), piece.value + j * piece.stride);
  }
  return runs;
}

std::optional<Cost> estimate_runs(const Stats& stats) {
  if (!stats.ordered || stats.size == 0) return std::nullopt;
  bool equal = stats.pieces_complete && stats.pieces.size() == static_cast<size_t>(stats.unit_runs);
  for (size_t k = 0; equal && k + 1 < stats.pieces.size(); ++k)
    equal = stats.length(k) == stats.length(0);
  double runs = stats.unit_runs;
  double bytes = sizeof(MapRef) + sizeof(RunsMap) +
                 EliasFano::expected_bytes(runs, stats.max + 1.0 - stats.size, Cuts::kSampling);
  if (equal) return Cost{bytes, 8 + memory_ns(bytes)};
  bytes += EliasFano::expected_bytes(runs - 1, stats.size, Cuts::kSampling);
  return Cost{bytes, 26 + 2 * memory_ns(bytes)};
}

const GroupMap* build_runs(std::span<const int32_t> ranks, const Stats& stats, std::string* why) {
  if (!stats.ordered) {
    invalid(why, "its ranks do not rise");
    return nullptr;
  }
  std::vector<ShiftRun> runs = find_runs(ranks, stats);
  std::vector<uint32_t> firsts, shifts;
  for (const ShiftRun& run : runs) {
    firsts.push_back(run.first);
    shifts.push_back(run.shift);
  }
  return new RunsMap(stats.size, Cuts(firsts, static_cast<uint32_t>(stats.size)),
                     EliasFano(shifts, Cuts::kSampling));
}

const GroupMap* read_runs(ByteReader& in, int32_t size, int) {
  Cuts cuts = Cuts::read(in, static_cast<uint32_t>(size));
  if (in.failed()) return nullptr;
  EliasFano shifts = EliasFano::read(in, cuts.parts());
  return in.failed() ? nullptr : new RunsMap(size, std::move(cuts), std::move(shifts));
}

}  // namespace

extern const EncodingInfo encoding_runs = {Encoding::runs, "runs",     estimate_runs,
                                           true,           build_runs, read_runs};

}  // namespace fgmpi::groupmap
