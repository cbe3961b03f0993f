// packed: the world ranks in as few bits each as the largest difference from the smallest one
// needs.
//
//   smallest | wid(0) - smallest | wid(1) - smallest | ...      ceil(log2(span)) bits each
//
// When it wins: groups without structure, in any order: a random permutation of a million takes 20
// bits a member where log2(n!)/n is 18.5. Costs: select is an unaligned load and a shift; rank a
// binary search when ordered, else a scan.
#include <algorithm>

#include "groupmap/codec.h"
#include "groupmap/packed_vector.h"

namespace fgmpi::groupmap {
namespace {

class PackedMap final : public GroupMap {
 public:
  PackedMap(PackedVector values, int32_t least, bool ordered)
      : GroupMap(Encoding::packed, static_cast<int32_t>(values.size()), ordered),
        values_(std::move(values)),
        least_(least) {}

  int32_t select(int32_t i) const override { return least_ + static_cast<int32_t>(values_[i]); }
  int32_t rank(int32_t w) const override {
    if (w < least_) return -1;
    uint64_t value = static_cast<uint64_t>(int64_t{w} - least_);
    uint32_t low = ordered() ? values_.lower_bound(value) : 0;
    while (!ordered() && low < values_.size() && values_[low] != value) ++low;
    return low < values_.size() && values_[low] == value ? static_cast<int32_t>(low) : -1;
  }
  size_t bytes() const override { return sizeof(*this) + values_.heap_bytes(); }
  bool validate(std::string* reason) const override {
    std::vector<int32_t> all(static_cast<size_t>(size()));
    for (uint32_t i = 0; i < values_.size(); ++i) {
      if (least_ + values_[i] > INT32_MAX) return invalid(reason, "member %u is over 2^31-1", i);
      all[i] = select(static_cast<int32_t>(i));
    }
    return all_distinct(all) || invalid(reason, "a rank occurs twice");
  }
  void write(ByteWriter& out) const override {
    out.varint(static_cast<uint32_t>(least_));
    values_.write(out);
  }

 private:
  PackedVector values_;
  int32_t least_;
};

std::optional<Cost> estimate_packed(const Stats& stats) {
  double bytes =
      sizeof(MapRef) + sizeof(PackedMap) + 8 + bit_width(stats.span()) * (stats.size / 8.0);
  return Cost{bytes, 2.0 + memory_ns(bytes)};
}

const GroupMap* build_packed(std::span<const int32_t> ranks, const Stats& stats, std::string*) {
  int width = bit_width(static_cast<uint64_t>(stats.max) - static_cast<uint64_t>(stats.min));
  PackedVector values =
      PackedVector::make(static_cast<uint32_t>(ranks.size()), width,
                         [&](uint32_t i) { return static_cast<uint32_t>(ranks[i] - stats.min); });
  return new PackedMap(std::move(values), stats.min, stats.ordered);
}

const GroupMap* read_packed(ByteReader& in, int32_t size, int) {
  int32_t least = static_cast<int32_t>(in.varint(INT32_MAX));
  PackedVector values = PackedVector::read(in, static_cast<uint32_t>(size));
  if (in.failed() || values.width() > 31) return nullptr;
  bool ordered = true;
  for (uint32_t i = 1; i < values.size() && ordered; ++i) ordered = values[i - 1] < values[i];
  return new PackedMap(std::move(values), least, ordered);
}

}  // namespace

extern const EncodingInfo encoding_packed = {Encoding::packed, "packed",   estimate_packed, false,
                                             build_packed,     read_packed};

}  // namespace fgmpi::groupmap
