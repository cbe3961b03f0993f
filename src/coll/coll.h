// Collectives: the entry points. Each may switch unless it says otherwise.
//
// Level one: collocated members meet (comm/meeting.h), without messages. Level two: one member of
// each process exchanges messages with those of the other processes (pt2pt::process_send/recv),
// O(P) messages in all (HPDC'10 section 4.1). One file an algorithm (algorithms/); selector.cc has
// the table of conditions. Nonblocking and persistent forms are the same steps run on a helper
// coroutine.
//
// Thread rule: one thread. Invariant: what a nonblocking or persistent collective uses (types,
// operation, communicator) is kept by its request. Errors: argument errors are the bindings'; an
// error inside (truncation, an op not defined on the type, members in different collectives) is
// returned at every member of the process.
#pragma once

#include <mpi.h>

#include "coll/args.h"
#include "comm/comm.h"
#include "host/op.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::coll {

using pt2pt::Buffer;

/// Runs a blocking collective with these arguments (filled by the binding).
Status run(Comm* comm, Args* args, CollectiveKind kind, const char* call);

/// A nonblocking or persistent collective: the request that its arguments live in.
class CollRequest final : public pt2pt::Request {
 public:
  CollRequest(Comm* comm, CollectiveKind kind, const char* call);
  ~CollRequest() override;
  /// Keeps what the arguments name, so that the caller may free it: call once they are filled.
  /// Errors: MPI_ERR_NO_MEM. Never switches.
  Status hold();
  /// Persistent: draws the number that all its starts meet under. Never switches.
  void make_persistent();
  /// Starts it (the one time, or once more). Never switches.
  Status start() override;
  /// Takes over a blocking call's arguments, and starts it so that it matches blocking calls: on
  /// intracommunicators, not the short path. Never switches.
  void take(Args* from);
  Status start_blocking();
  void describe(std::string* out) const override;
  Told told() const override {
    return {Told::kCollective, static_cast<int32_t>(kind_), static_cast<int32_t>(sequence_), 0};
  }

  Args args;
  Memory kept, received;  ///< what `args` refers to once its member has left early (decided.cc)

 private:
  Comm* comm() const { return static_cast<Comm*>(keep); }
  CollectiveKind kind_;
  bool holds_op_ = false;
  KeptArrays arrays_;      ///< of v and w forms
  uint32_t sequence_ = 0;  ///< its number on the communicator
  uint32_t round_ = 0;     ///< persistent: how often it was started
};

Status barrier(Comm* comm, const char* call);
/// Allreduce of int64 values by minimum / maximum / sum, for the library's own use: `values` are
/// replaced by the result (on an intercommunicator, of the other group's).
Status allreduce_int64(Comm* comm, int64_t* values, int count, MPI_Op op, const char* call);

}  // namespace fgmpi::coll
