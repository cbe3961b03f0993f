// Collectives on intercommunicators. The processes of each side form a team. In most collectives
// the leaders (the first processes) of the two sides exchange one message, and the teams
// broadcast its data. Where every process has data for every other one, each pair of processes
// exchanges one message.
#include <algorithm>

#include "coll/selector.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

/// The number on which the processes of this side must agree (team.h), for collectives in which
/// they exchange data among themselves; else 0.
uint64_t agreed_within(const CollectiveStep& step) {
  const Args* first = step.first();
  switch (first->kind) {
    case CollectiveKind::kBcast:
      return first->root < 0 ? 0 : static_cast<uint64_t>(first->recv.whole().bytes());
    case CollectiveKind::kReduce:
      return first->root < 0 ? 0 : static_cast<uint64_t>(first->send.whole().bytes());
    case CollectiveKind::kAllreduce:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kReduceScatterBlock:
      return static_cast<uint64_t>(first->send.whole().bytes());
    case CollectiveKind::kAllgather:
      return static_cast<uint64_t>(first->recv.whole().bytes());
    default:
      return 0;
  }
}

/// A collective on an intercommunicator, as seen by one side.
struct Inter {
  CollectiveStep& step;
  Team team;      ///< this side's processes
  Team to, from;  ///< the other side's processes, to send to and to receive from
  explicit Inter(CollectiveStep& a)
      : step(a),
        team(a.team(agreed_within(a))),
        to(a.shared, a.meeting, Team::kToRemote),
        from(a.shared, a.meeting, Team::kFromRemote) {}
  bool is_leader() const { return team.me() == 0; }
  int32_t remote_size() const { return step.shared->remote->size(); }
  Placement remote_placement() const {
    return Placement(comm::remote_hierarchy(step.shared), *step.shared->remote, from);
  }
  /// The member that gave MPI_ROOT, if this process hosts it; else nullptr.
  Args* root() const {
    for (Args* m : step.members)
      if (m->root == MPI_ROOT) return m;
    return nullptr;
  }
  /// True if the root is a member of this side: then all members here give MPI_ROOT
  /// or MPI_PROC_NULL.
  bool is_root_side() const { return step.first()->root < 0; }

  /// Exchanges one message between the leaders; other processes do nothing.
  Status exchange_between_leaders(const void* out, size_t out_bytes, void* in,
                                  size_t in_bytes) const {
    if (!is_leader()) return {};
    std::vector<pt2pt::Request*> request(1);
    FGMPI_TRY(from.irecv(0, in, in_bytes, &request[0]));
    return from.finish(&request, to.send(0, out, out_bytes));
  }
};

Status barrier(Inter& inter) {
  FGMPI_TRY(team_barrier(inter.team));
  char unused = 0;
  FGMPI_TRY(inter.exchange_between_leaders(&unused, 0, &unused, 0));
  return team_bcast(inter.team, 0, &unused, 1);
}

Status bcast(Inter& inter) {
  const Args* holder = inter.is_root_side() ? inter.root() : inter.step.first();
  if (!holder) return {};
  const Segment whole = holder->recv.whole();
  const auto bytes = static_cast<size_t>(whole.bytes());
  char* data = bytes ? run_of_bytes(whole) : whole.address;
  const Memory packed = data || !bytes ? Memory() : raw_memory(bytes);
  if (packed) data = packed.get();
  if (inter.is_root_side()) {
    if (packed) FGMPI_TRY(pack(whole, data));
    return inter.to.send(0, data, bytes);
  }
  if (inter.is_leader())
    FGMPI_TRY(inter.from.recv(inter.from.team_rank_of(holder->root), data, bytes));
  FGMPI_TRY(team_bcast(inter.team, 0, data, bytes));
  for (const Args* m : inter.step.members)
    if (packed || m != holder) FGMPI_TRY(unpack(data, whole.bytes(), m->recv.whole()));
  return {};
}

