// Allreduce and reduce_scatter whose second half goes by IP multicast: process 0 gets the result
// and sends it to all others at once. For a longer allreduce that can be split, each process
// computes one part of the result and sends it to all others: no link carries the vector more
// than twice.
#include "coll/algorithms.h"
#include "coll/move.h"
#include "coll/selector.h"
#include "multicast/multicast.h"

namespace fgmpi::coll {

namespace {

/// The least bytes of a vector that is split; below it the packets of many roots cost more than
/// the links.
constexpr size_t kLeastSplit = 16 << 10;

Status allreduce_in_parts(const Team& team, const Multicast& multicast, const Reduction& r,
                          char* data) {
  const uint32_t n = team.count();
  ProcessBlocks blocks;
  blocks.offset.resize(n + 1);
  for (uint32_t p = 0; p <= n; ++p)
    blocks.offset[p] = static_cast<size_t>(r.count * p / n * r.type->size());
  algorithm_type::reduce_scatter* reduce_scatter;
  FGMPI_TRY(pick_reduce_scatter({n, r.bytes(), r.commutative, true}, &reduce_scatter));
  FGMPI_TRY(reduce_scatter(team, r, data, blocks));
  return allgather_multicast(team, multicast, data, blocks);
}

}  // namespace

Status allreduce_multicast(const Team& team, const Multicast& multicast, const Reduction& r,
                           char* data) {
  if (r.commutative && r.dense() && r.divisible() && r.bytes() >= kLeastSplit)
    return allreduce_in_parts(team, multicast, r, data);
  FGMPI_TRY(team_reduce(team, 0, r, data));
  if (r.dense()) return bcast_multicast(team, multicast, 0, data, r.bytes());
  Memory packed = raw_memory(r.bytes());
  const Segment whole{data, r.count, r.type};
  if (team.me() == 0) FGMPI_TRY(pack(whole, packed.get()));
  FGMPI_TRY(bcast_multicast(team, multicast, 0, packed.get(), r.bytes()));
  return team.me() == 0 ? Status() : unpack(packed.get(), static_cast<int64_t>(r.bytes()), whole);
}

Status reduce_scatter_multicast(const Team& team, const Multicast& multicast, const Reduction& r,
                                char* data, const ProcessBlocks&) {
  FGMPI_TRY(team_reduce(team, 0, r, data));
  return bcast_multicast(team, multicast, 0, data, r.bytes());
}

}  // namespace fgmpi::coll
