// The tables of algorithms for each collective, and the choice of a row.

#include "coll/selector.h"

#include <span>

#include "base/count_words.h"
#include "base/settings.h"
#include "coll/algorithm_runs.h"
#include "coll/team_caller.h"
#include "multicast/multicast.h"

namespace fgmpi::coll {
namespace {

constexpr size_t kAny = SIZE_MAX;
constexpr uint32_t kMany = UINT32_MAX;
constexpr size_t KiB = 1024;

/// Conditions without which an algorithm gives no correct result.
enum Needs : uint8_t { kNothing = 0, kCommutative = 1, kDense = 2, kRegular = 4, kMulticast = 8 };

template <class F>
struct AlgorithmRow {
  const char* name;
  counters::CounterId runs;
  F run;
  uint8_t needs;
  uint32_t max_processes;  ///< the row holds up to this number
  size_t max_bytes;
};

/// The name and counter of an algorithm, as in base/algorithms.def.
#define NAMED(collective, algorithm) #algorithm, counters::kRuns_##collective##_##algorithm

// The rows "multicast" are only names. Where the processes can have a multicast group, team_*()
// uses it before these tables are read, as the tables behind them decide.
// The numbers are for shared memory on one machine: a message between processes costs about a
// microsecond, a byte a tenth of a nanosecond, and processes may outnumber cores.
constexpr AlgorithmRow<BarrierFn> kBarrier[] = {
    {NAMED(barrier, dissemination), barrier_dissemination, kNothing, 8, kAny},
    {NAMED(barrier, tree), barrier_tree, kNothing, kMany, kAny},
};
constexpr AlgorithmRow<BcastFn> kBcast[] = {
    {NAMED(bcast, binomial), bcast_binomial, kNothing, 2, kAny},
    {NAMED(bcast, chain), bcast_chain, kNothing, 4, kAny},
    {NAMED(bcast, knomial), bcast_knomial, kNothing, kMany, 4 * KiB},
    {NAMED(bcast, binomial), bcast_binomial, kNothing, kMany, 128 * KiB},
    {NAMED(bcast, scatter_allgather), bcast_scatter_allgather, kNothing, kMany, kAny},
    {NAMED(bcast, multicast), nullptr, kMulticast, 0, 0},
};
constexpr AlgorithmRow<ReduceFn> kReduce[] = {
    {NAMED(reduce, knomial), reduce_knomial, kCommutative, kMany, 2 * KiB},
    {NAMED(reduce, binomial), reduce_binomial, kNothing, kMany, 128 * KiB},
    {NAMED(reduce, rabenseifner), reduce_rabenseifner, kCommutative | kDense, kMany, kAny},
    {NAMED(reduce, binomial), reduce_binomial, kNothing, kMany, kAny},
};
constexpr AlgorithmRow<AllreduceFn> kAllreduce[] = {
    {NAMED(allreduce, recursive_doubling), allreduce_recursive_doubling, kNothing, 8, 64 * KiB},
    {NAMED(allreduce, reduce_bcast), allreduce_reduce_bcast, kNothing, kMany, 16 * KiB},
    {NAMED(allreduce, rabenseifner), allreduce_rabenseifner, kCommutative | kDense, kMany,
     1024 * KiB},
    {NAMED(allreduce, ring), allreduce_ring, kCommutative | kDense, 32, kAny},
    {NAMED(allreduce, rabenseifner), allreduce_rabenseifner, kCommutative | kDense, kMany, kAny},
    {NAMED(allreduce, recursive_doubling), allreduce_recursive_doubling, kNothing, 16, kAny},
    {NAMED(allreduce, reduce_bcast), allreduce_reduce_bcast, kNothing, kMany, kAny},
    {NAMED(allreduce, multicast), nullptr, kMulticast, 0, 0},
};
constexpr AlgorithmRow<ReduceScatterFn> kReduceScatter[] = {
    {NAMED(reduce_scatter, halving), reduce_scatter_halving, kCommutative | kDense, kMany,
     512 * KiB},
    {NAMED(reduce_scatter, ring), reduce_scatter_ring, kCommutative | kDense, kMany, kAny},
    {NAMED(reduce_scatter, pairwise), reduce_scatter_pairwise, kDense, kMany, kAny},
    {NAMED(reduce_scatter, multicast), nullptr, kMulticast, 0, 0},
};
constexpr AlgorithmRow<ScanFn> kScan[] = {
    {NAMED(scan, chain), scan_chain, kNothing, 4, kAny},
    {NAMED(scan, recursive_doubling), scan_recursive_doubling, kNothing, kMany, kAny},
};
constexpr AlgorithmRow<RootedFn> kGather[] = {
    {NAMED(gather, linear), gather_linear, kNothing, 4, kAny},
    {NAMED(gather, binomial), gather_binomial, kRegular, kMany, 256 * KiB},
    {NAMED(gather, linear), gather_linear, kNothing, kMany, kAny},
};
constexpr AlgorithmRow<RootedFn> kScatter[] = {
    {NAMED(scatter, linear), scatter_linear, kNothing, 4, kAny},
    {NAMED(scatter, binomial), scatter_binomial, kRegular, kMany, 256 * KiB},
    {NAMED(scatter, linear), scatter_linear, kNothing, kMany, kAny},
    {NAMED(scatter, multicast), nullptr, kMulticast, 0, 0},
};
constexpr AlgorithmRow<AllgatherFn> kAllgather[] = {
    {NAMED(allgather, ring), allgather_ring, kNothing, 2, kAny},
    {NAMED(allgather, recursive_doubling), allgather_recursive_doubling, kNothing, 8, 128 * KiB},
    {NAMED(allgather, bruck), allgather_bruck, kNothing, 8, 64 * KiB},
    {NAMED(allgather, gather_bcast), allgather_gather_bcast, kNothing, kMany, 64 * KiB},
    {NAMED(allgather, ring), allgather_ring, kNothing, kMany, kAny},
    {NAMED(allgather, bruck), allgather_bruck, kNothing, kMany, kAny},
    {NAMED(allgather, multicast), nullptr, kMulticast, 0, 0},
};
constexpr AlgorithmRow<AlltoallFn> kAlltoall[] = {
    {NAMED(alltoall, linear), alltoall_linear, kNothing, 4, kAny},
    {NAMED(alltoall, bruck), alltoall_bruck, kRegular, kMany, 16 * KiB},
    {NAMED(alltoall, pairwise), alltoall_pairwise, kNothing, kMany, kAny},
    {NAMED(alltoall, multicast), nullptr, kMulticast, 0, 0},
};
#undef NAMED

/// A range in which multicast is faster among enough hosts. Multicast is used where any row of the
/// table holds.
struct MulticastRow {
  size_t least_bytes, max_bytes;
  uint32_t max_processes;
};
// The numbers were measured among 4, 8 and 16 hosts with links of 100 Mbit/s and 1 Gbit/s, one and
// two processes each (docs/measurements.md). A row holds where the slowest rank was done earlier by
// multicast than by messages, or at the same time and the others earlier. The exception are
// allgathers of 1 MiB in all among 16 processes, which are slower on 100 Mbit/s and three times as
// fast on 1 Gbit/s. Elsewhere there is no clear difference, and a group costs a membership; more
// processes have not been measured. Scatters, all-to-alls and reduce-scatters were never faster.
constexpr MulticastRow kMulticastBcast[] = {{4 * KiB, kAny, kMany}};
constexpr MulticastRow kMulticastAllreduce[] = {{16 * KiB, 1024 * KiB, 8},
                                                {64 * KiB, 1024 * KiB, 16}};
constexpr MulticastRow kMulticastAllgather[] = {{32 * KiB, 1024 * KiB, 16}};

template <class F>
std::vector<std::string> names(std::span<const AlgorithmRow<F>> table) {
  std::vector<std::string> out;
  for (const AlgorithmRow<F>& row : table) {
    bool known = false;
    for (const std::string& name : out) known |= name == row.name;
    if (!known) out.push_back(row.name);
  }
  return out;
}

/// True if algorithms that split vectors can run this reduction.
bool splits(const Reduction& r) { return r.dense() && r.divisible(); }

/// The shape of a gather or scatter.
Shape shape_of(const Team& team, const ProcessBlocks& blocks) {
  return {team.count(), blocks.regular ? blocks.total() : 0, true, true, blocks.regular};
}

bool is_able(uint8_t needs, const Shape& shape) {
  return !((needs & kMulticast) || (needs & kCommutative && !shape.commutative) ||
           (needs & kDense && !shape.dense) || (needs & kRegular && !shape.regular));
}

template <class F, size_t n>
Status pick(const AlgorithmRow<F> (&rows)[n], settings::SettingId setting, const Shape& shape,
            F* out, const Team* team) {
  std::span<const AlgorithmRow<F>> table(rows);
  auto take = [&](const AlgorithmRow<F>& row) -> Status {
    *out = row.run;
    if (team) count_run(team->open(), row.runs);
    return {};
  };
  if (__builtin_expect(settings::is_set(setting), 0)) {
    for (const AlgorithmRow<F>& row : table) {
      if (settings::text(setting) != row.name || !is_able(row.needs, shape)) continue;
      return take(row);
    }
  }
  for (const AlgorithmRow<F>& row : table) {
    if (!is_able(row.needs, shape) || shape.processes > row.max_processes ||
        shape.bytes > row.max_bytes)
      continue;
    return take(row);
  }
  return error(MPI_ERR_INTERN, "no algorithm for %s and %s",
               count_words(shape.processes, "process").c_str(),
               count_words(shape.bytes, "byte").c_str());
}

}  // namespace

bool picks_multicast(settings::SettingId setting, const Shape& shape) {
  const auto any_of = [&](std::span<const MulticastRow> rows) {
    for (const MulticastRow& row : rows)
      if (shape.bytes >= row.least_bytes && shape.bytes <= row.max_bytes &&
          shape.processes <= row.max_processes)
        return true;
    return false;
  };
  switch (setting) {
    case settings::kCollBcast:
      return any_of(kMulticastBcast);
    case settings::kCollAllreduce:
      return shape.commutative && shape.dense && any_of(kMulticastAllreduce);
    case settings::kCollAllgather:
      return any_of(kMulticastAllgather);
    default:
      return false;
  }
}

Status pick_barrier(const Shape& shape, BarrierFn* out, const Team* team) {
  return pick(kBarrier, settings::kCollBarrier, shape, out, team);
}
Status pick_bcast(const Shape& shape, BcastFn* out, const Team* team) {
  return pick(kBcast, settings::kCollBcast, shape, out, team);
}
Status pick_reduce(const Shape& shape, ReduceFn* out, const Team* team) {
  return pick(kReduce, settings::kCollReduce, shape, out, team);
}
Status pick_allreduce(const Shape& shape, AllreduceFn* out, const Team* team) {
  return pick(kAllreduce, settings::kCollAllreduce, shape, out, team);
}
bool allreduce_is_set() { return settings::is_set(settings::kCollAllreduce); }
Status pick_reduce_scatter(const Shape& shape, ReduceScatterFn* out, const Team* team) {
  return pick(kReduceScatter, settings::kCollReduceScatter, shape, out, team);
}
Status pick_scan(const Shape& shape, ScanFn* out, const Team* team) {
  return pick(kScan, settings::kCollScan, shape, out, team);
}
Status pick_gather(const Shape& shape, RootedFn* out, const Team* team) {
  return pick(kGather, settings::kCollGather, shape, out, team);
}
Status pick_scatter(const Shape& shape, RootedFn* out, const Team* team) {
  return pick(kScatter, settings::kCollScatter, shape, out, team);
}
Status pick_allgather(const Shape& shape, AllgatherFn* out, const Team* team) {
  return pick(kAllgather, settings::kCollAllgather, shape, out, team);
}
Status pick_alltoall(const Shape& shape, AlltoallFn* out, const Team* team) {
  return pick(kAlltoall, settings::kCollAlltoall, shape, out, team);
}

Status team_barrier(const Team& team) {
  if (team.tree_size() > 0) {
    count_run(team.open(), counters::kRuns_barrier_group_tree);
    return barrier_group_tree(team);
  }
  if (team.count() < 2) return {};
  BarrierFn run;
  FGMPI_TRY(pick_barrier({team.count(), 0}, &run, &team));
  return run(team);
}

/// Runs f(multicast), if the collective must go by multicast and its processes have a group. Else
/// *done is false.
template <class F>
Status by_multicast(const Team& team, settings::SettingId setting, counters::CounterId runs,
                    const Shape& shape, bool* done, F&& f) {
  *done = false;
  if (__builtin_expect(!wants_multicast(team, setting, shape), 1)) return {};
  const TeamCaller caller(team);
  multicast::Membership* group;
  FGMPI_TRY(multicast::group_of(caller, &group));
  if (!group) return {};
  *done = true;
  count_run(team.open(), runs);
  return f(Multicast(caller, group, team.types()));
}

Status team_bcast(const Team& team, uint32_t root, char* data, size_t bytes) {
  if (team.tree_size() > 0) {
    count_run(team.open(), counters::kRuns_bcast_group_tree);
    return bcast_group_tree(team, root, data, bytes);
  }
  if (team.count() < 2) return {};
  const Shape shape{team.count(), bytes};
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollBcast, counters::kRuns_bcast_multicast, shape, &done,
      [&](const Multicast& m) { return bcast_multicast(team, m, root, data, bytes); }));
  if (done) return {};
  BcastFn run;
  FGMPI_TRY(pick_bcast(shape, &run, &team));
  return run(team, root, data, bytes);
}

