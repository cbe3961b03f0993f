// Opened groups: a collective that a rank is going to call again and again with the same arguments, but for its buffers
// (fgmpi.h: MPIX_Scatterv_open_group and its like). The arguments are checked and resolved when the group is opened; a
// movement only compares them with what it is given. Where they have changed it checks and resolves anew.
//
// A movement is the collective itself: it meets members that call the plain one in the same place.
//
// Thread rule: one thread. Opening and closing never switch; a movement does as its collective. A rank keeps its opened
// groups with its communicator; arrays that collocated members give alike are kept once.
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
  /// The same but for the buffers, which are as good as those that were checked.
  bool has(const comm::Comm* c, const GivenArguments& given) const;
  /// REQUIRES: has(c, given). May switch.
  Status move(comm::Comm* c, const GivenArguments& given, const char* call);

  uint32_t opens = 1;

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