/// Packs the parts of all members of this process in rank order.
Status pack_members(const CollectiveStep& step, Memory* out, size_t* bytes) {
  *bytes = 0;
  for (const Args* m : step.members) *bytes += static_cast<size_t>(m->send.whole().bytes());
  *out = raw_memory(*bytes);
  char* at = out->get();
  for (const Args* m : step.members) {
    FGMPI_TRY(pack(m->send.whole(), at));
    at += m->send.whole().bytes();
  }
  return {};
}

/// Bytes of the parts of `side` for the ranks of remote process p: those that it sends or
/// receives, packed.
size_t bytes_of_process(const CollectiveBuffer& side, const Placement& placement, uint32_t p) {
  size_t bytes = 0;
  placement.for_each(
      p, [&](int32_t rank) { bytes += static_cast<size_t>(side.segment(rank).bytes()); });
  return bytes;
}

Status gather(Inter& inter) {
  if (!inter.is_root_side()) {
    Memory packed;
    size_t bytes;
    FGMPI_TRY(pack_members(inter.step, &packed, &bytes));
    return inter.to.send(inter.to.team_rank_of(inter.step.first()->root), packed.get(), bytes);
  }
  const Args* root = inter.root();
  if (!root) return {};
  Placement placement = inter.remote_placement();
  for (uint32_t p = 0; p < inter.from.count(); ++p) {
    size_t bytes = bytes_of_process(root->recv, placement, p);
    auto packed = raw_memory(bytes);
    FGMPI_TRY(inter.from.recv(p, packed.get(), bytes));
    const char* at = packed.get();
    Status status;
    placement.for_each(p, [&](int32_t rank) {
      Segment s = root->recv.segment(rank);
      if (status.ok()) status = unpack(at, s.bytes(), s);
      at += s.bytes();
    });
    FGMPI_TRY(std::move(status));
  }
  return {};
}

Status scatter(Inter& inter) {
  if (!inter.is_root_side()) {
    size_t bytes = 0;
    for (const Args* m : inter.step.members) bytes += static_cast<size_t>(m->recv.whole().bytes());
    auto packed = raw_memory(bytes);
    FGMPI_TRY(
        inter.from.recv(inter.from.team_rank_of(inter.step.first()->root), packed.get(), bytes));
    const char* at = packed.get();
    for (const Args* m : inter.step.members) {
      FGMPI_TRY(unpack(at, m->recv.whole().bytes(), m->recv.whole()));
      at += m->recv.whole().bytes();
    }
    return {};
  }
  const Args* root = inter.root();
  if (!root) return {};
  Placement placement = inter.remote_placement();
  for (uint32_t p = 0; p < inter.to.count(); ++p) {
    size_t bytes = bytes_of_process(root->send, placement, p);
    auto packed = raw_memory(bytes);
    char* at = packed.get();
    Status status;
    placement.for_each(p, [&](int32_t rank) {
      Segment s = root->send.segment(rank);
      if (status.ok()) status = pack(s, at);
      at += s.bytes();
    });
    FGMPI_TRY(std::move(status));
    FGMPI_TRY(inter.to.send(p, packed.get(), bytes));
  }
  return {};
}

/// Sends out[p] to remote process p, and receives its message into in[p], for all p at the
/// same time.
Status exchange_with_remote_processes(const Inter& inter, const std::vector<const char*>& out,
                                      const std::vector<size_t>& out_bytes,
                                      const std::vector<char*>& in,
                                      const std::vector<size_t>& in_bytes) {
  std::vector<pt2pt::Request*> requests;
  for (uint32_t p = 0; p < in.size(); ++p) {
    pt2pt::Request* request;
    FGMPI_TRY(inter.from.irecv(p, in[p], in_bytes[p], &request));
    requests.push_back(request);
  }
  Status first;
  for (uint32_t p = 0; p < out.size(); ++p) {
    Status sent = inter.to.send(p, out[p], out_bytes[p]);
    if (first.ok()) first = std::move(sent);
  }
  return inter.from.finish(&requests, std::move(first));
}