Status team_reduce(const Team& team, uint32_t root, const Reduction& r, char* data) {
  if (team.tree_size() > 0) {
    count_run(team.open(), counters::kRuns_reduce_group_tree);
    return reduce_group_tree(team, root, r, data);
  }
  if (team.count() < 2) return {};
  ReduceFn run;
  FGMPI_TRY(pick_reduce({team.count(), r.bytes(), r.commutative, splits(r)}, &run, &team));
  return run(team, root, r, data);
}

Status team_allreduce(const Team& team, const Reduction& r, char* data) {
  if (team.tree_size() > 0) {
    count_run(team.open(), counters::kRuns_allreduce_group_tree);
    return allreduce_group_tree(team, r, data);
  }
  if (team.count() < 2) return {};
  const Shape shape{team.count(), r.bytes(), r.commutative, splits(r)};
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollAllreduce, counters::kRuns_allreduce_multicast, shape, &done,
      [&](const Multicast& m) { return allreduce_multicast(team, m, r, data); }));
  if (done) return {};
  AllreduceFn run;
  FGMPI_TRY(pick_allreduce(shape, &run, &team));
  return run(team, r, data);
}

Status team_scan(const Team& team, const Reduction& r, char* data, char* before) {
  if (team.count() < 2) return {};
  ScanFn run;
  FGMPI_TRY(pick_scan({team.count(), r.bytes(), r.commutative, splits(r)}, &run, &team));
  return run(team, r, data, before);
}

