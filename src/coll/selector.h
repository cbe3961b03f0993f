// Selector: the choice of the algorithm that the processes run for a collective of this shape.
//
// selector.cc has one table a collective: the first row whose conditions hold is used.
// FGMPI_COLL_<NAME>=algorithm (e.g. FGMPI_COLL_ALLREDUCE=ring) selects that row wherever the
// algorithm can be used at all; the v and w forms, the nonblocking and the persistent ones
// follow the plain name. Every process must have the same value. Thread rule: one thread;
// nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.h"
#include "coll/algorithms.h"

namespace fgmpi::coll {

/// What the choice may depend on; it must be the same at every process.
struct Shape {
  uint32_t processes;
  size_t bytes;             ///< of the whole vector or of all blocks
  bool commutative = true;  ///< reductions
  bool dense = true;        ///< reductions
  bool regular = true;      ///< every process knows every block's size
};

using BarrierFn = Status (*)(const Team&);
using BcastFn = Status (*)(const Team&, uint32_t, char*, size_t);
using ReduceFn = Status (*)(const Team&, uint32_t, const Reduction&, char*);
using AllreduceFn = Status (*)(const Team&, const Reduction&, char*);
using ReduceScatterFn = Status (*)(const Team&, const Reduction&, char*, const ProcessBlocks&);
using ScanFn = Status (*)(const Team&, const Reduction&, char*, char*);
using RootedFn = Status (*)(const Team&, uint32_t, char*, const ProcessBlocks&);
using AllgatherFn = Status (*)(const Team&, char*, const ProcessBlocks&);
using AlltoallFn = Status (*)(const Team&, const char*, char*, const AlltoallSizes&);

// Each function finds the algorithm that a team of this shape runs. With `team` it will be run now,
// so it is counted (algorithm_runs.h).
Status pick_barrier(const Shape& shape, BarrierFn* out, const Team* team = nullptr);
Status pick_bcast(const Shape& shape, BcastFn* out, const Team* team = nullptr);
Status pick_reduce(const Shape& shape, ReduceFn* out, const Team* team = nullptr);
Status pick_allreduce(const Shape& shape, AllreduceFn* out, const Team* team = nullptr);
Status pick_reduce_scatter(const Shape& shape, ReduceScatterFn* out, const Team* team = nullptr);
Status pick_scan(const Shape& shape, ScanFn* out, const Team* team = nullptr);
Status pick_gather(const Shape& shape, RootedFn* out, const Team* team = nullptr);
Status pick_scatter(const Shape& shape, RootedFn* out, const Team* team = nullptr);
Status pick_allgather(const Shape& shape, AllgatherFn* out, const Team* team = nullptr);
Status pick_alltoall(const Shape& shape, AlltoallFn* out, const Team* team = nullptr);

/// True if the collective of this setting goes by multicast by default at this shape, among as many
/// hosts as FGMPI_MULTICAST demands.
bool picks_multicast(settings::SettingId setting, const Shape& shape);

/// True if the user names an allreduce algorithm. Then step_reduce.cc does not use its own
/// algorithm for long vectors of two processes.
bool allreduce_is_set();

// Each function picks an algorithm and runs it. Vectors of length 0 are exchanged too, as empty
// messages: these show when a member gives another length.
Status team_barrier(const Team& team);
Status team_bcast(const Team& team, uint32_t root, char* data, size_t bytes);
Status team_reduce(const Team& team, uint32_t root, const Reduction& r, char* data);
Status team_allreduce(const Team& team, const Reduction& r, char* data);
Status team_scan(const Team& team, const Reduction& r, char* data, char* before);
Status team_allgather(const Team& team, char* buffer, const ProcessBlocks& blocks);
Status team_gather(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks);
Status team_scatter(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks);
/// `bytes`: of all blocks, where all processes know them (`regular`).
Status team_alltoall(const Team& team, const char* out, char* in, const AlltoallSizes& sizes,
                     size_t bytes, bool regular);
/// REQUIRES: r is dense.
Status team_reduce_scatter(const Team& team, const Reduction& r, char* data,
                           const ProcessBlocks& blocks);

/// Names of the algorithms of a collective ("ALLREDUCE"), for reports and tests; empty when there
/// is no such collective.
std::vector<std::string> algorithm_names(const std::string& collective);

}  // namespace fgmpi::coll
