// Opened groups: a collective that a rank is going to call again and again with the same arguments,
// but for its buffers (fgmpi.h: MPIX_Scatterv_open_group and its like). Opening only counts: it
// reads no argument but the communicator. The first movement checks and resolves its arguments and
// keeps them; a later one only compares them with what it is given, arrays by their values, and
// checks and resolves anew where they have changed.
//
// A movement is the collective itself: it meets members that call the plain one in the same place.
// While a group is open the plain call is a movement as well (coll_args.h: blocking()), so that it
// does not matter which of them a rank makes.
//
// Opening and closing never fail. Who inserts them without knowing whether the loop between them
// runs at all, a compiler's pass, may give a communicator that is no communicator, arrays that do
// not exist yet, and close what was never opened.
//
// Thread rule: one thread. Opening and closing never switch; a movement does as its collective. A
// rank keeps its opened groups with its communicator; arrays that collocated members give alike are
// kept once.
#pragma once

#include <memory>
#include <vector>

#include "mpi/coll_args.h"

namespace fgmpi::mpi {

/// The values of an array that was given, shared by all in this process that were given the same.
using SharedInts = std::shared_ptr<const std::vector<int>>;
SharedInts share_ints(const int* values, size_t n);

/// What a call is given.
struct GivenArguments {
  CollectiveKind kind;
  RootedArguments both;  ///< bcast: the buffer is `recv`

  /// Checks, and fills `args`.
  Status fill(comm::Comm* c, Args* args) const;
};

class OpenedGroup {
 public:
  /// Keeps these arguments. Errors: as the collective.
  Status open(comm::Comm* c, const GivenArguments& given);
  CollectiveKind kind() const { return kind_; }
  int root() const { return root_; }
  /// The same but for the buffers, which are as good as those that were checked.
  bool has(const comm::Comm* c, const GivenArguments& given) const;
  /// REQUIRES: has(c, given), !moving. May switch.
  Status move(comm::Comm* c, const GivenArguments& given, const char* call);
  /// A movement is under way: the group stays where it is, although another thread of the rank may
  /// close it.
  bool moving = false;

 private:
  struct KeptSide {
    bool matters = false;  ///< of a side that is significant at this rank
    int64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    SharedInts counts, displs, types;
    int buffer_kind = 0;
  };
  static Status keep_side(const Part& part, size_t n, KeptSide* out);
  static bool same_side(const KeptSide& kept, const Part& part, const coll::Side& side, size_t n);
  CollectiveKind kind_ = CollectiveKind::kLast;
  int root_ = 0;
  KeptSide send_, recv_;
  Args args_;
};

}  // namespace fgmpi::mpi
