#include "coll/selector.h"

#include <span>

#include "base/settings.h"
#include "coll/multicast.h"

namespace fgmpi::coll {
namespace {

constexpr size_t kAny = SIZE_MAX;
constexpr uint32_t kMany = UINT32_MAX;
constexpr size_t KiB = 1024;
/// A broadcast by multicast takes a round trip more than by messages, and the acknowledgements.
constexpr size_t kLeastMulticastBcast = 16 * KiB;

/// Conditions without which an algorithm gives no correct result.
enum Needs : uint8_t { kNothing = 0, kCommutative = 1, kDense = 2, kRegular = 4, kMulticast = 8 };

template <class F>
struct Row {
  const char* name;
  F run;
  uint8_t needs;
  uint32_t max_processes;  ///< taken up to these
  size_t max_bytes;
};

// Rows "multicast" are names only: where a group of the multicast can be had, team_*() takes it before it looks here.
// The numbers are of shared memory on one machine: a message between processes costs about a
// microsecond, a byte a tenth of a nanosecond, and processes may outnumber cores.
constexpr Row<BarrierFn> kBarrier[] = {
    {"dissemination", barrier_dissemination, kNothing, 8, kAny},
    {"tree", barrier_tree, kNothing, kMany, kAny},
};
constexpr Row<BcastFn> kBcast[] = {
    {"binomial", bcast_binomial, kNothing, 2, kAny},
    {"chain", bcast_chain, kNothing, 4, kAny},
    {"knomial", bcast_knomial, kNothing, kMany, 4 * KiB},
    {"binomial", bcast_binomial, kNothing, kMany, 128 * KiB},
    {"scatter_allgather", bcast_scatter_allgather, kNothing, kMany, kAny},
    {"multicast", nullptr, kMulticast, 0, 0},
};
constexpr Row<ReduceFn> kReduce[] = {
    {"knomial", reduce_knomial, kCommutative, kMany, 2 * KiB},
    {"binomial", reduce_binomial, kNothing, kMany, 128 * KiB},
    {"rabenseifner", reduce_rabenseifner, kCommutative | kDense, kMany, kAny},
    {"binomial", reduce_binomial, kNothing, kMany, kAny},
};
constexpr Row<AllreduceFn> kAllreduce[] = {
    {"recursive_doubling", allreduce_recursive_doubling, kNothing, 8, 64 * KiB},
    {"reduce_bcast", allreduce_reduce_bcast, kNothing, kMany, 16 * KiB},
    {"rabenseifner", allreduce_rabenseifner, kCommutative | kDense, kMany, 1024 * KiB},
    {"ring", allreduce_ring, kCommutative | kDense, 32, kAny},
    {"rabenseifner", allreduce_rabenseifner, kCommutative | kDense, kMany, kAny},
    {"recursive_doubling", allreduce_recursive_doubling, kNothing, 16, kAny},
    {"reduce_bcast", allreduce_reduce_bcast, kNothing, kMany, kAny},
    {"multicast", nullptr, kMulticast, 0, 0},
};
constexpr Row<ReduceScatterFn> kReduceScatter[] = {
    {"halving", reduce_scatter_halving, kCommutative | kDense, kMany, 512 * KiB},
    {"ring", reduce_scatter_ring, kCommutative | kDense, kMany, kAny},
    {"pairwise", reduce_scatter_pairwise, kDense, kMany, kAny},
    {"multicast", nullptr, kMulticast, 0, 0},
};
constexpr Row<ExscanFn> kExscan[] = {
    {"chain", exscan_chain, kNothing, 4, kAny},
    {"recursive_doubling", exscan_recursive_doubling, kNothing, kMany, kAny},
};
constexpr Row<RootedFn> kGather[] = {
    {"linear", gather_linear, kNothing, 4, kAny},
    {"binomial", gather_binomial, kRegular, kMany, 256 * KiB},
    {"linear", gather_linear, kNothing, kMany, kAny},
};
constexpr Row<RootedFn> kScatter[] = {
    {"linear", scatter_linear, kNothing, 4, kAny},
    {"binomial", scatter_binomial, kRegular, kMany, 256 * KiB},
    {"linear", scatter_linear, kNothing, kMany, kAny},
    {"multicast", nullptr, kMulticast, 0, 0},
};
constexpr Row<AllgatherFn> kAllgather[] = {
    {"ring", allgather_ring, kNothing, 2, kAny},
    {"recursive_doubling", allgather_recursive_doubling, kNothing, 8, 128 * KiB},
    {"bruck", allgather_bruck, kNothing, 8, 64 * KiB},
    {"gather_bcast", allgather_gather_bcast, kNothing, kMany, 64 * KiB},
    {"ring", allgather_ring, kNothing, kMany, kAny},
    {"bruck", allgather_bruck, kNothing, kMany, kAny},
    {"multicast", nullptr, kMulticast, 0, 0},
};
constexpr Row<AlltoallFn> kAlltoall[] = {
    {"linear", alltoall_linear, kNothing, 4, kAny},
    {"bruck", alltoall_bruck, kRegular, kMany, 16 * KiB},
    {"pairwise", alltoall_pairwise, kNothing, kMany, kAny},
    {"multicast", nullptr, kMulticast, 0, 0},
};

template <class F>
std::vector<std::string> names(std::span<const Row<F>> table) {
  std::vector<std::string> out;
  for (const Row<F>& row : table) {
    bool known = false;
    for (const std::string& name : out) known |= name == row.name;
    if (!known) out.push_back(row.name);
  }
  return out;
}

/// Algorithms that split vectors can do it.
bool splits(const Reduction& r) { return r.dense() && r.divisible(); }

bool is_able(uint8_t needs, const Shape& shape) {
  return !((needs & kMulticast) || (needs & kCommutative && !shape.commutative) ||
           (needs & kDense && !shape.dense) || (needs & kRegular && !shape.regular));
}

template <class F, size_t n>
Status pick(const Row<F> (&rows)[n], settings::Id setting, const Shape& shape, F* out) {
  std::span<const Row<F>> table(rows);
  if (__builtin_expect(settings::is_set(setting), 0)) {
    for (const Row<F>& row : table) {
      if (settings::text(setting) != row.name || !is_able(row.needs, shape)) continue;
      *out = row.run;
      return {};
    }
  }
  for (const Row<F>& row : table) {
    if (!is_able(row.needs, shape) || shape.processes > row.max_processes ||
        shape.bytes > row.max_bytes)
      continue;
    *out = row.run;
    return {};
  }
  return error(MPI_ERR_INTERN, "no algorithm for %u processes and %zu bytes", shape.processes,
               shape.bytes);
}

}  // namespace

Status pick_barrier(const Shape& shape, BarrierFn* out) {
  return pick(kBarrier, settings::kCollBarrier, shape, out);
}
Status pick_bcast(const Shape& shape, BcastFn* out) {
  return pick(kBcast, settings::kCollBcast, shape, out);
}
Status pick_reduce(const Shape& shape, ReduceFn* out) {
  return pick(kReduce, settings::kCollReduce, shape, out);
}
Status pick_allreduce(const Shape& shape, AllreduceFn* out) {
  return pick(kAllreduce, settings::kCollAllreduce, shape, out);
}
bool allreduce_is_set() { return settings::is_set(settings::kCollAllreduce); }
Status pick_reduce_scatter(const Shape& shape, ReduceScatterFn* out) {
  return pick(kReduceScatter, settings::kCollReduceScatter, shape, out);
}
Status pick_exscan(const Shape& shape, ExscanFn* out) {
  return pick(kExscan, settings::kCollScan, shape, out);
}
Status pick_gather(const Shape& shape, RootedFn* out) {
  return pick(kGather, settings::kCollGather, shape, out);
}
Status pick_scatter(const Shape& shape, RootedFn* out) {
  return pick(kScatter, settings::kCollScatter, shape, out);
}
Status pick_allgather(const Shape& shape, AllgatherFn* out) {
  return pick(kAllgather, settings::kCollAllgather, shape, out);
}
Status pick_alltoall(const Shape& shape, AlltoallFn* out) {
  return pick(kAlltoall, settings::kCollAlltoall, shape, out);
}

Status team_barrier(const Team& team) {
  if (team.tree_size() > 0) return group_tree_barrier(team);
  if (team.count() < 2) return {};
  BarrierFn run;
  FGMPI_TRY(pick_barrier({team.count(), 0}, &run));
  return run(team);
}

/// Runs f(multicast), if the collective is to go by multicast and its processes have a group; else *done is false.
template <class F>
Status by_multicast(const Team& team, settings::Id setting, size_t bytes, size_t least_bytes,
                    bool* done, F&& f) {
  *done = false;
  if (__builtin_expect(!wants_multicast(team, setting, bytes, least_bytes), 1)) return {};
  transport::multicast::Membership* group;
  FGMPI_TRY(group_of(team, &group));
  if (!group) return {};
  *done = true;
  return f(Multicast(team, group));
}

Status team_bcast(const Team& team, uint32_t root, char* data, size_t bytes) {
  if (team.tree_size() > 0) return group_tree_bcast(team, root, data, bytes);
  if (team.count() < 2) return {};
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollBcast, bytes, kLeastMulticastBcast, &done,
      [&](const Multicast& m) { return bcast_multicast(team, m, root, data, bytes); }));
  if (done) return {};
  BcastFn run;
  FGMPI_TRY(pick_bcast({team.count(), bytes}, &run));
  return run(team, root, data, bytes);
}