Status team_gather(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks) {
  RootedFn run;
  FGMPI_TRY(pick_gather(shape_of(team, blocks), &run, &team));
  return run(team, root, buffer, blocks);
}

Status team_scatter(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks) {
  const Shape shape = shape_of(team, blocks);
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollScatter, counters::kRuns_scatter_multicast, shape, &done,
      [&](const Multicast& m) { return scatter_multicast(team, m, root, buffer, blocks); }));
  if (done) return {};
  RootedFn run;
  FGMPI_TRY(pick_scatter(shape, &run, &team));
  return run(team, root, buffer, blocks);
}

Status team_alltoall(const Team& team, const char* out, char* in, const AlltoallSizes& sizes,
                     size_t bytes, bool regular) {
  const Shape shape{team.count(), bytes, true, true, regular};
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollAlltoall, counters::kRuns_alltoall_multicast, shape, &done,
      [&](const Multicast& m) { return alltoall_multicast(team, m, out, in, sizes); }));
  if (done) return {};
  AlltoallFn run;
  FGMPI_TRY(pick_alltoall(shape, &run, &team));
  return run(team, out, in, sizes);
}

Status team_reduce_scatter(const Team& team, const Reduction& r, char* data,
                           const ProcessBlocks& blocks) {
  const Shape shape{team.count(), r.bytes(), r.commutative, true};
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollReduceScatter, counters::kRuns_reduce_scatter_multicast, shape, &done,
      [&](const Multicast& m) { return reduce_scatter_multicast(team, m, r, data, blocks); }));
  if (done) return {};
  ReduceScatterFn run;
  FGMPI_TRY(pick_reduce_scatter(shape, &run, &team));
  return run(team, r, data, blocks);
}

