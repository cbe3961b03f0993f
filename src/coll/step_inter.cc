// Collectives on intercommunicators. Each side works in its own team; across go either one message
// between the first processes (leaders) of both sides, handed on within the team, or, where every
// process has something for every other, one message a pair of processes.
#include <algorithm>

#include "coll/selector.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

/// What the processes of this side must agree on, where they exchange data among themselves.
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

struct Inter {
  CollectiveStep& step;
  Team team;      ///< this side's processes
  Team to, from;  ///< the other side's, to send to and to receive from
  explicit Inter(CollectiveStep& a)
      : step(a),
        team(a.team(agreed_within(a))),
        to(a.shared, a.meeting, Team::kToRemote),
        from(a.shared, a.meeting, Team::kFromRemote) {}
  bool leads() const { return team.me() == 0; }
  int32_t remote_size() const { return step.shared->remote->size(); }
  Placement remote_placement() const {
    return Placement(comm::remote_hierarchy(step.shared), *step.shared->remote, from);
  }
  /// The member that gave MPI_ROOT, if it lives here.
  Args* root() const {
    for (Args* m : step.members)
      if (m->root == MPI_ROOT) return m;
    return nullptr;
  }
  /// This side contributes or receives: members name a rank of the other side.
  bool is_root_side() const { return step.first()->root < 0; }

  /// Leaders swap messages; others do nothing.
  Status swap(const void* out, size_t out_bytes, void* in, size_t in_bytes) const {
    if (!leads()) return {};
    std::vector<pt2pt::Request*> request(1);
    FGMPI_TRY(from.irecv(0, in, in_bytes, &request[0]));
    return from.finish(&request, to.send(0, out, out_bytes));
  }
};

Status barrier(Inter& x) {
  FGMPI_TRY(team_barrier(x.team));
  char unused = 0;
  FGMPI_TRY(x.swap(&unused, 0, &unused, 0));
  return team_bcast(x.team, 0, &unused, 1);
}

Status bcast(Inter& x) {
  if (x.is_root_side()) {
    const Args* root = x.root();
    if (!root) return {};
    Segment whole = root->recv.whole();
    auto packed = raw_memory(static_cast<size_t>(whole.bytes()));
    FGMPI_TRY(pack(whole, packed.get()));
    return x.to.send(0, packed.get(), static_cast<size_t>(whole.bytes()));
  }
  size_t bytes = static_cast<size_t>(x.step.first()->recv.whole().bytes());
  auto packed = raw_memory(bytes);
  if (x.leads())
    FGMPI_TRY(x.from.recv(x.from.team_rank_of(x.step.first()->root), packed.get(), bytes));
  FGMPI_TRY(team_bcast(x.team, 0, packed.get(), bytes));
  for (const Args* m : x.step.members)
    FGMPI_TRY(unpack(packed.get(), static_cast<int64_t>(bytes), m->recv.whole()));
  return {};
}

/// All members' parts of this process in rank order.
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

/// The remote ranks' parts of `side`, as remote process p sends or gets them, to or from a packed
/// buffer.
size_t bytes_of_process(const Side& side, const Placement& placement, uint32_t p) {
  size_t bytes = 0;
  placement.for_each(
      p, [&](int32_t rank) { bytes += static_cast<size_t>(side.segment(rank).bytes()); });
  return bytes;
}

