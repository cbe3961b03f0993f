// Detection of regular maps, and their evaluation in both directions.

#include "groupmap/regular.h"

#include <algorithm>
#include <numeric>

#include "groupmap/codec.h"

namespace fgmpi::groupmap {
namespace {

/// Insertion sort, for a handful of levels.
template <class T, class Less>
void sort_few(T* items, int count, Less less) {
  for (int k = 1; k < count; ++k)
    for (int j = k; j > 0 && less(items[j], items[j - 1]); --j) std::swap(items[j], items[j - 1]);
}

}  // namespace

const char* shape_name(Shape shape) {
  switch (shape) {
    case Shape::kDirect:
      return "direct";
    case Shape::kOffset:
      return "offset";
    case Shape::kStride:
      return "stride";
    case Shape::kBlockStride:
      return "blockstride";
    case Shape::kMdBlockStride:
      return "md-blockstride";
    case Shape::kStored:
      return "stored";
  }
  return "?";
}

Regular Regular::stride(int32_t size, int32_t offset, int32_t stride) {
  Regular shape;
  shape.offset = offset;
  shape.level[0] = {static_cast<uint32_t>(size), stride};
  shape.normalize();
  return shape;
}

Regular Regular::blockstride(int32_t size, int32_t offset, int32_t block, int32_t stride) {
  Regular shape;
  shape.offset = offset;
  shape.levels = 2;
  shape.level[0] = {static_cast<uint32_t>(block), 1};
  shape.level[1] = {static_cast<uint32_t>(size / block), stride};
  shape.normalize();
  return shape;
}

int64_t Regular::size() const {
  int64_t size = 1;
  for (int k = 0; k < levels && size < INT64_MAX >> 32; ++k) size *= level[k].count;
  return size;
}

Shape Regular::shape() const {
  if (levels == 1) {
    if (level[0].stride != 1) return Shape::kStride;
    return offset == 0 ? Shape::kDirect : Shape::kOffset;
  }
  return levels == 2 && level[0].stride == 1 ? Shape::kBlockStride : Shape::kMdBlockStride;
}

void Regular::normalize() {
  int kept = 0;
  for (int k = 0; k < levels; ++k) {
    Level next = level[k];
    if (next.count == 1) continue;
    bool continues = kept && int64_t{level[kept - 1].stride} * level[kept - 1].count == next.stride;
    if (continues && uint64_t{level[kept - 1].count} * next.count <= INT32_MAX)
      level[kept - 1].count *= next.count;
    else
      level[kept++] = next;
  }
  for (int k = kept; k < kMaxLevels; ++k) level[k] = Level();
  levels = std::max(kept, 1);
  if (size() == 0) {
    *this = Regular();
    level[0].count = 0;
  }
}

bool Regular::validate(std::string* reason) const {
  if (levels < 1 || levels > kMaxLevels)
    return invalid(reason, "%d levels; allowed is 1 to 6", levels);
  if (size() > INT32_MAX) return invalid(reason, "more than 2^31-1 members");
  if (size() == 0) return levels == 1 || invalid(reason, "an empty group of several levels");
  int64_t least = offset, most = offset;
  for (int k = 0; k < levels; ++k) {
    int64_t reach = int64_t{level[k].count - 1} * level[k].stride;
    (reach < 0 ? least : most) += reach;
  }
  if (least < 0 || most > INT32_MAX)
    return invalid(reason, "ranks from %lld to %lld", static_cast<long long>(least),
                   static_cast<long long>(most));
  // No rank occurs twice if each stride is longer than the sum of what all shorter ones reach.
  // (Interleaved levels can be one to one without this; detection never makes them.)
  uint8_t order[kMaxLevels] = {0, 1, 2, 3, 4, 5};
  auto length = [&](int k) { return std::abs(int64_t{level[k].stride}); };
  sort_few(order, levels, [&](int a, int b) { return length(a) < length(b); });
  int64_t reach = 0;
  for (int k = 0; k < levels; ++k) {
    if (level[order[k]].count == 1) continue;
    if (length(order[k]) <= reach) return invalid(reason, "levels overlap");
    reach += int64_t{level[order[k]].count - 1} * length(order[k]);
  }
  return true;
}

int32_t Regular::at(int64_t i) const {
  int64_t rank = offset;
  for (int k = 0; k < levels; ++k) {
    rank += i % level[k].count * level[k].stride;
    i /= level[k].count;
  }
  return static_cast<int32_t>(rank);
}

Regular Regular::ascending() const {
  Regular up = *this;
  for (int k = 0; k < levels; ++k) {
    Level& each = up.level[k];
    if (each.stride >= 0) continue;
    up.offset += static_cast<int32_t>(int64_t{each.count - 1} * each.stride);
    each.stride = -each.stride;
  }
  sort_few(up.level, up.levels, [](const Level& a, const Level& b) { return a.stride < b.stride; });
  up.normalize();
  return up;
}

bool Regular::operator==(const Regular& other) const {
  return offset == other.offset && levels == other.levels &&
         std::equal(level, level + levels, other.level);
}

bool detect_regular(std::span<const int32_t> ranks, Regular* out) {
  Regular shape;
  size_t n = ranks.size();
  if (n == 0) {
    *out = Regular::direct(0);
    return true;
  }
  shape.offset = ranks[0];
  shape.levels = 0;
  // The levels so far describe the first `done` elements; the next level repeats these at its
  // stride.
  size_t done = 1;
  while (done < n && shape.levels < Regular::kMaxLevels) {
    int64_t stride = int64_t{ranks[done]} - ranks[0];
    size_t count = 1;
    for (; done * count < n; ++count) {
      size_t base = done * count;
      if (base + done > n) return false;
      int64_t shift = stride * static_cast<int64_t>(count);
      size_t k = 0;
      while (k < done && ranks[base + k] - int64_t{ranks[k]} == shift) ++k;
      if (k == 0) break;
      if (k < done) return false;
    }
    shape.level[shape.levels++] = {static_cast<uint32_t>(count), static_cast<int32_t>(stride)};
    done *= count;
    if (count == 1) return false;
  }
  if (done != n) return false;
  if (shape.levels == 0) shape.levels = 1;
  shape.normalize();
  if (!shape.validate(nullptr)) return false;
  *out = shape;
  return true;
}

RegularEval::RegularEval(const Regular& shape) : shape_(shape) {
  for (int k = 0; k < Regular::kMaxLevels; ++k) {
    if (k + 1 < Regular::kMaxLevels) divisor_[k] = FastDivisor(std::max(1u, shape.level[k].count));
    order_[k] = static_cast<uint8_t>(k);
  }
  sort_few(order_, shape.levels, [&](int a, int b) {
    return std::abs(int64_t{shape.level[a].stride}) > std::abs(int64_t{shape.level[b].stride});
  });
}

int32_t RegularEval::rank(int32_t world_rank) const {
  // `rest` is the distance from the smallest member. The longest stride is subtracted as often as
  // it fits: shorter ones together cannot reach that far (validate()).
  int64_t rest = int64_t{world_rank} - shape_.offset;
  for (int k = 0; k < shape_.levels; ++k) {
    const Regular::Level& level = shape_.level[k];
    if (level.stride < 0) rest -= int64_t{level.count - 1} * level.stride;
  }
  if (rest < 0 || shape_.size() == 0) return -1;
  int64_t digit[Regular::kMaxLevels];
  for (int k = 0; k < shape_.levels; ++k) {
    const Regular::Level& level = shape_.level[order_[k]];
    int64_t length = std::abs(int64_t{level.stride});
    int64_t times = length ? std::min<int64_t>(rest / length, level.count - 1) : 0;
    rest -= times * length;
    digit[order_[k]] = level.stride < 0 ? level.count - 1 - times : times;
  }
  if (rest != 0) return -1;
  int64_t rank = 0;
  for (int k = shape_.levels - 1; k >= 0; --k) rank = rank * shape_.level[k].count + digit[k];
  return static_cast<int32_t>(rank);
}

void RegularEval::select_range(int32_t first, int32_t count, int32_t* out) const {
  const Regular::Level inner = shape_.level[0];
  while (count > 0) {
    int32_t rank = select(first);
    uint32_t digit = static_cast<uint32_t>(first) % inner.count;
    int32_t stretch = static_cast<int32_t>(std::min<uint32_t>(inner.count - digit, count));
    for (int32_t k = 0; k < stretch; ++k) out[k] = rank + k * inner.stride;
    out += stretch;
    first += stretch;
    count -= stretch;
  }
}

}  // namespace fgmpi::groupmap
