// Blocks counted from a root: process (root + i) mod P has number i. A binomial subtree is then a
// range of numbers.
#pragma once

#include "coll/algorithms.h"

namespace fgmpi::coll {

inline ProcessBlocks rotated(const ProcessBlocks& blocks, uint32_t root) {
  uint32_t n = static_cast<uint32_t>(blocks.offset.size()) - 1;
  ProcessBlocks out;
  out.offset.resize(n + 1);
  for (uint32_t i = 0; i < n; ++i) out.offset[i + 1] = out.offset[i] + blocks.size((root + i) % n);
  return out;
}

/// Copies all blocks between the order of processes and the rotated order; blocks before and after
/// the root keep their order.
inline void rotate_in(const ProcessBlocks& blocks, uint32_t root, const char* from, char* to) {
  size_t head = blocks.offset[root], all = blocks.total();
  if (all > head) std::memcpy(to, from + head, all - head);
  if (head) std::memcpy(to + (all - head), from, head);
}
inline void rotate_out(const ProcessBlocks& blocks, uint32_t root, const char* from, char* to) {
  size_t head = blocks.offset[root], all = blocks.total();
  if (all > head) std::memcpy(to + head, from, all - head);
  if (head) std::memcpy(to, from + (all - head), head);
}

}  // namespace fgmpi::coll
