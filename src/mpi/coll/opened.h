// Opened groups: a collective that a rank is going to call again and again with the same arguments
// except its buffers (fgmpi.h: MPIX_Scatterv_open_group and its like). Opening only counts: it
// reads no argument but the communicator. The first movement checks and resolves its arguments and
// stores them. A later movement only compares its arguments with them, arrays by their values, and
// checks and resolves anew where they have changed.
//
// A movement is the collective itself: it matches the plain call of other members. While a group is
// open, the plain call is a movement as well (coll_args.h: blocking()), so it does not matter which
// of the two a rank calls.
//
// Opening and closing never fail. A compiler's pass may insert them without knowing whether the
// loop between them runs at all. Then it may pass a communicator that is none, arrays that do not
// exist yet, and close what was never opened.
//
// Thread rule: one thread. Opening and closing never switch; a movement does as its collective. A
// rank's opened groups are stored with its communicator. Arrays that are equal at collocated
// members are stored once.
#pragma once

#include <memory>
#include <vector>

#include "mpi/coll/coll_args.h"

namespace fgmpi::mpi {

/// The values of an array argument, shared by all calls in this process with equal values.
using SharedInts = std::shared_ptr<const std::vector<int>>;
SharedInts share_ints(const int* values, size_t n);

/// The arguments of a call.
struct GivenArguments {
  CollectiveKind kind;
  RootedArguments both;  ///< bcast: the buffer is `recv`

  /// Checks, and fills `args`.
  Status fill(comm::Comm* c, Args* args) const;
};

class OpenedGroup {
 public:
  /// Checks and stores these arguments. Errors: as those of the collective.
  Status open(comm::Comm* c, const GivenArguments& given);
  CollectiveKind kind() const { return kind_; }
  int root() const { return root_; }
  /// True where the arguments equal the stored ones except the buffers, and the buffers are of the
  /// kind that was checked.
  bool has(const comm::Comm* c, const GivenArguments& given) const;
  /// Runs the collective. REQUIRES: has(c, given), !moving. May switch.
  Status move(comm::Comm* c, const GivenArguments& given, const char* call);
  /// True during a movement: the group then stays at its address, although another thread of the
  /// rank may close it.
  bool moving = false;

 private:
  struct CopiedSide {
    bool matters = false;  ///< the side is significant at this rank
    int64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    SharedInts counts, displs, types;
    int buffer_kind = 0;
  };
  static Status copy_side(const CollectiveSide& part, size_t n, CopiedSide* out);
  static bool same_side(const CopiedSide& kept, const CollectiveSide& part,
                        const coll::CollectiveBuffer& side, size_t n);
  CollectiveKind kind_ = CollectiveKind::kLast;
  int root_ = 0;
  CopiedSide send_, recv_;
  Args args_;
};

}  // namespace fgmpi::mpi
