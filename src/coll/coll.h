// Collectives: the entry points. Each may switch unless its comment excludes that.
//
// Level one: collocated members meet (comm/meeting.h), without messages. Level two: one member of
// each process exchanges messages with those of the other processes (pt2pt::process_send/recv),
// O(P) messages in all (HPDC'10 section 4.1). Each algorithm has one file (algorithms/);
// selector.cc has the table of conditions. Nonblocking and persistent forms run the same steps on a
// helper coroutine.
//
// Thread rule: one thread. Invariant: the request of a nonblocking or persistent collective holds
// all that the collective uses (types, operation, communicator). Errors: argument errors are the
// bindings'; an error inside (truncation, an op not defined on the type, members in different
// collectives) is returned at every member of the process.
#pragma once

#include <mpi.h>

#include "coll/args.h"
#include "comm/comm.h"
#include "datatype/op.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::coll {

using pt2pt::Buffer;

/// Runs a blocking collective with these arguments, which the binding has filled.
Status run(Comm* comm, Args* args, CollectiveKind kind, const char* call);

/// The request of a nonblocking or persistent collective, in which its arguments live.
class CollRequest final : public pt2pt::Request {
 public:
  CollRequest(Comm* comm, CollectiveKind kind, const char* call);
  ~CollRequest() override;
  /// Holds what the arguments name, so that the caller may free it. Called once the arguments are
  /// filled. Errors: MPI_ERR_NO_MEM. Never switches.
  Status hold();
  /// Makes the request persistent: draws the number under which all its starts meet.
  /// Never switches.
  void make_persistent();
  /// Starts the collective: the one time, or once more. Never switches.
  Status start() override;
  /// Moves a blocking call's arguments into the request, whose start then matches blocking calls:
  /// on intracommunicators, not the short path. Never switches.
  void take(Args* from);
  Status start_blocking();
  void describe(std::string* out) const override;
  ToolEvent tool_event() const override {
    return {ToolEvent::kCollective, static_cast<int32_t>(kind_), static_cast<int32_t>(sequence_),
            0};
  }

  Args args;
  Memory kept, received;  ///< memory of `args` once its member has left early (decided.cc)

 private:
  Comm* comm() const { return static_cast<Comm*>(comm_ref); }
  CollectiveKind kind_;
  bool holds_op_ = false;
  StoredArrays arrays_;    ///< of v and w forms
  uint32_t sequence_ = 0;  ///< number of the collective on its communicator
  uint32_t round_ = 0;     ///< persistent: how often it was started
};

Status barrier(Comm* comm, const char* call);
/// Reduces int64 values by minimum / maximum / sum over all members, for use inside the library.
/// The result replaces `values` (on an intercommunicator, the other group's result).
Status allreduce_int64(Comm* comm, int64_t* values, int count, MPI_Op op, const char* call);

}  // namespace fgmpi::coll
