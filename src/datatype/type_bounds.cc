// Bounds, sizes and alignments of datatypes from their contents (MPI-4.0 sections 5.1.7 to 5.1.9).

#include <algorithm>
#include <limits>

#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "datatype/derived_type.h"
#include "datatype/type_source.h"

namespace fgmpi::datatype {
namespace {

using Wide = __int128;  // sums and products of numbers of 64 bits

bool fits(Wide value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

/// The bounds of blocks that are added one by one.
class BoundsSum {
 public:
  explicit BoundsSum(const TypeSource& source) : source_(source) {}

  /// Adds `length` elements of a type, the first at `at`.
  void add(const Type& type, int64_t length, Wide at) {
    if (length == 0) return;
    const TypeBounds one = source_.bounds(type);
    const Wide last = Wide{length - 1} * one.extent();
    const Wide down = std::min<Wide>(last, 0), up = std::max<Wide>(last, 0);
    add_bound(&lower_, one.lower, at + down, [](Wide a, Wide b) { return a < b; });
    add_bound(&upper_, one.upper, at + up, [](Wide a, Wide b) { return a > b; });
    add_size(Wide{source_.size(type)} * length);
    if (source_.size(type) > 0)
      add_data(at + down + source_.low(type), at + up + source_.high(type));
  }
  /// As `count` calls of add(type, length, i * stride).
  void add_loop(const Type& type, int64_t count, int64_t length, Wide stride) {
    if (count == 0 || length == 0) return;
    add(type, length, 0);
    if (count == 1 || !ok_) return;
    if (source_.bounds(type).lower.source != TypeBound::kNone) ok_ &= fits(stride);
    if (!ok_) return;
    add(type, length, stride * (count - 1));
    add_size(Wide{source_.size(type)} * length * (count - 2));
  }
  void mark(Wide low, Wide high) {
    lower_ = {low, TypeBound::kMarked};
    upper_ = {high, TypeBound::kMarked};
  }
  /// Rounds the extent up to a multiple of the alignment, unless a marker says what it is.
  void pad(int64_t alignment) {
    if (upper_.source != TypeBound::kData) return;
    const Wide extent = upper_.at - lower_.at;
    const Wide rest = (extent % alignment + alignment) % alignment;  // extents may be negative
    if (rest > 0) upper_.at += alignment - rest;
  }
  Status finish(TypeBounds* out) const {
    if (!ok_ || !fits(lower_.at) || !fits(upper_.at) || !fits(upper_.at - lower_.at))
      return error(MPI_ERR_ARG,
                   "the arguments describe a datatype with a size, a bound or an "
                   "extent of more than 63 bits; allowed are smaller ones");
    out->lower = {static_cast<int64_t>(lower_.at), lower_.source};
    out->upper = {static_cast<int64_t>(upper_.at), upper_.source};
    return {};
  }

 private:
  struct WideBound {
    Wide at = 0;
    TypeBound::BoundSource source = TypeBound::kNone;
  };
  // All sums stay within 128 bits, as nothing is added to what needs more than 63.
  void add_size(Wide bytes) {
    ok_ = ok_ && fits(bytes) && fits(size_ + bytes);
    if (ok_) size_ += bytes;
  }
  /// Adds data at the offsets from `low` to `high`; these may lie beyond marked bounds.
  void add_data(Wide low, Wide high) {
    low_ = has_data_ ? std::min(low_, low) : low;
    high_ = has_data_ ? std::max(high_, high) : high;
    has_data_ = true;
    ok_ = ok_ && fits(low) && fits(high) && fits(high_ - low_);
  }
  /// Markers beat data; of bounds from the same source the outer one is kept.
  template <class Beyond>
  void add_bound(WideBound* sum, const TypeBound& one, Wide moved, Beyond beyond) {
    if (one.source == TypeBound::kNone || one.source < sum->source) return;
    const Wide at = one.at + moved;
    if (one.source > sum->source || beyond(at, sum->at)) *sum = {at, one.source};
  }

  const TypeSource& source_;
  WideBound lower_, upper_;
  Wide size_ = 0;
  Wide low_ = 0, high_ = 0;  ///< of all data
  bool has_data_ = false;
  bool ok_ = true;
};

/// The elements of the whole array of which a subarray or a distributed array is a part.
Wide array_elements(const TypeContents& c) {
  Wide all = 1;
  for (const int64_t size : array_sizes(c)) {
    all *= size;
    if (!fits(all)) return std::numeric_limits<Wide>::max() / 2;
  }
  return all;
}

void add_array(const TypeSource& source, const TypeContents& c, BoundsSum* sum) {
  const int64_t extent = source.bounds(c.types[0]).extent();
  const Wide all = array_elements(c);
  const Wide bytes = fits(all) ? all * extent : all;
  if (fits(all)) sum->add(c.types[0], static_cast<int64_t>(all), 0);
  sum->mark(0, bytes);
}

void add_blocks(const TypeContents& c, BoundsSum* sum, const TypeSource& source) {
  const auto n = static_cast<uint64_t>(c.count(0));
  const bool of_struct = c.combiner == MPI_COMBINER_STRUCT;
  const Wide step = of_struct || n == 0 ? Wide{0} : Wide{source.bounds(c.types[0]).extent()};
  for (uint64_t i = 0; i < n; ++i) {
    const Type& type = c.types[of_struct ? i : 0];
    switch (c.combiner) {
      case MPI_COMBINER_INDEXED:
        sum->add(type, c.count(1 + i), c.count(1 + n + i) * step);
        break;
      case MPI_COMBINER_INDEXED_BLOCK:
        sum->add(type, c.count(1), c.count(2 + i) * step);
        break;
      case MPI_COMBINER_HINDEXED_BLOCK:
        sum->add(type, c.count(1), c.address(i, 2));
        break;
      default:  // hindexed and struct
        sum->add(type, c.count(1 + i), c.address(i, 1 + n));
    }
  }
}

}  // namespace

Status TypeSource::bounds_of(const TypeContents& c, TypeBounds* out) const {
  BoundsSum sum(*this);
  switch (c.combiner) {
    case MPI_COMBINER_DUP:
      sum.add(c.types[0], 1, 0);
      break;
    case MPI_COMBINER_RESIZED:
      sum.add(c.types[0], 1, 0);
      sum.mark(c.address(0, 0), Wide{c.address(0, 0)} + c.address(1, 0));
      break;
    case MPI_COMBINER_CONTIGUOUS:
      sum.add(c.types[0], c.count(0), 0);
      break;
    case MPI_COMBINER_VECTOR:
      sum.add_loop(c.types[0], c.count(0), c.count(1),
                   Wide{c.count(2)} * bounds(c.types[0]).extent());
      break;
    case MPI_COMBINER_HVECTOR:
      sum.add_loop(c.types[0], c.count(0), c.count(1), c.address(0, 2));
      break;
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
      add_array(*this, c, &sum);
      break;
    default:
      add_blocks(c, &sum, *this);
      if (c.combiner == MPI_COMBINER_STRUCT && !sizes_) sum.pad(alignment_of(c));
  }
  return sum.finish(out);
}

int64_t alignment_of(const Type& type) {
  return type.derived() ? type.derived()->alignment : basic_type(type.handle())->alignment;
}

int64_t alignment_of(const TypeContents& contents) {
  int64_t most = 1;
  const bool of_struct = contents.combiner == MPI_COMBINER_STRUCT;
  for (size_t i = 0; i < contents.types.size(); ++i) {
    const Type& type = contents.types[i];
    const bool has_data = type.size() > 0 && (!of_struct || contents.count(1 + i) > 0);
    if (has_data) most = std::max(most, alignment_of(type));
  }
  return most;
}

}  // namespace fgmpi::datatype
