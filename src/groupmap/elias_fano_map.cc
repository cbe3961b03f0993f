// elias-fano: an ordered group as an Elias-Fano sequence (elias_fano.h) of (rank - smallest) /
// step, where step divides all differences.
//
// When it wins: sparse or random ordered groups: within 13% of log2 of the binomial coefficient for
// 1,500 of a million. Costs: 2.5 + log2(span/step/n) bits a member; select a few nanoseconds more
// than a load; rank about twice that.
#include <algorithm>

#include "groupmap/elias_fano.h"

namespace fgmpi::groupmap {
namespace {

class EliasFanoMap final : public GroupMap {
 public:
  EliasFanoMap(EliasFano values, int32_t least, uint32_t step)
      : GroupMap(Encoding::elias_fano, static_cast<int32_t>(values.size()), true),
        values_(std::move(values)),
        divisor_(step),
        least_(least),
        step_(step) {}

  int32_t select(int32_t i) const override {
    return static_cast<int32_t>(least_ + values_[static_cast<uint32_t>(i)] * step_);
  }
  int32_t rank(int32_t w) const override {
    if (w < least_) return -1;
    uint32_t difference = static_cast<uint32_t>(w) - least_, value = divisor_.divide(difference);
    if (value * step_ != difference) return -1;
    uint32_t i = values_.count_below(value);
    return i < values_.size() && values_[i] == value ? static_cast<int32_t>(i) : -1;
  }
  void select_range(int32_t first, int32_t count, int32_t* out) const override {
    uint32_t* numbers = reinterpret_cast<uint32_t*>(out);
    values_.range(static_cast<uint32_t>(first), static_cast<uint32_t>(count), numbers);
    for (int32_t k = 0; k < count; ++k) numbers[k] = least_ + numbers[k] * step_;
  }
  size_t bytes() const override { return sizeof(*this) + values_.heap_bytes(); }
  bool validate(std::string* reason) const override {
    uint32_t n = values_.size();
    if (n && least_ + uint64_t{values_[n - 1]} * step_ > INT32_MAX)
      return invalid(reason, "the last member is over 2^31-1");
    for (uint32_t i = 1; i < n; ++i)
      if (values_[i] <= values_[i - 1]) return invalid(reason, "member %u does not rise", i);
    return true;
  }
  void write(ByteWriter& out) const override {
    out.varint(static_cast<uint32_t>(least_));
    out.varint(step_);
    values_.write(out);
  }

 private:
  EliasFano values_;
  FastDivisor divisor_;
  int32_t least_;
  uint32_t step_;
};

std::optional<Cost> estimate_elias_fano(const Stats& stats) {
  if (!stats.ordered || stats.size > 1 << 30) return std::nullopt;
  double universe = static_cast<double>(stats.span()) / std::max(1u, stats.gcd);
  double bytes =
      sizeof(MapRef) + sizeof(EliasFanoMap) + EliasFano::expected_bytes(stats.size, universe);
  return Cost{bytes, 8 + memory_ns(bytes)};
}

const GroupMap* build_elias_fano(std::span<const int32_t> ranks, const Stats& stats,
                                 std::string* why) {
  if (!stats.ordered || stats.size > 1 << 30) {
    invalid(why, stats.ordered ? "it has over 2^30 members" : "its ranks do not rise");
    return nullptr;
  }
  FastDivisor divisor(std::max(1u, stats.gcd));
  std::vector<uint32_t> values(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i)
    values[i] = divisor.divide(static_cast<uint32_t>(ranks[i] - stats.min));
  return new EliasFanoMap(EliasFano(values), stats.min, std::max(1u, stats.gcd));
}

const GroupMap* read_elias_fano(ByteReader& in, int32_t size, int) {
  int32_t least = static_cast<int32_t>(in.varint(INT32_MAX));
  uint32_t step = static_cast<uint32_t>(in.varint(INT32_MAX));
  EliasFano values = EliasFano::read(in, static_cast<uint32_t>(size));
  if (in.failed() || step == 0) return nullptr;
  return new EliasFanoMap(std::move(values), least, step);
}

}  // namespace

extern const EncodingInfo encoding_elias_fano = {Encoding::elias_fano, "elias-fano",
                                                 estimate_elias_fano,  false,
                                                 build_elias_fano,     read_elias_fano};

}  // namespace fgmpi::groupmap
