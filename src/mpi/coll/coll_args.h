// Arguments of the collectives: one struct a signature, whose call checks them and fills a
// coll::Args. The blocking, nonblocking, persistent and large-count bindings of a collective all
// make the same struct.
//
// The following are checked, each with the value that was given and what is allowed: counts, types,
// roots, operations, null pointers, MPI_IN_PLACE where it is not allowed. Arguments that are not
// significant at a rank are not read. Thread rule: one thread; nothing here switches.
#pragma once

#include "coll/coll.h"
#include "coll/rooted.h"
#include "coll/short.h"
#include "comm/extras.h"
#include "comm/info.h"
#include "mpi/binding.h"
#include "mpi/tools/events.h"

namespace fgmpi::mpi {

using coll::Args;
using coll::CollectiveKind;
using coll::Counts;

struct NoArguments {
  Status operator()(comm::Comm*, Args*) const { return {}; }
};

struct BcastArguments {
  void* buffer;
  int64_t count;
  MPI_Datatype type;
  int root;
  Status operator()(comm::Comm* c, Args* args) const;
};

/// One side (send or receive) of gather, scatter and their v forms, allgather and alltoall with
/// theirs, and the neighbourhood collectives; which members are used depends on the collective.
/// Arrays are null where one count is given.
struct CollectiveSide {
  const void* buffer = nullptr;
  int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Counts counts, displs;
  const MPI_Datatype* types = nullptr;

