// The entry points of all collectives, blocking, nonblocking and persistent.

#include "coll/coll.h"

#include "coll/decided.h"
#include "coll/early_exit_decider.h"
#include "coll/rooted.h"
#include "coll/rounds.h"
#include "coll/short.h"
#include "coll/stand_in.h"
#include "coll/step.h"
#include "comm/broken.h"

namespace fgmpi::coll {
namespace {

bool is_alltoall(CollectiveKind kind) {
  return kind == CollectiveKind::kAlltoall || kind == CollectiveKind::kAlltoallv ||
         kind == CollectiveKind::kAlltoallw;
}
bool is_gather(CollectiveKind kind) {
  return kind == CollectiveKind::kGather || kind == CollectiveKind::kGatherv;
}
bool is_rooted(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
    case CollectiveKind::kGatherv:
    case CollectiveKind::kScatter:
    case CollectiveKind::kScatterv:
      return true;
    default:
      return false;
  }
}
bool is_scatter(CollectiveKind kind) {
  return kind == CollectiveKind::kScatter || kind == CollectiveKind::kScatterv;
}

/// Runs a round of a persistent collective. Other processes may still be in much earlier rounds.
void step_of_round(comm::SharedComm* shared, comm::Meeting* m) {
  agree_on_rounds(shared, m);
  if (shared->broken)  // broken while it waited
    m->status = comm::broken_status(*shared);
  else
    step_function(static_cast<CollectiveKind>(m->operation / 4), shared->inter)(shared, m);
}

/// Runs a blocking gather or scatter: finds the side that holds the member's own part, and at the
/// root the side of all parts.
Status run_rooted(Comm* comm, const Args& args, const char* call) {
  bool gathers = is_gather(args.kind);
  const Segment own = gathers ? args.send.whole() : args.recv.whole();
  const CollectiveBuffer* all = comm->rank != args.root ? nullptr
                                : gathers               ? &args.recv
                                                        : &args.send;
  Rooted rooted{args.kind, args.root, call};
  return gathers ? rooted_gather(comm, rooted, args.in_place ? nullptr : &own, all)
                 : rooted_scatter(comm, rooted, args.in_place ? nullptr : &own, all);
}

}  // namespace

Status run(Comm* comm, Args* args, CollectiveKind kind, const char* call) {
  args->kind = kind;
  bool inter = comm->shared->inter;
  if (__builtin_expect(g_early_exit_decider != nullptr, 0)) {
    if (!inter && is_rooted(kind)) return run_decided(comm, args, call);
    g_early_exit_decider->begin_blocking_collective(*args);
  }
  if (!inter) {
    if (kind == CollectiveKind::kBarrier) return short_barrier(comm, call);
    if (kind == CollectiveKind::kBcast) {
      // The length alone decides, as the layout may differ from member to member, but the path
      // must not.
      Segment whole = args->recv.whole();
      if (whole.bytes() <= static_cast<int64_t>(kShortBcastBytes))
        return short_bcast(comm, whole.address, static_cast<size_t>(whole.bytes()),
                           whole.type->handle(), flat(whole) ? nullptr : &whole, args->root, call);
    }
    bool reduces = kind == CollectiveKind::kAllreduce || kind == CollectiveKind::kReduce;
    if (reduces && is_short_reduce(args->send.count, args->send.type.handle(), args->op)) {
      bool all = kind == CollectiveKind::kAllreduce;
      return short_reduce(
          comm,
          {args->send.address, all || comm->rank == args->root ? args->recv.address : nullptr,
           static_cast<size_t>(args->send.whole().bytes()), args->send.type.handle(), args->op,
           all ? -1 : args->root},
          call);
    }
    if (is_gather(kind) || is_scatter(kind)) return run_rooted(comm, *args, call);
    if (args->in_place && is_alltoall(kind)) FGMPI_TRY(copy_in_place(args, comm->size()));
  }
  return comm::meet(comm, args, operation_code(kind, CallMode::kBlocking), call,
                    step_function(kind, inter));
}

CollRequest::CollRequest(Comm* comm, CollectiveKind kind, const char* name) : kind_(kind) {
  comm->retain();
  comm_ref = comm;
  call = name;
  args.kind = kind;
}

CollRequest::~CollRequest() {
  drop_stand_in(this);
  if (holds_op_) datatype::release(args.op);
  if (comm_ref) comm_ref->release();
}

Status CollRequest::hold() {
  if (args.op != MPI_OP_NULL) {
    datatype::retain(args.op);
    holds_op_ = true;
  }
  if (!args.send.counts && !args.recv.counts) return {};
  return arrays_.store(&args);
}

void CollRequest::make_persistent() {
  persistent = true;
  active = false;
  sequence_ = comm()->nonblocking_sequence;
  comm()->nonblocking_sequence += comm::kNextOfKind;
}

void CollRequest::take(Args* from) {
  args.in_place = from->in_place;
  args.root = from->root;
  args.op = from->op;
  args.send = std::move(from->send);
  args.recv = std::move(from->recv);
}

Status CollRequest::start_blocking() {
  sequence_ = comm()->sequence;
  return comm::meet_as_blocking(comm(), &args, operation_code(kind_, CallMode::kBlocking), call,
                                step_function(kind_, false), this);
}

Status CollRequest::start() {
  Comm* c = comm();
  complete_ = false;
  outcome.error = Status();
  args.status = Status();
  fill_stand_in(this);
  if (args.in_place && is_alltoall(kind_) && !c->shared->inter)
    FGMPI_TRY(copy_in_place(&args, c->size()));
  if (persistent) {
    FGMPI_TRY(comm::meet_nonblocking_at(c, sequence_, round_, &args,
                                        operation_code(kind_, CallMode::kPersistent), call,
                                        step_of_round, this));
  } else {
    sequence_ = c->nonblocking_sequence;
    FGMPI_TRY(comm::meet_nonblocking(c, &args, operation_code(kind_, CallMode::kNonblocking), call,
                                     step_function(kind_, c->shared->inter), this));
  }
  round_ += persistent;
  active = true;
  return {};
}

void CollRequest::describe(std::string* out) const {
  if (args.meeting) comm::describe(comm(), args.meeting, out);
}

namespace {
/// Out of line, so that the usual barrier uses little stack (short.cc).
[[gnu::noinline]] Status barrier_of_intercomm(Comm* comm, const char* call) {
  Args args;
  return run(comm, &args, CollectiveKind::kBarrier, call);
}
}  // namespace

Status barrier(Comm* comm, const char* call) {
  if (__builtin_expect(!comm->shared->inter, 1)) return short_barrier(comm, call);
  return barrier_of_intercomm(comm, call);
}

Status allreduce_int64(Comm* comm, int64_t* values, int count, MPI_Op op, const char* call) {
  Args args;
  FGMPI_TRY(Type::of(MPI_INT64_T, &args.send.type));
  const std::vector<int64_t> sent(values, values + count);
  args.op = op;
  args.send.address = reinterpret_cast<char*>(const_cast<int64_t*>(sent.data()));
  args.recv.address = reinterpret_cast<char*>(values);
  args.send.count = args.recv.count = count;
  args.recv.type = args.send.type;
  return run(comm, &args, CollectiveKind::kAllreduce, call);
}

}  // namespace fgmpi::coll
