// The framework of group maps: lookups over ranges, the inline regular map, references.

#include "groupmap/groupmap.h"

#include <algorithm>

#include "groupmap/codec.h"

namespace fgmpi::groupmap {

void GroupMap::select_range(int32_t first, int32_t count, int32_t* out) const {
  for (int32_t k = 0; k < count; ++k) out[k] = select(first + k);
}

void GroupMap::ordered_range(int32_t first, int32_t count, int32_t* out) const {
  if (ordered_) return select_range(first, count, out);
  std::vector<int32_t> all(static_cast<size_t>(size_));
  select_range(0, size_, all.data());
  std::sort(all.begin(), all.end());
  std::copy_n(all.begin() + first, count, out);
}

int32_t GroupMap::select_cached(int32_t i, BlockCache&) const { return select(i); }

bool GroupMap::pieces(std::vector<Piece>&) const { return false; }

bool GroupMap::combine(const GroupMap&, SetOperation, MapRef*) const { return false; }

std::string GroupMap::describe() const { return encoding_name(encoding_); }

namespace {

bool rises(const Regular& shape) {
  int64_t reach = 0;
  for (int k = 0; k < shape.levels; ++k) {
    if (shape.level[k].stride <= reach && shape.level[k].count > 1) return false;
    reach += int64_t{shape.level[k].count - 1} * shape.level[k].stride;
  }
  return true;
}

}  // namespace

RegularMap::RegularMap(const Regular& shape)
    : GroupMap(Encoding::regular, static_cast<int32_t>(shape.size()), rises(shape)), eval(shape) {}

void RegularMap::select_range(int32_t first, int32_t count, int32_t* out) const {
  eval.select_range(first, count, out);
}

void RegularMap::ordered_range(int32_t first, int32_t count, int32_t* out) const {
  if (ordered()) return select_range(first, count, out);
  RegularEval(eval.shape().ascending()).select_range(first, count, out);
}

bool RegularMap::pieces(std::vector<Piece>& out) const {
  const Regular::Level& inner = eval.shape().level[0];
  int32_t step = static_cast<int32_t>(std::max(1u, inner.count));
  for (int64_t i = 0; i < size(); i += step)
    out.push_back({static_cast<int32_t>(i), select(static_cast<int32_t>(i)), inner.stride});
  return true;
}

bool RegularMap::validate(std::string* reason) const { return eval.shape().validate(reason); }

std::string RegularMap::describe() const { return shape_name(eval.shape().shape()); }

MapRef::MapRef(const Regular& given) {
  Regular shape = given;
  shape.normalize();
  size_ = static_cast<int32_t>(shape.size());
  offset_ = shape.offset;
  stride0_ = shape.level[0].stride;
  shape_ = shape.shape();
  way_ = shape_ <= Shape::kOffset ? kAdd : kOther;
  if (shape_ == Shape::kBlockStride) {
    stride1_ = shape.level[1].stride;
    count0_ = shape.level[0].count;
    extra_.divisor = FastDivisor(count0_);
  } else if (shape_ == Shape::kMdBlockStride) {
    map_ = new RegularMap(shape);
    map_->references_ = 1;
  }
}

MapRef::MapRef(const GroupMap* map) : size_(map->size()), shape_(Shape::kStored) {
  if (map->encoding() == Encoding::regular) {
    MapRef shape(static_cast<const RegularMap*>(map)->eval.shape());
    if (map->references_ == 0) delete map;
    swap(shape);
    return;
  }
  map_ = map;
  ++map->references_;
  extra_.table = map->table();
  way_ = extra_.table ? kTable : kOther;
}

int32_t MapRef::select_far(int32_t i) const {
  if (shape_ == Shape::kStored) return map_->select(i);
  if (shape_ == Shape::kMdBlockStride) return static_cast<const RegularMap*>(map_)->eval.select(i);
  uint32_t block = extra_.divisor.divide(static_cast<uint32_t>(i));
  return offset_ + static_cast<int32_t>(block) * stride1_ +
         static_cast<int32_t>(static_cast<uint32_t>(i) - block * count0_);
}

void MapRef::copy(const MapRef& other) {
  size_ = other.size_;
  offset_ = other.offset_;
  stride0_ = other.stride0_;
  stride1_ = other.stride1_;
  count0_ = other.count0_;
  shape_ = other.shape_;
  way_ = other.way_;
  extra_ = other.extra_;
  map_ = other.map_;
  if (map_) ++map_->references_;
}

void MapRef::swap(MapRef& other) noexcept {
  std::swap(size_, other.size_);
  std::swap(offset_, other.offset_);
  std::swap(stride0_, other.stride0_);
  std::swap(stride1_, other.stride1_);
  std::swap(count0_, other.count0_);
  std::swap(shape_, other.shape_);
  std::swap(way_, other.way_);
  std::swap(extra_, other.extra_);
  std::swap(map_, other.map_);
}

bool MapRef::as_regular(Regular* out) const {
  if (shape_ == Shape::kStored) return false;
  if (shape_ == Shape::kMdBlockStride) {
    *out = static_cast<const RegularMap*>(map_)->eval.shape();
  } else if (shape_ == Shape::kBlockStride) {
    *out = Regular::blockstride(size_, offset_, static_cast<int32_t>(count0_), stride1_);
  } else {
    *out = Regular::stride(size_, offset_, stride0_);
  }
  return true;
}

std::unique_ptr<RegularMap> MapRef::regular_object() const {
  Regular shape;
  return as_regular(&shape) ? std::make_unique<RegularMap>(shape) : nullptr;
}

int32_t MapRef::rank(int32_t w) const {
  if (shape_ <= Shape::kOffset) {
    int64_t i = int64_t{w} - offset_;
    return i >= 0 && i < size_ ? static_cast<int32_t>(i) : -1;
  }
  return map_ ? map_->rank(w) : regular_object()->rank(w);
}

void MapRef::select_range(int32_t first, int32_t count, int32_t* out) const {
  FGMPI_ASSERT(first >= 0 && count >= 0 && int64_t{first} + count <= size_);
  if (shape_ <= Shape::kStride) {
    for (int32_t k = 0; k < count; ++k) out[k] = offset_ + (first + k) * stride0_;
  } else {
    (map_ ? map_ : regular_object().get())->select_range(first, count, out);
  }
}

void MapRef::ordered_range(int32_t first, int32_t count, int32_t* out) const {
  FGMPI_ASSERT(first >= 0 && count >= 0 && int64_t{first} + count <= size_);
  (map_ ? map_ : regular_object().get())->ordered_range(first, count, out);
}

std::vector<int32_t> MapRef::expand() const {
  std::vector<int32_t> ranks(static_cast<size_t>(size_));
  select_range(0, size_, ranks.data());
  return ranks;
}

bool MapRef::ordered() const { return (map_ ? map_ : regular_object().get())->ordered(); }

Encoding MapRef::encoding() const {
  return shape_ == Shape::kStored ? map_->encoding() : Encoding::regular;
}

std::string MapRef::describe() const {
  return shape_ == Shape::kStored ? map_->describe() : shape_name(shape_);
}

bool MapRef::pieces(std::vector<Piece>& out) const {
  return (map_ ? map_ : regular_object().get())->pieces(out);
}

size_t MapRef::bytes() const { return sizeof(*this) + (map_ ? map_->bytes() : 0); }

bool MapRef::validate(std::string* reason) const {
  return (map_ ? map_ : regular_object().get())->validate(reason);
}

bool MapRef::same(const MapRef& other) const {
  if (map_ || other.map_) {
    Regular a, b;
    return map_ == other.map_ || (as_regular(&a) && other.as_regular(&b) && a == b);
  }
  if (size_ == 0 || other.size_ == 0) return size_ == other.size_;
  return size_ == other.size_ && offset_ == other.offset_ && stride0_ == other.stride0_ &&
         stride1_ == other.stride1_ && count0_ == other.count0_ && shape_ == other.shape_;
}

}  // namespace fgmpi::groupmap