Status gather(Inter& x) {
  if (!x.is_root_side()) {
    Memory packed;
    size_t bytes;
    FGMPI_TRY(pack_members(x.step, &packed, &bytes));
    return x.to.send(x.to.team_rank_of(x.step.first()->root), packed.get(), bytes);
  }
  const Args* root = x.root();
  if (!root) return {};
  Placement placement = x.remote_placement();
  for (uint32_t p = 0; p < x.from.count(); ++p) {
    size_t bytes = bytes_of_process(root->recv, placement, p);
    auto packed = raw_memory(bytes);
    FGMPI_TRY(x.from.recv(p, packed.get(), bytes));
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

Status scatter(Inter& x) {
  if (!x.is_root_side()) {
    size_t bytes = 0;
    for (const Args* m : x.step.members) bytes += static_cast<size_t>(m->recv.whole().bytes());
    auto packed = raw_memory(bytes);
    FGMPI_TRY(x.from.recv(x.from.team_rank_of(x.step.first()->root), packed.get(), bytes));
    const char* at = packed.get();
    for (const Args* m : x.step.members) {
      FGMPI_TRY(unpack(at, m->recv.whole().bytes(), m->recv.whole()));
      at += m->recv.whole().bytes();
    }
    return {};
  }
  const Args* root = x.root();
  if (!root) return {};
  Placement placement = x.remote_placement();
  for (uint32_t p = 0; p < x.to.count(); ++p) {
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
    FGMPI_TRY(x.to.send(p, packed.get(), bytes));
  }
  return {};
}

/// Receives one message from each remote process while this process sends its own; the caller has
/// made `out`.
Status trade(const Inter& x, const std::vector<const char*>& out,
             const std::vector<size_t>& out_bytes, const std::vector<char*>& in,
             const std::vector<size_t>& in_bytes) {
  std::vector<pt2pt::Request*> requests;
  for (uint32_t p = 0; p < in.size(); ++p) {
    pt2pt::Request* request;
    FGMPI_TRY(x.from.irecv(p, in[p], in_bytes[p], &request));
    requests.push_back(request);
  }
  Status first;
  for (uint32_t p = 0; p < out.size(); ++p) {
    Status sent = x.to.send(p, out[p], out_bytes[p]);
    if (first.ok()) first = std::move(sent);
  }
  return x.from.finish(&requests, std::move(first));
}

Status allgather(Inter& x) {
  Memory packed;
  size_t bytes;
  FGMPI_TRY(pack_members(x.step, &packed, &bytes));
  const Args* first = x.step.first();
  Placement placement = x.remote_placement();
  // In the order of processes, the ranks of a process ascending; known by everybody from the counts.
  std::vector<size_t> sizes;
  size_t total = 0;
  for (uint32_t p = 0; p < x.from.count(); ++p) {
    sizes.push_back(bytes_of_process(first->recv, placement, p));
    total += sizes.back();
  }
  auto all = raw_memory(total);
  std::vector<char*> in;
  for (uint32_t p = 0; p < x.from.count() && x.leads(); ++p)
    in.push_back(p ? in[p - 1] + sizes[p - 1] : all.get());
  FGMPI_TRY(trade(x, {packed.get()}, {bytes}, in, sizes));
  FGMPI_TRY(team_bcast(x.team, 0, all.get(), total));
  for (const Args* m : x.step.members) {
    const char* at = all.get();
    Status status;
    for (uint32_t p = 0; p < x.from.count(); ++p)
      placement.for_each(p, [&](int32_t rank) {
        Segment s = m->recv.segment(rank);
        if (status.ok()) status = unpack(at, first->recv.segment(rank).bytes(), s);
        at += first->recv.segment(rank).bytes();
      });
    FGMPI_TRY(std::move(status));
  }
  return {};
}

/// One message a pair of processes, ordered by receiver, then sender.
Status alltoall(Inter& x) {
  Placement placement = x.remote_placement();
  std::vector<Memory> memory;
  std::vector<const char*> out;
  std::vector<char*> in;
  std::vector<size_t> out_bytes, in_bytes;
  Status status;
  for (uint32_t p = 0; p < x.to.count(); ++p) {
    size_t sends = 0, receives = 0;
    for (const Args* m : x.step.members) {
      sends += bytes_of_process(m->send, placement, p);
      receives += bytes_of_process(m->recv, placement, p);
    }
    out_bytes.push_back(sends);
    in_bytes.push_back(receives);
    memory.push_back(raw_memory(sends));
    out.push_back(memory.back().get());
    char* at = memory.back().get();
    placement.for_each(p, [&](int32_t to) {
      for (const Args* m : x.step.members) {
        Segment s = m->send.segment(to);
        if (status.ok()) status = pack(s, at);
        at += s.bytes();
      }
    });
    memory.push_back(raw_memory(receives));
    in.push_back(memory.back().get());
  }
  FGMPI_TRY(std::move(status));
  FGMPI_TRY(trade(x, out, out_bytes, in, in_bytes));
  for (uint32_t p = 0; p < x.from.count(); ++p) {
    const char* at = in[p];
    for (const Args* m : x.step.members)
      placement.for_each(p, [&](int32_t from) {
        Segment s = m->recv.segment(from);
        if (status.ok()) status = unpack(at, s.bytes(), s);
        at += s.bytes();
      });
  }
  return status;
}

/// The fold of this side's contributions at its leader.
Status fold_side(Inter& x, const Reduction& r, char* out) {
  FGMPI_TRY(x.step.same_bytes([](const Args* m) { return m->send.whole().bytes(); }));
  if (!r.commutative && x.team.count() > 1 && !comm::hierarchy(x.step.shared).one_run_each) {
    RunFolds folds(x.step, x.team, r);
    return folds.for_each([&](int64_t from, int64_t n, std::span<const char* const> values) {
      return fold_all({r.type, n, r.op, false}, values, out + from * r.type->extent());
    });
  }
  FGMPI_TRY(fold_all(r, contributions(x.step), out));
  return team_reduce(x.team, 0, r, out);
}

Status reduce(Inter& x) {
  const Args* first = x.step.first();
  if (x.is_root_side()) {
    const Args* root = x.root();
    if (!root) return {};
    Segment whole{root->recv.address, root->send.count, &root->send.type};
    size_t bytes = static_cast<size_t>(whole.bytes());
    auto packed = raw_memory(bytes);
    FGMPI_TRY(x.from.recv(0, packed.get(), bytes));
    return unpack(packed.get(), static_cast<int64_t>(bytes), whole);
  }
  Reduction r{&first->send.type, first->send.count, first->op, host::is_commutative(first->op)};
  Operand folded(*r.type, r.count);
  FGMPI_TRY(fold_side(x, r, folded.at()));
  if (!x.leads()) return {};
  auto packed = raw_memory(r.bytes());
  FGMPI_TRY(pack({folded.at(), r.count, r.type}, packed.get()));
  return x.to.send(x.to.team_rank_of(first->root), packed.get(), r.bytes());
}

/// Allreduce and reduce_scatter: each side gets the fold of the other's contributions.
Status allreduce(Inter& x) {
  const Args* first = x.step.first();
  bool scatters = first->kind != CollectiveKind::kAllreduce;
  std::vector<int64_t> start{0};
  if (scatters)
    for (int32_t i = 0; i < x.step.shared->size; ++i)
      start.push_back(start.back() + first->recv.segment(i).count);
  Reduction r{&first->send.type, scatters ? start.back() : first->send.count, first->op,
              host::is_commutative(first->op)};
  Operand folded(*r.type, r.count);
  FGMPI_TRY(fold_side(x, r, folded.at()));
  auto packed = raw_memory(r.bytes()), theirs = raw_memory(r.bytes());
  if (x.leads()) FGMPI_TRY(pack({folded.at(), r.count, r.type}, packed.get()));
  FGMPI_TRY(x.swap(packed.get(), r.bytes(), theirs.get(), r.bytes()));
  FGMPI_TRY(team_bcast(x.team, 0, theirs.get(), r.bytes()));
  for (const Args* m : x.step.members) {
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
  Inter x(step);
  switch (step.first()->kind) {
    case CollectiveKind::kBarrier:
      return barrier(x);
    case CollectiveKind::kBcast:
      return bcast(x);
    case CollectiveKind::kGather:
    case CollectiveKind::kGatherv:
      return gather(x);
    case CollectiveKind::kScatter:
    case CollectiveKind::kScatterv:
      return scatter(x);
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAllgatherv:
      return allgather(x);
    case CollectiveKind::kAlltoall:
    case CollectiveKind::kAlltoallv:
    case CollectiveKind::kAlltoallw:
      return alltoall(x);
    case CollectiveKind::kReduce:
      return reduce(x);
    case CollectiveKind::kAllreduce:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kReduceScatterBlock:
      return allreduce(x);
    default:
      return error(MPI_ERR_COMM,
                   "the communicator is an intercommunicator; allowed are intracommunicators");
  }
}

}  // namespace fgmpi::coll
