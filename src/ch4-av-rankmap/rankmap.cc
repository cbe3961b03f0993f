// Rank maps: finding the model of a list of ranks, composing models, comparing and serialising
// maps.

#include "ch4-av-rankmap/rankmap.h"

#include <algorithm>
#include <vector>

#include "base/settings.h"
#include "ch4-av-rankmap/mlut.h"
#include "ch4-av-rankmap/travel.h"
#include "groupmap/algebra.h"
#include "groupmap/codec.h"
#include "groupmap/composite.h"

namespace fgmpi {

using groupmap::MapRef;
using groupmap::Regular;
using groupmap::Shape;
using groupmap::Strategy;

namespace {

constexpr int32_t kChunk = 256;  // on a proclet's stack

Strategy g_strategy;

/// Calls f(first, worlds) for consecutive stretches of world ranks, in rank order; stops when f
/// returns false.
template <class F>
bool for_chunks(const RankMap& map, F&& f) {
  int32_t worlds[kChunk];
  for (int32_t first = 0; first < map.size(); first += kChunk) {
    int32_t count = std::min(kChunk, map.size() - first);
    map.world_range(first, count, worlds);
    if (!f(first, std::span<const int32_t>(worlds, count))) return false;
  }
  return true;
}

/// Ranks [*first, *last) of a map with one level have their world rank in [low, high).
void solve(const Regular& shape, int64_t low, int64_t high, int64_t* first, int64_t* last) {
  int64_t size = shape.level[0].count, stride = shape.level[0].stride;
  auto ceil_div = [](int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); };
  if (size <= 1) stride = 1;
  if (stride > 0) {
    *first = ceil_div(low - shape.offset, stride);
    *last = ceil_div(high - shape.offset, stride);
  } else {  // low <= offset - r*s < high, s = -stride
    *first = ceil_div(shape.offset - high + 1, -stride);
    *last = ceil_div(shape.offset - low + 1, -stride);
  }
  *first = std::clamp<int64_t>(*first, 0, size);
  *last = std::clamp<int64_t>(*last, *first, size);
}

/// True when the map is one level; then its shape is in *shape.
bool one_level(const MapRef& map, Regular* shape) {
  return map.shape() <= Shape::kStride && map.as_regular(shape) && shape->levels == 1;
}

}  // namespace

RankMap RankMap::strided(int32_t size, int32_t offset, int32_t stride) {
  Regular shape = Regular::stride(size, offset, stride);
  shape.normalize();
  return RankMap(MapRef(shape));
}

RankMap RankMap::from_ranks(std::span<const int32_t> world_ranks) {
  return from_ranks(world_ranks, g_strategy);
}

RankMap RankMap::from_ranks(std::span<const int32_t> world_ranks, const Strategy& strategy) {
  MapRef map;
  Regular shape;
  // An encoding that the strategy names is used for regular groups too, so that users can compare
  // encodings.
  bool named =
      strategy.goal == Strategy::Goal::kNamed && strategy.encoding != groupmap::Encoding::regular;
  if (!named && groupmap::detect_regular(world_ranks, &shape)) return RankMap(MapRef(shape));
  Status status = groupmap::build(world_ranks, strategy, &map);
  // The encoding that the strategy names may be unable to hold this group; the hybrid choice always
  // can.
  if (!status.ok()) status = groupmap::build(world_ranks, Strategy::hybrid(), &map);
  FGMPI_CHECK(status.ok());
  return RankMap(std::move(map));
}

