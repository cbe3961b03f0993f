// Transfers to and from another process's memory by the kernel (process_vm_readv,
// process_vm_writev), without help of that process. Windows in the user's own memory need them
// between processes of one host. The owner permits them by base/attach.h.
//
// Thread rule: one thread. Makes system calls; nothing here switches.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

#include "base/status.h"

namespace fgmpi::rma {

enum class Direction : uint8_t { kRead, kWrite };

class Attached {
 public:
  Attached(pid_t pid, Direction direction) : pid_(pid), direction_(direction) {}
  /// Moves `bytes` bytes between `local` and the address `remote` of the process, now or in a later
  /// call. Returns false after a failure; finish() returns the reason.
  bool add(void* local, uint64_t remote, int64_t bytes);
  /// Moves what add() has not moved yet. Errors: MPI_ERR_UNSUPPORTED_OPERATION where the kernel
  /// does not permit the transfer; MPI_ERR_RMA_RANGE where the process has no such memory.
  Status finish();

 private:
  static constexpr int kMost = 64;
  bool move();
  pid_t pid_;
  Direction direction_;
  int count_ = 0;
  iovec local_[kMost], remote_[kMost];
  Status failure_;
};

}  // namespace fgmpi::rma