Status allgather(Inter& inter) {
  Memory packed;
  size_t bytes;
  FGMPI_TRY(pack_members(inter.step, &packed, &bytes));
  const Args* first = inter.step.first();
  Placement placement = inter.remote_placement();
  // Sizes are in the order of processes; the ranks of a process ascend. Every process computes them
  // from the counts.
  std::vector<size_t> sizes;
  size_t total = 0;
  for (uint32_t p = 0; p < inter.from.count(); ++p) {
    sizes.push_back(bytes_of_process(first->recv, placement, p));
    total += sizes.back();
  }
  auto all = raw_memory(total);
  std::vector<char*> in;
  for (uint32_t p = 0; p < inter.from.count() && inter.is_leader(); ++p)
    in.push_back(p ? in[p - 1] + sizes[p - 1] : all.get());
  FGMPI_TRY(exchange_with_remote_processes(inter, {packed.get()}, {bytes}, in, sizes));
  FGMPI_TRY(team_bcast(inter.team, 0, all.get(), total));
  for (const Args* m : inter.step.members) {
    const char* at = all.get();
    Status status;
    for (uint32_t p = 0; p < inter.from.count(); ++p)
      placement.for_each(p, [&](int32_t rank) {
        Segment s = m->recv.segment(rank);
        if (status.ok()) status = unpack(at, first->recv.segment(rank).bytes(), s);
        at += first->recv.segment(rank).bytes();
      });
    FGMPI_TRY(std::move(status));
  }
  return {};
}

/// One message for each pair of processes; its parts are ordered by receiver, then by sender.
Status alltoall(Inter& inter) {
  Placement placement = inter.remote_placement();
  std::vector<Memory> memory;
  std::vector<const char*> out;
  std::vector<char*> in;
  std::vector<size_t> out_bytes, in_bytes;
  Status status;
  for (uint32_t p = 0; p < inter.to.count(); ++p) {
    size_t sends = 0, receives = 0;
    for (const Args* m : inter.step.members) {
      sends += bytes_of_process(m->send, placement, p);
      receives += bytes_of_process(m->recv, placement, p);
    }
    out_bytes.push_back(sends);
    in_bytes.push_back(receives);
    memory.push_back(raw_memory(sends));
    out.push_back(memory.back().get());
    char* at = memory.back().get();
    placement.for_each(p, [&](int32_t to) {
      for (const Args* m : inter.step.members) {
        Segment s = m->send.segment(to);
        if (status.ok()) status = pack(s, at);
        at += s.bytes();
      }
    });
    memory.push_back(raw_memory(receives));
    in.push_back(memory.back().get());
  }
  FGMPI_TRY(std::move(status));
  FGMPI_TRY(exchange_with_remote_processes(inter, out, out_bytes, in, in_bytes));
  for (uint32_t p = 0; p < inter.from.count(); ++p) {
    const char* at = in[p];
    for (const Args* m : inter.step.members)
      placement.for_each(p, [&](int32_t from) {
        Segment s = m->recv.segment(from);
        if (status.ok()) status = unpack(at, s.bytes(), s);
        at += s.bytes();
      });
  }
  return status;
}

/// Folds this side's contributions at its leader.
Status fold_side(Inter& inter, const Reduction& r, char* out) {
  FGMPI_TRY(inter.step.same_bytes([](const Args* m) { return m->send.whole().bytes(); }));
  if (!r.commutative && inter.team.count() > 1 &&
      !comm::hierarchy(inter.step.shared).one_run_each) {
    RunFolds folds(inter.step, inter.team, r);
    return folds.for_each([&](int64_t from, int64_t n, std::span<const char* const> values) {
      return fold_all({r.type, n, r.op, false}, values, out + from * r.type->extent());
    });
  }
  FGMPI_TRY(fold_all(r, contributions(inter.step), out));
  return team_reduce(inter.team, 0, r, out);
}

