// Algorithms of level two, which run among the processes of a team: one file each, and one row each
// in base/algorithms.def. An algorithm has no ranks, members or user buffers to do with: the steps
// (step_*.cc) lay data out for it, and the selector chooses it.
//
//   Blocks      the layout of a buffer to which each process contributes one part: part p is
//               buffer[offset[p], offset[p+1])
//   Reduction   vectors are `dense` runs of bytes, or have gaps. Algorithms that split vectors
//               require dense ones, which the selector ensures
//
// Every algorithm combines operands in the order of processes unless its row says kCommutative, and
// gives every process bitwise the same result. Thread rule: one thread; all algorithms may switch.
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
class BoardRun;

struct ProcessBlocks {
  PerProcess<size_t> offset;  ///< count()+1 values, ascending
  bool regular = true;        ///< every process knows the sizes of all blocks
  /// Scatters, at the root: another scatter to the same processes will follow, so a multicast group
  /// for them is worth keeping.
  bool opened = false;
  size_t size(uint32_t p) const { return offset[p + 1] - offset[p]; }
  size_t total() const { return offset.back(); }
};

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

/// The type of the algorithms of each collective, as the table names it.
namespace algorithm_type {
using barrier = Status(const Team& team);
/// Sends `bytes` from process root to all.
using bcast = Status(const Team& team, uint32_t root, char* data, size_t bytes);

// Reductions: `data` is this process's operand and receives the result. After those to a root only
// the root's `data` is the result; that of other processes is overwritten with intermediate values.
using reduce = Status(const Team& team, uint32_t root, const Reduction& r, char* data);
using allreduce = Status(const Team& team, const Reduction& r, char* data);
/// Leaves the result of block p at process p, in the block's position in `data`. Blocks have whole
/// elements; their offsets are in bytes.
using reduce_scatter = Status(const Team& team, const Reduction& r, char* data,
                              const ProcessBlocks& blocks);
/// Sets `before` to the fold of the operands of the processes before this one (unchanged at process
/// 0). `data` is overwritten with intermediate values.
using scan = Status(const Team& team, const Reduction& r, char* data, char* before);

// Gather, scatter: the root's buffer has all blocks, another process's has its own block alone.
using gather = Status(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks);
using scatter = Status(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks);
/// Every process's buffer has all blocks, its own filled.
using allgather = Status(const Team& team, char* buffer, const ProcessBlocks& blocks);
/// Block p of out goes to process p, block p of in comes from it (own block copied).
using alltoall = Status(const Team& team, const char* out, char* in, const AlltoallSizes& sizes);
}  // namespace algorithm_type

/// How the processes of an algorithm reach each other.
enum class AlgorithmWay : uint8_t {
  kMessages,   ///< by messages between any two of them
  kMulticast,  ///< by the multicast group of the team, too: the algorithm has a parameter for it
  kTree,       ///< by messages between neighbours (Team::kTree)
  kBoard,      ///< by memory that all of them share (board.h): the algorithm has a parameter for it
};

/// The type of an algorithm that goes a way, from the type of its collective's algorithms.
template <AlgorithmWay way, class Function>
struct AlgorithmOfWay {
  using Type = Function;
};
template <class... Args>
struct AlgorithmOfWay<AlgorithmWay::kMulticast, Status(const Team&, Args...)> {
  using Type = Status(const Team&, const Multicast&, Args...);
};

template <class... Args>
struct AlgorithmOfWay<AlgorithmWay::kBoard, Status(const Team&, Args...)> {
  using Type = Status(const Team&, BoardRun&, Args...);
};

// The declarations of all algorithms: bcast_binomial(), bcast_chain(), ...
#define FGMPI_ALGORITHM(collective, algorithm, way, ...) \
  AlgorithmOfWay<AlgorithmWay::way, algorithm_type::collective>::Type collective##_##algorithm;
#include "base/algorithms.def"

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