Status team_reduce(const Team& team, uint32_t root, const Reduction& r, char* data) {
  if (team.tree_size() > 0) return group_tree_reduce(team, root, r, data);
  if (team.count() < 2) return {};
  ReduceFn run;
  FGMPI_TRY(pick_reduce({team.count(), r.bytes(), r.commutative, splits(r)}, &run));
  return run(team, root, r, data);
}

Status team_allreduce(const Team& team, const Reduction& r, char* data) {
  if (team.tree_size() > 0) return group_tree_allreduce(team, r, data);
  if (team.count() < 2) return {};
  bool done;
  FGMPI_TRY(
      by_multicast(team, settings::kCollAllreduce, r.bytes(), kNeverByItself, &done,
                   [&](const Multicast& m) { return allreduce_multicast(team, m, r, data); }));
  if (done) return {};
  AllreduceFn run;
  FGMPI_TRY(pick_allreduce({team.count(), r.bytes(), r.commutative, splits(r)}, &run));
  return run(team, r, data);
}

Status team_exscan(const Team& team, const Reduction& r, char* data, char* before) {
  if (team.count() < 2) return {};
  ExscanFn run;
  FGMPI_TRY(pick_exscan({team.count(), r.bytes(), r.commutative, splits(r)}, &run));
  return run(team, r, data, before);
}