Status reduce(Inter& inter) {
  const Args* first = inter.step.first();
  if (inter.is_root_side()) {
    const Args* root = inter.root();
    if (!root) return {};
    Segment whole{root->recv.address, root->send.count, &root->send.type};
    size_t bytes = static_cast<size_t>(whole.bytes());
    auto packed = raw_memory(bytes);
    FGMPI_TRY(inter.from.recv(0, packed.get(), bytes));
    return unpack(packed.get(), static_cast<int64_t>(bytes), whole);
  }
  const Args* runner = inter.step.runner();
  Reduction r{&runner->send.type, first->send.count, runner->op,
              datatype::is_commutative(runner->op)};
  Operand folded(*r.type, r.count);
  FGMPI_TRY(fold_side(inter, r, folded.at()));
  if (!inter.is_leader()) return {};
  auto packed = raw_memory(r.bytes());
  FGMPI_TRY(pack({folded.at(), r.count, r.type}, packed.get()));
  return inter.to.send(inter.to.team_rank_of(first->root), packed.get(), r.bytes());
}

/// Allreduce and reduce_scatter: each side gets the fold of the other's contributions.
Status allreduce(Inter& inter) {
  const Args* first = inter.step.first();
  bool scatters = first->kind != CollectiveKind::kAllreduce;
  std::vector<int64_t> start{0};
  if (scatters)
    for (int32_t i = 0; i < inter.step.shared->size; ++i)
      start.push_back(start.back() + first->recv.segment(i).count);
  const Args* runner = inter.step.runner();
  Reduction r{&runner->send.type, scatters ? start.back() : first->send.count, runner->op,
              datatype::is_commutative(runner->op)};
  Operand folded(*r.type, r.count);
  FGMPI_TRY(fold_side(inter, r, folded.at()));
  auto packed = raw_memory(r.bytes()), theirs = raw_memory(r.bytes());
  if (inter.is_leader()) FGMPI_TRY(pack({folded.at(), r.count, r.type}, packed.get()));
  FGMPI_TRY(inter.exchange_between_leaders(packed.get(), r.bytes(), theirs.get(), r.bytes()));
  FGMPI_TRY(team_bcast(inter.team, 0, theirs.get(), r.bytes()));
  for (const Args* m : inter.step.members) {
    int64_t from = scatters ? start[static_cast<size_t>(m->rank)] : 0;
    int64_t n = scatters ? start[static_cast<size_t>(m->rank) + 1] - from : r.count;
    if (n * r.type->size() != m->recv.whole().bytes())
      return truncated(n * r.type->size(), m->recv.whole().bytes());
    FGMPI_TRY(unpack(theirs.get() + from * r.type->size(), n * r.type->size(),
                     {m->recv.address, n, r.type}));
  }
  return {};
}

}  // namespace

Status step_inter(CollectiveStep& step) {
  Inter inter(step);
  switch (step.first()->kind) {
    case CollectiveKind::kBarrier:
      return barrier(inter);
    case CollectiveKind::kBcast:
      return bcast(inter);
    case CollectiveKind::kGather:
    case CollectiveKind::kGatherv:
      return gather(inter);
    case CollectiveKind::kScatter:
    case CollectiveKind::kScatterv:
      return scatter(inter);
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAllgatherv:
      return allgather(inter);
    case CollectiveKind::kAlltoall:
    case CollectiveKind::kAlltoallv:
    case CollectiveKind::kAlltoallw:
      return alltoall(inter);
    case CollectiveKind::kReduce:
      return reduce(inter);
    case CollectiveKind::kAllreduce:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kReduceScatterBlock:
      return allreduce(inter);
    default:
      return error(MPI_ERR_COMM,
                   "the communicator is an intercommunicator; allowed are intracommunicators");
  }
}

}  // namespace fgmpi::coll
