// regular: range, stride, blockstride and md-blockstride as an entry of the table of encodings.
// regular.h describes these shapes and their costs; handles evaluate them (groupmap.h).
#include "groupmap/codec.h"

namespace fgmpi::groupmap {
namespace {

std::optional<Cost> estimate_regular(const Stats& stats) {
  if (!stats.regular) return std::nullopt;
  bool stored = stats.shape.shape() == Shape::kMdBlockStride;
  return Cost{sizeof(MapRef) + (stored ? sizeof(RegularMap) : 0.0), stored ? 2.0 : 0.8};
}

const GroupMap* build_regular(std::span<const int32_t>, const Stats& stats, std::string* why) {
  if (stats.regular) return new RegularMap(stats.shape);
  invalid(why, "its ranks are not regular");
  return nullptr;
}

const GroupMap* read_regular(ByteReader& in, int32_t size, int) {
  Regular shape;
  shape.levels = static_cast<int32_t>(in.varint(Regular::kMaxLevels));
  shape.offset = static_cast<int32_t>(in.varint(INT32_MAX));
  for (int k = 0; k < shape.levels; ++k) {
    shape.level[k].count = static_cast<uint32_t>(in.varint(INT32_MAX));
    int64_t stride = in.zigzag();
    if (stride < -INT32_MAX || stride > INT32_MAX) in.fail();
    shape.level[k].stride = static_cast<int32_t>(stride);
  }
  if (in.failed() || shape.size() != size || !shape.validate(nullptr)) return nullptr;
  shape.normalize();
  return new RegularMap(shape);
}

}  // namespace

extern const EncodingInfo encoding_regular = {
    Encoding::regular, "regular", estimate_regular, true, build_regular, read_regular};

}  // namespace fgmpi::groupmap