// Table II of IPDPS'17, extended by our models and by negative strides (which make stride o offset
// and stride o stride regular again). "lut" entries of regular parents and children are then
// reduced if the result happens to be regular.
RankMap::Model RankMap::compose_model(Model parent, Model child) {
  using enum Model;
  constexpr Model kTable[8][7] = {
      // child: empty   direct          offset  stride   blockstride   md              lut
      /* empty  */ {kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty},
      /* direct */ {kEmpty, kDirect, kOffset, kStride, kBlockStride, kMdBlockStride, kLut},
      /* offset */ {kEmpty, kOffset, kOffset, kStride, kBlockStride, kMdBlockStride, kLut},
      /* stride */ {kEmpty, kStride, kStride, kStride, kMdBlockStride, kMdBlockStride, kLut},
      /* block  */ {kEmpty, kBlockStride, kLut, kLut, kLut, kLut, kLut},
      /* md     */ {kEmpty, kMdBlockStride, kLut, kLut, kLut, kLut, kLut},
      /* lut    */ {kEmpty, kLut, kLut, kLut, kLut, kLut, kLut},
      /* mlut   */ {kEmpty, kMlut, kMlut, kMlut, kMlut, kMlut, kMlut},
  };
  FGMPI_ASSERT(child != kMlut);
  return kTable[static_cast<int>(parent)][static_cast<int>(child)];
}

RankMap RankMap::compose(const RankMap& parent, const RankMap& child) {
  FGMPI_ASSERT(!mlut_of(child));
  if (child.size() == 0) return {};
  if (child.model() == Model::kDirect && child.size() == parent.size()) return parent;
  if (parent.model() == Model::kDirect) return child;
  Regular outer, inner;
  if (one_level(parent.map_, &outer) && child.map_.as_regular(&inner)) {
    int32_t stride = outer.level[0].stride;
    inner.offset = outer.offset + stride * inner.offset;
    for (int32_t k = 0; k < inner.levels; ++k) inner.level[k].stride *= stride;
    inner.normalize();
    return RankMap(MapRef(inner));
  }
  std::vector<int32_t> worlds(static_cast<size_t>(child.size()));
  child.world_range(0, child.size(), worlds.data());
  if (parent.map_.shape() == Shape::kStored && child.size() > parent.size() / 8) {
    std::vector<int32_t> all = parent.map_.expand();
    for (int32_t& w : worlds) w = all[static_cast<size_t>(w)];
  } else {
    for (int32_t& w : worlds) w = parent.world_of(w);
  }
  if (mlut_of(parent)) return merged_map_of(worlds);
  return from_ranks(worlds);
}

RankMap RankMap::permuted(const RankMap& parent, const RankMap& child) {
  if (parent.regular() || child.regular() || mlut_of(child)) return child;
  if (child.identical(parent)) return parent;
  MapRef map;
  Status status = groupmap::share_permuted(parent.map_, child.map_.expand(), &map);
  FGMPI_CHECK(status.ok());
  return RankMap(std::move(map));
}

RankMap::Model RankMap::model() const {
  if (map_.size() == 0) return Model::kEmpty;
  switch (map_.shape()) {
    case Shape::kDirect:
      return Model::kDirect;
    case Shape::kOffset:
      return Model::kOffset;
    case Shape::kStride:
      return Model::kStride;
    case Shape::kBlockStride:
      return Model::kBlockStride;
    case Shape::kMdBlockStride:
      return Model::kMdBlockStride;
    case Shape::kStored:
      break;
  }
  return mlut_of(*this) ? Model::kMlut : Model::kLut;
}

const char* RankMap::model_name(Model model) {
  constexpr const char* kNames[] = {"empty",       "direct",         "offset", "stride",
                                    "blockstride", "md-blockstride", "lut",    "mlut"};
  return kNames[static_cast<int>(model)];
}