Status team_scatter(const Team& team, uint32_t root, char* buffer, const Blocks& blocks,
                    size_t bytes, bool regular, bool opened) {
  bool done;
  FGMPI_TRY(by_multicast(team, settings::kCollScatter, bytes, kNeverByItself, &done,
                         [&](const Multicast& m) {
                           return scatter_multicast(team, m, root, buffer, blocks, regular, opened);
                         }));
  if (done) return {};
  RootedFn run;
  FGMPI_TRY(pick_scatter({team.count(), bytes, true, true, regular}, &run));
  return run(team, root, buffer, blocks);
}

Status team_alltoall(const Team& team, const char* out, char* in, const AlltoallSizes& sizes,
                     size_t bytes, bool regular) {
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollAlltoall, bytes, kNeverByItself, &done,
      [&](const Multicast& m) { return alltoall_multicast(team, m, out, in, sizes); }));
  if (done) return {};
  AlltoallFn run;
  FGMPI_TRY(pick_alltoall({team.count(), bytes, true, true, regular}, &run));
  return run(team, out, in, sizes);
}

Status team_reduce_scatter(const Team& team, const Reduction& r, char* data, const Blocks& blocks) {
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollReduceScatter, r.bytes(), kNeverByItself, &done,
      [&](const Multicast& m) { return reduce_scatter_multicast(team, m, r, data, blocks); }));
  if (done) return {};
  ReduceScatterFn run;
  FGMPI_TRY(pick_reduce_scatter({team.count(), r.bytes(), r.commutative, true}, &run));
  return run(team, r, data, blocks);
}

Status team_allgather(const Team& team, char* buffer, const Blocks& blocks) {
  if (team.count() < 2) return {};
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollAllgather, blocks.total(), kNeverByItself, &done,
      [&](const Multicast& m) { return allgather_multicast(team, m, buffer, blocks); }));
  if (done) return {};
  AllgatherFn run;
  FGMPI_TRY(pick_allgather({team.count(), blocks.total()}, &run));
  return run(team, buffer, blocks);
}

std::vector<std::string> algorithm_names(const std::string& collective) {
  auto of = []<class F, size_t n>(const Row<F>(&table)[n]) {
    return names(std::span<const Row<F>>(table));
  };
  if (collective == "BARRIER") return of(kBarrier);
  if (collective == "BCAST") return of(kBcast);
  if (collective == "REDUCE") return of(kReduce);
  if (collective == "ALLREDUCE") return of(kAllreduce);
  if (collective == "REDUCE_SCATTER") return of(kReduceScatter);
  if (collective == "SCAN") return of(kExscan);
  if (collective == "GATHER") return of(kGather);
  if (collective == "SCATTER") return of(kScatter);
  if (collective == "ALLGATHER") return of(kAllgather);
  if (collective == "ALLTOALL") return of(kAlltoall);
  return {};
}

}  // namespace fgmpi::coll
