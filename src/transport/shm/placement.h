// On which NUMA node the memory of a segment lies: on that of the process that receives through it.
//
// Who touches a page first does not decide it. Rings are first written by their senders, and
// touching all of them at the start would use the memory that the sparse segment saves. The policy
// is set on the shared object instead, with one system call: it then holds for whichever process
// needs a page first, and for posix_fallocate too.
#pragma once

#include <cstddef>

namespace fgmpi::transport::shm {

/// The node of the core that this process runs on, or -1 when the kernel does not say.
int own_node();
/// Pages of this shared mapping that are not there yet will come from `node` while it has any.
/// False where the kernel has no such policies or refuses them: pages then come from the node of
/// the process that touches them.
bool prefer_node(void* memory, size_t bytes, int node);

}  // namespace fgmpi::transport::shm
