// Barriers, and short broadcasts and reductions, by slots in a meeting's memory.

#include "coll/short.h"

#include <algorithm>
#include <span>

#include "coll/fold.h"
#include "coll/selector.h"
#include "coll/team.h"

namespace fgmpi::coll {

constinit int64_t g_short_reduce_bytes = kShortReduceBytes;

namespace {

using comm::Meeting;

/// Runs level two: f(team) on the joint data of this process's members, unless this process has all
/// members. `agreed`: what all processes must give alike (team.h).
template <class F>
Status among_processes(SharedComm* shared, const Meeting* m, uint64_t agreed, F&& f) {
  ++g_counters.collectives;
  if (shared->processes == 1) return {};
  Team team(shared, m, agreed, Team::kTree);
  return f(team);
}

void make_room(Meeting* m, size_t bytes) {
  if (m->scratch.size() < bytes) m->scratch.resize(bytes);
}

/// What a short broadcast or reduction keeps in its meeting: the values that members must agree on,
/// as the first to arrive gave them.
struct ShortBlock {
  int32_t root = 0;
  int32_t op = 0;
  size_t bytes = 0;
  int32_t* ranks = nullptr;  ///< reductions: the rank that contributed each slot, behind the slots
};

/// Checks that the members give the same arguments. If not, all get an error, and no data is
/// copied. Returns whether no member so far has an error.
bool check_agreement(Meeting* m, size_t bytes, int32_t root, int32_t op, int32_t rank) {
  if (m->arrived == 1) comm::begin_block<ShortBlock>(m, root, op, bytes);
  if (__builtin_expect(!m->status.ok(), 0)) return false;
  const ShortBlock& first = *comm::block_of<ShortBlock>(m);
  if (__builtin_expect(first.root == root && first.op == op && first.bytes == bytes, 1))
    return true;
  if (first.bytes != bytes)
    m->status = different_bytes(m->first_rank, static_cast<int64_t>(first.bytes), rank,
                                static_cast<int64_t>(bytes));
  else if (first.root != root)
    m->status = different_roots(m->first_rank, first.root, rank, root);
  else
    m->status =
        error(MPI_ERR_OP, "rank %d and rank %d give different operations", m->first_rank, rank);
  return false;
}

/// Makes room in the meeting's scratch for the slots of a reduction, `bytes` each, and behind them
/// for the ranks that will contribute them.
void make_slots(Meeting* m, size_t bytes) {
  const size_t members = m->shared->members;
  const size_t ranks_at = (bytes * members + alignof(int32_t) - 1) & -alignof(int32_t);
  make_room(m, ranks_at + members * sizeof(int32_t));
  comm::block_of<ShortBlock>(m)->ranks = reinterpret_cast<int32_t*>(m->scratch.data() + ranks_at);
}

/// Folds `n` slots of `r.count` elements each into one slot, and returns it. Predefined operations
/// commute, so slot i is combined with slot i + n/2, and one call combines half of the remaining
/// slots. `ascending`: slots are in rank order; else they are in reverse order, and the same pairs
/// are combined.
char* fold_halves(const Reduction& r, char* slots, size_t n, bool ascending, Status* status) {
  size_t bytes = r.bytes();
  while (n > 1 && status->ok()) {
    size_t half = (n + 1) / 2;
    int64_t count = static_cast<int64_t>(n - half) * r.count;
    char* upper = slots + half * bytes;
    if (ascending) {
      *status = datatype::reduce_local(upper, slots, count, *r.type, r.op);
    } else {
      *status = datatype::reduce_local(slots, upper, count, *r.type, r.op);
      slots += (n - half) * bytes;
    }
    n = half;
  }
  return slots;
}

/// The addresses of the slots in rank order.
std::vector<const char*> sorted_slots(std::span<const int32_t> ranks, const char* slots,
                                      size_t bytes) {
  std::vector<std::pair<int32_t, const char*>> order;
  order.reserve(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) order.emplace_back(ranks[i], slots + i * bytes);
  std::sort(order.begin(), order.end());
  std::vector<const char*> sources;
  sources.reserve(order.size());
  for (const auto& [rank, slot] : order) sources.push_back(slot);
  return sources;
}

/// Folds the slots of all members into one; *result is that slot.
Status fold_slots(Meeting* m, const Reduction& r, char** result) {
  const size_t n = m->arrived, bytes = r.bytes();
  const std::span<const int32_t> ranks(comm::block_of<ShortBlock>(m)->ranks, n);
  char* slots = reinterpret_cast<char*>(m->scratch.data());
  bool ascending = true, descending = true;
  for (size_t i = 1; i < n; ++i) {
    ascending &= ranks[i] > ranks[i - 1];
    descending &= ranks[i] < ranks[i - 1];
  }
  Status status;
  if (ascending || descending || bytes == 0) {
    *result = fold_halves(r, slots, n, ascending, &status);
    return status;
  }
  Memory sorted = raw_memory(n * bytes);
  char* to = sorted.get();
  for (const char* slot : sorted_slots(ranks, slots, bytes)) {
    std::memcpy(to, slot, bytes);
    to += bytes;
  }
  char* folded = fold_halves(r, sorted.get(), n, true, &status);
  std::memcpy(slots, folded, bytes);
  *result = slots;
  return status;
}

/// Folds all slots, within the process and between processes, into the first one. Run by the last
/// member to arrive.
Status reduce_meeting(SharedComm* shared, Meeting* m, const ShortReduce& args) {
  Type type;
  FGMPI_TRY(Type::of(args.type, &type));
  const int64_t count = static_cast<int64_t>(args.bytes) / type.size();
  FGMPI_TRY(datatype::check_op(args.op, count, type));
  Reduction r{&type, count, args.op, true};
  char* result;
  FGMPI_TRY(fold_slots(m, r, &result));
  FGMPI_TRY(among_processes(shared, m, args.bytes, [&](const Team& team) {
    return args.root < 0 ? team_allreduce(team, r, result)
                         : team_reduce(team, team.team_rank_of(args.root), r, result);
  }));
  if (args.bytes && result != reinterpret_cast<char*>(m->scratch.data()))
    std::memmove(m->scratch.data(), result, args.bytes);
  return {};
}

/// What the last member to arrive does in a barrier. Out of line, so that the members that wait use
/// little of their stacks: much of a barrier of many is the memory that it touches for each.
[[gnu::noinline]] Status end_barrier(Comm* comm, Meeting* m) {
  if (__builtin_expect(m->status.ok(), 1))
    m->status =
        among_processes(comm->shared, m, 0, [](const Team& team) { return team_barrier(team); });
  conclude(comm->shared, m, &m->status);
  comm::release(m);
  return comm::leave(m);
}

}  // namespace

Status short_barrier(Comm* comm, const char* call) {
  Meeting* m = comm::join(comm, operation_code(CollectiveKind::kBarrier, CallMode::kShort), call);
  if (!m->full) {
    comm::wait(comm, m, call);
    return comm::leave(m);
  }
  return end_barrier(comm, m);
}

/// Broadcasts the meeting's scratch between processes. Run by the last member to arrive.
Status bcast_meeting(SharedComm* shared, Meeting* m, size_t bytes, MPI_Datatype handle,
                     const Segment* gaps, int root) {
  return among_processes(shared, m, agreed_with_root(bytes, root), [&](Team& team) {
    Type type;
    if (gaps)
      team.set_type(gaps->type, gaps->count);
    else if (Type::of(handle, &type).ok())
      team.set_type(&type, bytes ? -1 : 0);
    return team_bcast(team, team.team_rank_of(root), reinterpret_cast<char*>(m->scratch.data()),
                      bytes);
  });
}

Status short_bcast(Comm* comm, char* address, size_t bytes, MPI_Datatype type, const Segment* gaps,
                   int root, const char* call) {
  Meeting* m = comm::join(comm, operation_code(CollectiveKind::kBcast, CallMode::kShort), call);
  bool is_root = comm->rank == root;
  if (check_agreement(m, bytes, root, 0, comm->rank)) {
    make_room(m, bytes);
    char* data = reinterpret_cast<char*>(m->scratch.data());
    if (is_root && gaps)
      m->status = pack(*gaps, data);
    else if (is_root && bytes)
      std::memcpy(data, address, bytes);
  }
  if (m->full) {
    if (m->status.ok()) m->status = bcast_meeting(comm->shared, m, bytes, type, gaps, root);
    conclude(comm->shared, m, &m->status);
    comm::release(m);
  } else {
    comm::wait(comm, m, call);
  }
  Status status;
  if (!is_root && m->status.ok()) {
    const char* data = reinterpret_cast<const char*>(m->scratch.data());
    if (gaps)
      status = unpack(data, static_cast<int64_t>(bytes), *gaps);
    else if (bytes)
      std::memcpy(address, data, bytes);
  }
  FGMPI_TRY(comm::leave(m));
  return status;
}

Status short_reduce(Comm* comm, const ShortReduce& r, const char* call) {
  CollectiveKind kind = r.root < 0 ? CollectiveKind::kAllreduce : CollectiveKind::kReduce;
  Meeting* m = comm::join(comm, operation_code(kind, CallMode::kShort), call);
  if (check_agreement(m, r.bytes, r.root, r.op, comm->rank)) {
    if (m->arrived == 1) make_slots(m, r.bytes);
    const size_t slot = m->arrived - 1;
    if (r.bytes) std::memcpy(m->scratch.data() + r.bytes * slot, r.send, r.bytes);
    comm::block_of<ShortBlock>(m)->ranks[slot] = comm->rank;
  }
  if (m->full) {
    if (m->status.ok()) m->status = reduce_meeting(comm->shared, m, r);
    conclude(comm->shared, m, &m->status);
    comm::release(m);
  } else {
    comm::wait(comm, m, call);
  }
  if (r.recv && r.bytes && m->status.ok()) std::memcpy(r.recv, m->scratch.data(), r.bytes);
  return comm::leave(m);
}

}  // namespace fgmpi::coll
