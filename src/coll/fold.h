// Fold: reductions of members' contributions, in a fixed tree over ranks.
//
//   members in rank order    0 1 2 3 4 5 6       ((0 1)(2 3))((4 5) 6): the left part is the
//                            largest
//                            \/  \/  \/ |        power of two below the size, so the shape depends on
//                             \  /    \ |        the number of members alone, never on scheduling
//
// Operands are combined left with right as they lie in rank order, so operations need not commute.
// Long vectors are folded piece by piece: a piece of every member, then the next, so that partial
// results stay in the cache and each contribution is read from memory once; up to eight operands in
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
#include "host/op.h"

namespace fgmpi::coll {

/// What is reduced: `count` elements of `type` by `op`.
struct Reduction {
  const Type* type;
  int64_t count;
  MPI_Op op;
  bool commutative;

  /// A vector may be folded in parts. Not with a user's function: MPI allows that too (section
  /// 6.9.5), but programs written with other libraries expect to see the count that they gave.
  bool divisible() const { return host::is_predefined(op); }
  size_t bytes() const { return static_cast<size_t>(count * type->size()); }
  /// Elements lie in a row without gaps, so that any part of the vector is a run of bytes.
  bool dense() const {
    return type->contiguous() && type->extent() == type->size() && type->true_lb() == 0;
  }
};

/// Memory for `count` elements of a type, gaps and negative bounds included.
class Operand {
 public:
  Operand() = default;
  Operand(const Type& type, int64_t count);
  /// Where element 0 is, as MPI takes it.
  char* at() const { return at_; }

 private:
  Memory memory_;
  char* at_ = nullptr;
};

/// out = left op right, elementwise, where right may be overwritten: right becomes the result.
inline Status combine(const Reduction& r, const char* left, char* right, int64_t count) {
  return host::reduce_local(left, right, count, *r.type, r.op);
}
/// left = left op right. Needs a copy unless the operation commutes.
Status combine_left(const Reduction& r, char* left, char* right, int64_t count, char* spare);

/// Copies elements of the reduction's type.
Status copy_elements(const Reduction& r, const char* from, char* to, int64_t count);

/// One piece of the fold of several contributions.
class Fold {
 public:
  explicit Fold(const Reduction& r);
  /// Elements in a piece.
  int64_t piece() const { return piece_; }
  /// out = sources[0] op sources[1] op ... for elements first .. first+n-1 (n at most piece()),
  /// where sources and out point at element 0 of the piece's buffer: sources at element 0 of the
  /// vector, out at the piece's first element. out may be the place of a source only when it is the
  /// whole vector's.
  Status fold(std::span<const char* const> sources, int64_t first, int64_t n, char* out);

  /// out = left op right for n elements. out may be `right`; neither else is
  /// changed.
  Status join(const char* left, const char* right, int64_t n, char* out);

 private:
  /// Folds into `space`, or finds the one source where it is: *result is where.
  Status tree(std::span<const char* const> sources, size_t depth, char* space, const char** result);
  const Reduction& r_;
  const FanIn* kernels_;  ///< nullptr: by pairs
  int64_t piece_, n_ = 0;
  size_t offset_ = 0;
  std::vector<Operand> temps_;  ///< one a level of the tree
};

/// The whole vector: out = fold of all sources.
Status fold_all(const Reduction& r, std::span<const char* const> sources, char* out);

}  // namespace fgmpi::coll