void RankMap::ranks_within(int32_t low, int32_t high, std::vector<int32_t>* ranks) const {
  if (high <= low || size() == 0) return;
  Regular shape;
  if (one_level(map_, &shape)) {
    int64_t first, last;
    solve(shape, low, high, &first, &last);
    for (int64_t r = first; r < last; ++r) ranks->push_back(static_cast<int32_t>(r));
    return;
  }
  // Few world ranks are looked up one by one; for many, the whole map is walked over. A look-up in
  // a stored map costs about as much as 16 steps of a walk.
  int64_t asks = (int64_t{high} - low) * (map_.shape() == Shape::kStored ? 16 : 1);
  if (asks < size()) {
    size_t old = ranks->size();
    for (int32_t w = low; w < high; ++w)
      if (int32_t r = rank_of(w); r >= 0) ranks->push_back(r);
    std::sort(ranks->begin() + static_cast<std::ptrdiff_t>(old), ranks->end());
    return;
  }
  for_chunks(*this, [&](int32_t first, std::span<const int32_t> worlds) {
    for (size_t k = 0; k < worlds.size(); ++k)
      if (worlds[k] >= low && worlds[k] < high) ranks->push_back(first + static_cast<int32_t>(k));
    return true;
  });
}

int32_t RankMap::count_within(int32_t low, int32_t high) const {
  if (high <= low || size() == 0) return 0;
  Regular shape;
  if (one_level(map_, &shape)) {
    int64_t first, last;
    solve(shape, low, high, &first, &last);
    return static_cast<int32_t>(last - first);
  }
  int32_t count = 0;
  int64_t asks = (int64_t{high} - low) * (map_.shape() == Shape::kStored ? 16 : 1);
  if (asks < size()) {
    for (int32_t w = low; w < high; ++w) count += rank_of(w) >= 0;
    return count;
  }
  for_chunks(*this, [&](int32_t, std::span<const int32_t> worlds) {
    for (int32_t w : worlds) count += w >= low && w < high;
    return true;
  });
  return count;
}

bool RankMap::identical(const RankMap& other) const {
  return groupmap::compare(map_, other.map_) == groupmap::Comparison::kIdentical;
}

bool RankMap::similar(const RankMap& other) const {
  return groupmap::compare(map_, other.map_) != groupmap::Comparison::kUnequal;
}

constexpr uint32_t kBetweenGroups = uint32_t{1} << 31;

// Wire form: u32 length (little endian) | that many bytes of groupmap's wire form. With the
// length's top bit set, the bytes are those of travel.h: the map has members of other jobs.
void RankMap::serialize(std::vector<uint8_t>* out, bool between_groups) const {
  size_t at = out->size();
  out->resize(at + 4);
  between_groups |= has_foreign(*this);
  if (between_groups)
    write_travelling(*this, out);
  else
    map_.serialize(*out);
  size_t length = out->size() - at - 4;
  FGMPI_CHECK(length < kBetweenGroups);
  if (between_groups) length |= kBetweenGroups;
  for (int k = 0; k < 4; ++k)
    (*out)[at + static_cast<size_t>(k)] = static_cast<uint8_t>(length >> (8 * k));
}

Status RankMap::deserialize(std::span<const uint8_t> in, size_t* used, RankMap* out) {
  *used = 0;
  if (in.size() < 4)
    return error(groupmap::kErrOther, "a rank map of %zu bytes is refused: it has no length",
                 in.size());
  size_t length = in[0] | uint32_t{in[1]} << 8 | uint32_t{in[2]} << 16 | uint32_t{in[3]} << 24;
  bool between_groups = length & kBetweenGroups;
  length &= ~size_t{kBetweenGroups};
  if (in.size() - 4 < length)
    return error(groupmap::kErrOther, "a rank map of %zu bytes is refused: %zu bytes are there",
                 length, in.size() - 4);
  if (between_groups) {
    FGMPI_TRY(read_travelling(in.subspan(4, length), out));
    *used = 4 + length;
    return {};
  }
  MapRef map;
  FGMPI_TRY(MapRef::deserialize(in.subspan(4, length), &map));
  *used = 4 + length;
  *out = RankMap(std::move(map));
  return {};
}

const Strategy& RankMap::strategy() { return g_strategy; }
void RankMap::set_strategy(const Strategy& strategy) { g_strategy = strategy; }

Status RankMap::configure() {
  return groupmap::parse_strategy(settings::text(settings::kGroupmap), &g_strategy);
}

}  // namespace fgmpi