Status team_allgather(const Team& team, char* buffer, const ProcessBlocks& blocks) {
  if (team.count() < 2) return {};
  const Shape shape{team.count(), blocks.total()};
  bool done;
  FGMPI_TRY(by_multicast(
      team, settings::kCollAllgather, counters::kRuns_allgather_multicast, shape, &done,
      [&](const Multicast& m) { return allgather_multicast(team, m, buffer, blocks); }));
  if (done) return {};
  AllgatherFn run;
  FGMPI_TRY(pick_allgather(shape, &run, &team));
  return run(team, buffer, blocks);
}

std::vector<std::string> algorithm_names(const std::string& collective) {
  auto of = []<class F, size_t n>(const AlgorithmRow<F>(&table)[n]) {
    return names(std::span<const AlgorithmRow<F>>(table));
  };
  if (collective == "BARRIER") return of(kBarrier);
  if (collective == "BCAST") return of(kBcast);
  if (collective == "REDUCE") return of(kReduce);
  if (collective == "ALLREDUCE") return of(kAllreduce);
  if (collective == "REDUCE_SCATTER") return of(kReduceScatter);
  if (collective == "SCAN") return of(kScan);
  if (collective == "GATHER") return of(kGather);
  if (collective == "SCATTER") return of(kScatter);
  if (collective == "ALLGATHER") return of(kAllgather);
  if (collective == "ALLTOALL") return of(kAlltoall);
  return {};
}

}  // namespace fgmpi::coll
