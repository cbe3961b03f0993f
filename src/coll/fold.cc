// The fixed tree in which the contributions of members are folded.

#include "coll/fold.h"

#include <algorithm>
#include <bit>

namespace fgmpi::coll {
namespace {
constexpr int64_t kPieceBytes = 8 * 1024;
}

Operand::Operand(const Type& type, int64_t count) {
  // Elements may lie below the address (negative lb) and, with a negative extent, in falling order.
  int64_t last = count > 0 ? (count - 1) * type.extent() : 0;
  int64_t low = type.true_lb() + std::min<int64_t>(0, last);
  int64_t high = type.true_lb() + type.true_extent() + std::max<int64_t>(0, last);
  memory_ = raw_memory(static_cast<size_t>(std::max<int64_t>(high - low, 1)) + 16);
  at_ = memory_.get() - low;
  // A user's own buffer would have this alignment.
  at_ += (16 - (reinterpret_cast<uintptr_t>(at_) & 15)) & 15;
}

Status combine_left(const Reduction& r, char* left, char* right, int64_t count, char* spare) {
  if (r.commutative) return combine(r, right, left, count);
  FGMPI_TRY(copy_elements(r, left, spare, count));
  FGMPI_TRY(copy_elements(r, right, left, count));
  return combine(r, spare, left, count);
}

Status copy_elements(const Reduction& r, const char* from, char* to, int64_t count) {
  return copy({const_cast<char*>(from), count, r.type}, {to, count, r.type});
}

Fold::Fold(const Reduction& r) : r_(r), kernels_(fan_in(r.op, *r.type)) {
  int64_t size = std::max<int64_t>(r.type->size(), 1);
  piece_ = std::max<int64_t>(r.divisible() ? kPieceBytes / size : r.count, 1);
}

Status Fold::fold(std::span<const char* const> sources, int64_t first, int64_t n, char* out) {
  n_ = n;
  // The offset is unsigned: with a negative extent its sum with an address wraps to the
  // right address.
  offset_ = static_cast<size_t>(first * r_.type->extent());
  const char* result;
  FGMPI_TRY(tree(sources, 0, out, &result));
  return result == out ? Status() : copy_elements(r_, result, out, n);
}

Status Fold::join(const char* left, const char* right, int64_t n, char* out) {
  if (kernels_) {
    const char* two[] = {left, right};
    kernels_->two(two, 0, out, n);
    return {};
  }
  if (right != out) FGMPI_TRY(copy_elements(r_, right, out, n));
  return combine(r_, left, out, n);
}

Status Fold::tree(std::span<const char* const> sources, size_t depth, char* space,
                  const char** result) {
  size_t size = sources.size();
  *result = space;
  if (size == 1) {
    *result = sources[0] + offset_;
    return {};
  }
  if (kernels_ && size <= 8 && std::has_single_bit(size)) {
    FanInKernel kernel = size == 8 ? kernels_->eight : size == 4 ? kernels_->four : kernels_->two;
    kernel(sources.data(), offset_, space, n_);
    return {};
  }
  size_t half = std::bit_floor(size - 1);
  const char *left, *right;
  if (half == 1) {
    FGMPI_TRY(tree(sources.first(half), depth, nullptr, &left));
  } else {
    if (temps_.size() <= depth) temps_.emplace_back(*r_.type, piece_);
    // temps_ may grow in the recursion; the memory of its operands does not move.
    FGMPI_TRY(tree(sources.first(half), depth + 1, temps_[depth].at(), &left));
  }
  FGMPI_TRY(tree(sources.subspan(half), depth + 1, space, &right));
  return join(left, right, n_, space);
}

Status fold_all(const Reduction& r, std::span<const char* const> sources, char* out) {
  Fold fold(r);
  for (int64_t first = 0; first < r.count; first += fold.piece())
    FGMPI_TRY(fold.fold(sources, first, std::min(fold.piece(), r.count - first),
                        out + first * r.type->extent()));
  return {};
}

}  // namespace fgmpi::coll
