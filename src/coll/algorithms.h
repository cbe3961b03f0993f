// Algorithms of level two, which run among the processes of a team: one file each. An algorithm has
// no ranks, members or user buffers to do with: the steps (step_*.cc) lay data out for it, and the
// selector chooses it.
//
//   Blocks      the layout of a buffer to which each process contributes one part: part p is
//               buffer[offset[p], offset[p+1])
//   Reduction   vectors are `dense` runs of bytes, or have gaps. Algorithms that split vectors
//               require dense ones, which the selector ensures
//
// Every algorithm combines operands in the order of processes unless it is marked
// "commutative", and gives every process bitwise the same result. Thread rule: one thread; all
// algorithms may switch.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/fold.h"
#include "coll/team.h"

namespace fgmpi::multicast {
class Multicast;
}

namespace fgmpi::coll {

using multicast::Multicast;

struct ProcessBlocks {
  PerProcess<size_t> offset;  ///< count()+1 values, ascending
  bool regular = true;        ///< every process knows the sizes of all blocks
  /// Scatters, at the root: another scatter to the same processes will follow, so a multicast group
  /// for them is worth keeping.
  bool opened = false;
  size_t size(uint32_t p) const { return offset[p + 1] - offset[p]; }
  size_t total() const { return offset.back(); }
};

// ---- Barrier ------------------------------------------------------------------------------------
Status barrier_dissemination(const Team& team);
Status barrier_tree(const Team& team);

// ---- System-ranked communicators: teams of neighbours (Team::kTree) -----------------------------
// REQUIRES, for the reductions: the operation commutes.
Status barrier_group_tree(const Team& team);
Status bcast_group_tree(const Team& team, uint32_t root, char* data, size_t bytes);
Status reduce_group_tree(const Team& team, uint32_t root, const Reduction& r, char* data);
Status allreduce_group_tree(const Team& team, const Reduction& r, char* data);

// ---- Broadcast of `bytes` from process root -----------------------------------------------------
Status bcast_binomial(const Team& team, uint32_t root, char* data, size_t bytes);
/// The tree has degree k = 4.
Status bcast_knomial(const Team& team, uint32_t root, char* data, size_t bytes);
/// The data is pipelined along the chain in segments.
Status bcast_chain(const Team& team, uint32_t root, char* data, size_t bytes);
Status bcast_scatter_allgather(const Team& team, uint32_t root, char* data, size_t bytes);
Status bcast_multicast(const Team& team, const Multicast& multicast, uint32_t root, char* data,
                       size_t bytes);

// ---- Reductions ---------------------------------------------------------------------------------
// `data` is this process's operand and receives the result. After reduce_* only the root's `data`
// is the result; that of other processes is overwritten with intermediate values. In REQUIRES
// lines, "commutative" means that the operation commutes, and "dense" that the vector has no gaps
// (Reduction::dense()).

Status reduce_binomial(const Team& team, uint32_t root, const Reduction& r, char* data);
/// REQUIRES: commutative.
Status reduce_knomial(const Team& team, uint32_t root, const Reduction& r, char* data);
/// REQUIRES: commutative, dense.
Status reduce_rabenseifner(const Team& team, uint32_t root, const Reduction& r, char* data);
Status allreduce_recursive_doubling(const Team& team, const Reduction& r, char* data);
Status allreduce_reduce_bcast(const Team& team, const Reduction& r, char* data);
/// REQUIRES: commutative, dense.
Status allreduce_rabenseifner(const Team& team, const Reduction& r, char* data);
/// REQUIRES: commutative, dense.
Status allreduce_ring(const Team& team, const Reduction& r, char* data);
Status allreduce_multicast(const Team& team, const Multicast& multicast, const Reduction& r,
                           char* data);
// The functions reduce_scatter_* leave the result of block p at process p, in the block's position
// in `data`. Blocks have whole elements; their offsets are in bytes.

/// REQUIRES: dense.
Status reduce_scatter_pairwise(const Team& team, const Reduction& r, char* data,
                               const ProcessBlocks& blocks);
/// REQUIRES: commutative, dense.
Status reduce_scatter_ring(const Team& team, const Reduction& r, char* data,
                           const ProcessBlocks& blocks);
/// REQUIRES: commutative, dense.
Status reduce_scatter_halving(const Team& team, const Reduction& r, char* data,
                              const ProcessBlocks& blocks);
/// REQUIRES: dense.
Status reduce_scatter_multicast(const Team& team, const Multicast& multicast, const Reduction& r,
                                char* data, const ProcessBlocks& blocks);
/// Sets `before` to the fold of the operands of the processes before this one (unchanged at process
/// 0). `data` is overwritten with intermediate values.
Status scan_recursive_doubling(const Team& team, const Reduction& r, char* data, char* before);
Status scan_chain(const Team& team, const Reduction& r, char* data, char* before);

// ---- Gather, scatter: the root's buffer has all blocks, another process's has its own block alone
Status gather_linear(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks);
Status gather_binomial(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks);
Status scatter_linear(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks);
Status scatter_binomial(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks);
Status scatter_multicast(const Team& team, const Multicast& multicast, uint32_t root, char* buffer,
                         const ProcessBlocks& blocks);

// ---- Allgather: every process's buffer has all blocks, its own filled ---------------------------
Status allgather_ring(const Team& team, char* buffer, const ProcessBlocks& blocks);
Status allgather_bruck(const Team& team, char* buffer, const ProcessBlocks& blocks);
Status allgather_recursive_doubling(const Team& team, char* buffer, const ProcessBlocks& blocks);
Status allgather_gather_bcast(const Team& team, char* buffer, const ProcessBlocks& blocks);
Status allgather_multicast(const Team& team, const Multicast& multicast, char* buffer,
                           const ProcessBlocks& blocks);

// ---- All-to-all: block p of out goes to process p, block p of in comes from it (own block copied)
/// The sizes of an all-to-all's blocks. All processes know the sizes of all blocks in the regular
/// forms only (Bruck needs them).
struct AlltoallSizes {
  const ProcessBlocks* out;
  const ProcessBlocks* in;
  /// Regular: members at each process; block from->to is unit[from]*unit[to]*bytes.
  std::vector<size_t> unit;
  size_t bytes = 0;
  /// This process's outgoing data belongs to an opened group or a persistent collective: data to
  /// the same processes will follow.
  bool opened = false;
};
Status alltoall_pairwise(const Team& team, const char* out, char* in, const AlltoallSizes& sizes);
Status alltoall_linear(const Team& team, const char* out, char* in, const AlltoallSizes& sizes);
Status alltoall_bruck(const Team& team, const char* out, char* in, const AlltoallSizes& sizes);

Status alltoall_multicast(const Team& team, const Multicast& multicast, const char* out, char* in,
                          const AlltoallSizes& sizes);

/// An operand of this process as a message: a dense one is sent as it is, another one is packed
/// into `buffer_`.
class OperandWire {
 public:
  explicit OperandWire(const Reduction& r) : r_(r) {
    if (!r.dense()) buffer_ = raw_memory(r.bytes());
  }
  Status send(const Team& team, uint32_t to, const char* data);
  Status recv(const Team& team, uint32_t from, char* data);
  Status exchange(const Team& team, uint32_t with, const char* out, char* in);

 private:
  const Reduction& r_;
  Memory buffer_;
};

}  // namespace fgmpi::coll