  CollectiveSide(const void* b, int64_t n, MPI_Datatype t) : buffer(b), count(n), type(t) {}
  CollectiveSide(const void* b, Counts n, Counts d, MPI_Datatype t)
      : buffer(b), type(t), counts(n), displs(d), array(true) {}
  CollectiveSide(const void* b, Counts n, Counts d, const MPI_Datatype* t)
      : buffer(b), counts(n), displs(d), types(t), array(true), typed(true) {}
  bool array = false, typed = false;
};

struct RootedArguments {
  CollectiveSide send, recv;
  int root;
  Status operator()(comm::Comm* c, Args* args) const;
};

struct SymmetricArguments {
  CollectiveSide send, recv;
  Status operator()(comm::Comm* c, Args* args) const;
};

/// Reduce, allreduce, scan, exscan; reduce_scatter (counts) and its block form.
struct ReduceArguments {
  const void* send;
  void* recv;
  int64_t count;
  Counts counts;
  MPI_Datatype type;
  MPI_Op op;
  int root;
  ReduceArguments(const void* s, void* r, int64_t n, MPI_Datatype t, MPI_Op o, int where = 0)
      : send(s), recv(r), count(n), type(t), op(o), root(where) {}
  ReduceArguments(const void* s, void* r, Counts n, MPI_Datatype t, MPI_Op o)
      : send(s), recv(r), count(0), counts(n), type(t), op(o), root(0), array(true) {}
  Status operator()(comm::Comm* c, Args* args) const;
  bool array = false;
};

/// Compares the buffers of a call with accesses under way in windows, for FGMPI_RMA_CHECK. Errors:
/// MPI_ERR_RMA_CONFLICT.
Status check_memory(const char* call, comm::Comm* c, const Args& args);

/// Runs the call as a movement where a group of this collective is open (opened.h), and returns
/// true. REQUIRES: c->extras->opened. May switch.
bool move_if_open(comm::Comm* c, CollectiveKind kind, const BcastArguments& arguments,
                  const char* call, Status* status);
bool move_if_open(comm::Comm* c, CollectiveKind kind, const RootedArguments& arguments,
                  const char* call, Status* status);
bool move_if_open(comm::Comm* c, CollectiveKind kind, const SymmetricArguments& arguments,
                  const char* call, Status* status);
/// Collectives with other arguments cannot be opened.
template <class Arguments>
bool move_if_open(comm::Comm*, CollectiveKind, const Arguments&, const char*, Status*) {
  return false;
}

// ---- How a collective is called -----------------------------------------------------------------

template <class Arguments>
[[gnu::noinline]] int blocking(const char* call, MPI_Comm handle, CollectiveKind kind,
                               const Arguments& arguments) try {
  FGMPI_ENTER_FAST(call, c, handle, blocking(call, handle, kind, arguments));
  if (__builtin_expect(c->extras && c->extras->opened, 0)) {
    Status status;
    if (move_if_open(c, kind, arguments, call, &status)) return done(call, c, std::move(status));
  }
  Args args;
  args.kind = kind;
  FGMPI_RETURN_IF(call, c, arguments(c, &args));
  if (rma::checking()) FGMPI_RETURN_IF(call, c, check_memory(call, c, args));
  return done(call, c, coll::run(c, &args, kind, call));
}
FGMPI_CATCH_NO_MEMORY(call, handle)

inline int barrier(const char* call, MPI_Comm handle) {
  FGMPI_ENTER_FAST(call, c, handle, barrier(call, handle));
  return done(call, c, coll::barrier(c, call));
}

/// Reduce and allreduce. Those of few bytes with predefined operations do without a coll::Args,
/// which is larger than all else on the stack of a rank that waits.
inline int reducing(const char* call, MPI_Comm handle, CollectiveKind kind,
                    const ReduceArguments& a) {
  FGMPI_ENTER_FAST(call, c, handle, reducing(call, handle, kind, a));
  bool all = kind == CollectiveKind::kAllreduce, receives = all || a.root == c->rank;
  bool in_place = a.send == MPI_IN_PLACE && receives;
  const void* send = in_place ? a.recv : a.send;
  bool sound = send && send != MPI_IN_PLACE && (all || (a.root >= 0 && a.root < c->size()));
  if (receives) sound = sound && a.recv && a.recv != MPI_IN_PLACE && (in_place || a.recv != a.send);
  if (__builtin_expect(!c->shared->inter && sound && coll::is_short_reduce(a.count, a.type, a.op),
                       1))
    return done(call, c,
                coll::short_reduce(c,
                                   {send, receives ? a.recv : nullptr,
                                    static_cast<size_t>(a.count * datatype::basic_size(a.type)),
                                    a.type, a.op, all ? -1 : a.root},
                                   call));
  return blocking(call, handle, kind, a);
}

inline int broadcasting(const char* call, MPI_Comm handle, const BcastArguments& a) {
  FGMPI_ENTER_FAST(call, c, handle, broadcasting(call, handle, a));
  uint64_t bytes;
  bool sound = a.buffer && a.buffer != MPI_IN_PLACE && a.root >= 0 && a.root < c->size() &&
               plain_bytes(a.buffer, a.count, a.type, &bytes);
  if (__builtin_expect(!c->shared->inter && sound && bytes <= coll::kShortBcastBytes, 1))
    return done(
        call, c,
        coll::short_bcast(c, static_cast<char*>(a.buffer), bytes, a.type, nullptr, a.root, call));
  return blocking(call, handle, CollectiveKind::kBcast, a);
}

/// Gathers and scatters. A rank that is not the root sends or receives one segment, mostly of a
/// basic type, and needs no coll::Args either. `all()` makes the RootedArguments of every other
/// rank.
template <auto run, class All>
int rooted(const char* call, MPI_Comm handle, CollectiveKind kind, const void* own, int64_t count,
           MPI_Datatype type, int root, All&& all) {
  FGMPI_ENTER_FAST(call, c, handle, (rooted<run>(call, handle, kind, own, count, type, root, all)));
  bool leaf = root != c->rank && root >= 0 && root < c->size();
  uint64_t bytes;
  bool sound = own && own != MPI_IN_PLACE && plain_bytes(own, count, type, &bytes);
  if (__builtin_expect(!c->shared->inter && leaf && sound, 1)) {
    coll::Segment part = coll::segment_of_bytes(own, bytes);
    return done(call, c, run(c, {kind, root, call, type}, &part, nullptr));
  }
  return blocking(call, handle, kind, all());
}

/// Makes the request of a nonblocking or persistent collective.
template <class Arguments>
Status make_request(const char* call, comm::Comm* c, CollectiveKind kind,
                    const Arguments& arguments, std::unique_ptr<coll::CollRequest>* out) {
  auto request = std::make_unique<coll::CollRequest>(c, kind, call);
  FGMPI_TRY(arguments(c, &request->args));
  if (rma::checking()) FGMPI_TRY(check_memory(call, c, request->args));
  FGMPI_TRY(request->hold());
  *out = std::move(request);
  return {};
}

template <class Arguments>
int nonblocking(const char* call, MPI_Comm handle, MPI_Request* out, CollectiveKind kind,
                const Arguments& arguments) try {
  FGMPI_ENTER_FAST(call, c, handle, nonblocking(call, handle, out, kind, arguments));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  std::unique_ptr<coll::CollRequest> request;
  FGMPI_RETURN_IF(call, c, check_pointer(out, "request"));
  FGMPI_RETURN_IF(call, c, make_request(call, c, kind, arguments, &request));
  FGMPI_RETURN_IF(call, c, request->start());
  events::raise_started(request.get());
  events::watch(request.get(), events::kCollectiveEnded);
  *out = pt2pt::handle_of(request.release());
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, handle)

/// No hint of the info argument has a meaning here.
template <class Arguments>
int persistent(const char* call, MPI_Comm handle, MPI_Info info, MPI_Request* out,
               CollectiveKind kind, const Arguments& arguments) try {
  FGMPI_ENTER_FAST(call, c, handle, persistent(call, handle, info, out, kind, arguments));
  FGMPI_RETURN_IF(call, c, comm::check_info(info, "info"));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  std::unique_ptr<coll::CollRequest> request;
  FGMPI_RETURN_IF(call, c, check_pointer(out, "request"));
  FGMPI_RETURN_IF(call, c, make_request(call, c, kind, arguments, &request));
  request->args.send.opened = request->args.recv.opened = true;
  request->make_persistent();
  *out = pt2pt::handle_of(request.release());
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, handle)

}  // namespace fgmpi::mpi
