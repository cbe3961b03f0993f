// The NUMA node of this process, and of a segment's pages.

#include "transport/shm/placement.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fgmpi::transport::shm {

int own_node() {
  unsigned cpu = 0, node = 0;
  return syscall(SYS_getcpu, &cpu, &node, nullptr) ? -1 : static_cast<int>(node);
}

bool prefer_node(void* memory, size_t bytes, int node) {
  constexpr int kNodes = 1024, kBits = 8 * sizeof(unsigned long);
  if (node < 0 || node >= kNodes) return false;
  unsigned long mask[kNodes / kBits] = {};
  mask[node / kBits] = 1ul << node % kBits;
  // The kernel uses one bit fewer than the number that it gets.
  return syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, mask, kNodes + 1, 0) == 0;
}

}  // namespace fgmpi::transport::shm
