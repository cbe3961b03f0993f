// The NUMA node of a segment's memory: that of the process that receives through it.
//
// The process that touches a page first should not decide this. Senders write rings first, and
// touching all rings at the start would use the memory that the sparse segment saves. So the policy
// is set on the shared object, with one system call: it holds for whichever process needs a page
// first, and for posix_fallocate too.
#pragma once

#include <cstddef>

namespace fgmpi::transport::shm {

/// The node of the core that this process runs on, or -1 when the kernel does not report it.
int own_node();
/// Pages of this shared mapping that are not there yet will come from `node` while it has any.
/// False where the kernel has no such policies or refuses them: pages then come from the node of
/// the process that touches them.
bool prefer_node(void* memory, size_t bytes, int node);

}  // namespace fgmpi::transport::shm
