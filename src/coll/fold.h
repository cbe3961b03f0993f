// Fold: reductions of members' contributions, in a fixed tree over ranks.
//
//   members in rank order    0 1 2 3 4 5 6    ((0 1)(2 3))((4 5) 6): the left operand is the
//                            \/  \/  \/ |    largest power of two below the size, so the shape
//                             \  /    \ |    depends on the number of members alone, never on
//                                             scheduling
//
// Operands are combined left with right in rank order, so operations need not commute. Long vectors
// are folded piece by piece: one piece of every member, then the next, so that partial results stay
// in the cache and each contribution is read from memory once. Up to eight operands are folded in
// one pass where fan_in.h has kernels.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "coll/args.h"
#include "coll/fan_in.h"
#include "coll/move.h"
#include "datatype/op.h"

namespace fgmpi::coll {

/// A reduction of `count` elements of `type` by `op`.
struct Reduction {
  const Type* type;
  int64_t count;
  MPI_Op op;
  bool commutative;

  /// True if a vector may be folded in parts. A user's function must get the whole vector: MPI
  /// allows parts there too (section 6.9.5), but programs written with other libraries expect the
  /// count that they gave.
  bool divisible() const { return datatype::is_predefined(op); }
  size_t bytes() const { return static_cast<size_t>(count * type->size()); }
  /// True if elements lie in a row without gaps, so that any range of the vector is a run of bytes.
  bool dense() const {
    return type->contiguous() && type->extent() == type->size() && type->true_lb() == 0;
  }
};

/// Memory for `count` elements of a type, including gaps and negative bounds.
class Operand {
 public:
  Operand() = default;
  Operand(const Type& type, int64_t count);
  /// The address of element 0 as MPI defines it: its data may begin before that (negative bound).
  char* at() const { return at_; }

 private:
  Memory memory_;
  char* at_ = nullptr;
};

/// Sets right = left op right, elementwise.
inline Status combine(const Reduction& r, const char* left, char* right, int64_t count) {
  return datatype::reduce_local(left, right, count, *r.type, r.op);
}
/// Sets left = left op right. `spare` holds a copy unless the operation commutes.
Status combine_left(const Reduction& r, char* left, char* right, int64_t count, char* spare);

/// Copies elements of the reduction's type.
Status copy_elements(const Reduction& r, const char* from, char* to, int64_t count);

/// One piece of the fold of several contributions.
class Fold {
 public:
  explicit Fold(const Reduction& r);
  /// The number of elements in a piece.
  int64_t piece() const { return piece_; }
  /// Sets out = sources[0] op sources[1] op ... for elements first .. first+n-1 (n at most
  /// piece()). The sources point at element 0 of the vector, `out` at the piece's first element.
  /// `out` may overlap a source only where it is element `first` of that source.
  Status fold(std::span<const char* const> sources, int64_t first, int64_t n, char* out);

  /// Sets out = left op right for n elements. `out` may be `right`; neither is changed otherwise.
  Status join(const char* left, const char* right, int64_t n, char* out);

 private:
  /// Folds into `space`; a single source is not copied. *result is the address of the fold.
  Status tree(std::span<const char* const> sources, size_t depth, char* space, const char** result);
  const Reduction& r_;
  const FanIn* kernels_;  ///< nullptr: fold by pairs
  int64_t piece_, n_ = 0;
  size_t offset_ = 0;
  std::vector<Operand> temps_;  ///< one a level of the tree
};

/// Folds whole vectors: out = fold of all sources.
Status fold_all(const Reduction& r, std::span<const char* const> sources, char* out);

}  // namespace fgmpi::coll
