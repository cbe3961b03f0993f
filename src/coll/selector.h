// Selector: the choice of the algorithm that the processes run for a collective of this shape, and
// its run.
//
// base/algorithms.def lists the algorithms and the shapes for which each is taken. The setting
// FGMPI_COLL_<NAME>=algorithm (e.g. FGMPI_COLL_ALLREDUCE=ring) takes one wherever it can be used at
// all; the v and w forms, the nonblocking and the persistent ones follow the plain name. Every
// process must have the same value. Thread rule: one thread; the functions pick_*() and picks_*()
// never switch.
#pragma once

#include <cstdint>

#include "base/settings.h"
#include "coll/algorithms.h"

namespace fgmpi::coll {

/// What the choice may depend on; it must be the same at every process.
struct CollectiveShape {
  uint32_t processes;
  size_t bytes;             ///< of the whole vector or of all blocks
  bool commutative = true;  ///< reductions
  bool dense = true;        ///< reductions
  bool regular = true;      ///< every process knows every block's size
  bool exact = true;        ///< the order in which operands are combined changes no result
  bool counted = false;     ///< the run is that of a later piece, and is not counted
};

// pick_bcast() and so on find the algorithm that a team of this shape runs by messages between any
// two processes.
#define FGMPI_COLLECTIVE(collective, ...) \
  Status pick_##collective(const CollectiveShape& shape, algorithm_type::collective** out);
#include "base/algorithms.def"

/// True if the collective of this setting goes by multicast by default at this shape, among as many
/// hosts as FGMPI_MULTICAST demands. For tests.
bool picks_multicast(settings::SettingId setting, const CollectiveShape& shape);

/// True if the user names an allreduce algorithm. Then step_reduce.cc does not use its own
/// algorithm for long vectors of two processes.
bool allreduce_is_set();

// Each function picks an algorithm, counts it (algorithm_runs.h) and runs it: in a team of
// neighbours the one for their tree, else one by multicast where the team wants and has a group,
// else one by messages. Vectors of length 0 are exchanged too, as empty messages: these show when a
// member gives another length.
Status team_barrier(const Team& team);
Status team_bcast(const Team& team, uint32_t root, char* data, size_t bytes);
/// A piece of a long broadcast: the bytes of the whole choose the algorithm, and the first piece,
/// `at` 0, counts as its run.
struct PieceOfWhole {
  size_t whole, at;
};
Status team_bcast(const Team& team, uint32_t root, char* data, size_t bytes, PieceOfWhole piece);
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

}  // namespace fgmpi::coll
