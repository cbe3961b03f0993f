// fork() of ranks whose slots are in files (heap/slots.h): the kernel would let the child share the
// slot with its parent. So the child copies the slot of the rank that has called fork, page by page
// as far as there is memory, while its parent waits. The slots of other ranks stay shared; nothing
// of them runs in the child.
//
// Thread rule: any thread.
#pragma once

#include <sys/types.h>

namespace fgmpi::privatize {

/// Does the calling thread belong to a rank whose slot is in a file?
bool must_copy_slot();
/// Calls fork(), and copies the rank's slot in the child. REQUIRES: must_copy_slot().
pid_t fork_with_slot(pid_t (*fork)());

}  // namespace fgmpi::privatize
