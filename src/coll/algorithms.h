// Algorithms of level two: among the processes of a team, one file each. They know nothing of
// ranks, members or user buffers; the steps (step_*.cc) lay data out for them and the selector
// picks one.
//
//   Blocks   what lies where when each process has a part of one buffer: part p is
//            buffer[offset[p], offset[p+1])
//   Reduction vectors are `dense` byte runs or operands with gaps; the algorithms that split
//            vectors require dense ones (the selector sees to it).
//
// Every algorithm combines operands in the order of processes where it does not say "commutative
// only", and gives every process bitwise the same result. Thread rule: one thread; all may switch.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/fold.h"
#include "coll/team.h"

namespace fgmpi::coll {

class Multicast;

struct Blocks {
  PerProcess<size_t> offset;  ///< count()+1 values, ascending
  size_t size(uint32_t p) const { return offset[p + 1] - offset[p]; }
  size_t total() const { return offset.back(); }
};

// ---- Barrier ------------------------------------------------------------------------------------
Status barrier_dissemination(const Team& team);
Status barrier_tree(const Team& team);

// ---- System-ranked communicators: teams of neighbours (Team::kTree) -----------------------------
Status group_tree_barrier(const Team& team);
Status group_tree_bcast(const Team& team, uint32_t root, char* data, size_t bytes);
/// Commutative only.
Status group_tree_reduce(const Team& team, uint32_t root, const Reduction& r, char* data);
/// Commutative only.
Status group_tree_allreduce(const Team& team, const Reduction& r, char* data);

// ---- Broadcast of `bytes` from process root -----------------------------------------------------
Status bcast_binomial(const Team& team, uint32_t root, char* data, size_t bytes);
Status bcast_knomial(const Team& team, uint32_t root, char* data, size_t bytes);  ///< k = 4
/// Pipelined in segments.
Status bcast_chain(const Team& team, uint32_t root, char* data, size_t bytes);
Status bcast_scatter_allgather(const Team& team, uint32_t root, char* data, size_t bytes);
Status bcast_multicast(const Team& team, const Multicast& multicast, uint32_t root, char* data,
                       size_t bytes);

// ---- Reductions ---------------------------------------------------------------------------------
// `data` is this process's operand and receives the result. After reduce_* only the root's data is
// the result; the other processes' data is overwritten with intermediate values.

Status reduce_binomial(const Team& team, uint32_t root, const Reduction& r, char* data);
/// Commutative only.
Status reduce_knomial(const Team& team, uint32_t root, const Reduction& r, char* data);
/// Commutative, dense.
Status reduce_rabenseifner(const Team& team, uint32_t root, const Reduction& r, char* data);
Status allreduce_recursive_doubling(const Team& team, const Reduction& r, char* data);
Status allreduce_reduce_bcast(const Team& team, const Reduction& r, char* data);
/// Commutative, dense.
Status allreduce_rabenseifner(const Team& team, const Reduction& r, char* data);
Status allreduce_ring(const Team& team, const Reduction& r, char* data);  ///< commutative, dense
Status allreduce_multicast(const Team& team, const Multicast& multicast, const Reduction& r,
                           char* data);
// The functions reduce_scatter_* leave at process p the result of block p, at the block's place in
// data. Blocks are in bytes of whole elements.

/// Dense.
Status reduce_scatter_pairwise(const Team& team, const Reduction& r, char* data,
                               const Blocks& blocks);
/// Commutative, dense.
Status reduce_scatter_ring(const Team& team, const Reduction& r, char* data, const Blocks& blocks);
/// Commutative, dense.
Status reduce_scatter_halving(const Team& team, const Reduction& r, char* data,
                              const Blocks& blocks);
/// Dense.
Status reduce_scatter_multicast(const Team& team, const Multicast& multicast, const Reduction& r,
                                char* data, const Blocks& blocks);
/// before = the fold of the operands of the processes before this one (untouched at process 0);
/// data is spoilt.
Status exscan_recursive_doubling(const Team& team, const Reduction& r, char* data, char* before);
Status exscan_chain(const Team& team, const Reduction& r, char* data, char* before);

// ---- Gather, scatter: the root's buffer has all blocks, another process's has its own block alone
Status gather_linear(const Team& team, uint32_t root, char* buffer, const Blocks& blocks);
Status gather_binomial(const Team& team, uint32_t root, char* buffer, const Blocks& blocks);
Status scatter_linear(const Team& team, uint32_t root, char* buffer, const Blocks& blocks);
Status scatter_binomial(const Team& team, uint32_t root, char* buffer, const Blocks& blocks);
/// `regular`: all processes know the sizes of all blocks. `opened`, at the root: the same will come
/// again.
Status scatter_multicast(const Team& team, const Multicast& multicast, uint32_t root, char* buffer,
                         const Blocks& blocks, bool regular, bool opened);

// ---- Allgather: every process's buffer has all blocks, its own filled ---------------------------
Status allgather_ring(const Team& team, char* buffer, const Blocks& blocks);
Status allgather_bruck(const Team& team, char* buffer, const Blocks& blocks);
Status allgather_recursive_doubling(const Team& team, char* buffer, const Blocks& blocks);
Status allgather_gather_bcast(const Team& team, char* buffer, const Blocks& blocks);
Status allgather_multicast(const Team& team, const Multicast& multicast, char* buffer,
                           const Blocks& blocks);

// ---- All-to-all: block p of out goes to process p, block p of in comes from it (own block copied)
/// bytes(from, to): what process `from` has for process `to`; known to all only for the regular
/// forms (Bruck).
struct AlltoallSizes {
  const Blocks* out;
  const Blocks* in;
  /// Regular: members at each process; block from->to is unit[from]*unit[to]*bytes.
  std::vector<size_t> unit;
  size_t bytes = 0;
  /// What this process sends is of an opened group or persistent: the same will come again.
  bool opened = false;
};
Status alltoall_pairwise(const Team& team, const char* out, char* in, const AlltoallSizes& sizes);
Status alltoall_linear(const Team& team, const char* out, char* in, const AlltoallSizes& sizes);
Status alltoall_bruck(const Team& team, const char* out, char* in, const AlltoallSizes& sizes);

Status alltoall_multicast(const Team& team, const Multicast& multicast, const char* out, char* in,
                          const AlltoallSizes& sizes);

/// An operand of this process on the wire: dense ones as they are, others packed into `buffer`.
class Wire {
 public:
  explicit Wire(const Reduction& r) : r_(r) {
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
