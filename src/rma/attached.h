// Transfers to and from another process's memory by the kernel (process_vm_readv,
// process_vm_writev), without help of the process: what a window of the user's own memory needs on
// one host. The owner permits it by base/attach.h.
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
  /// `bytes` between `local` and the address `remote` of the process, now or at a later call.
  /// False: it is over, finish() says why.
  bool add(void* local, uint64_t remote, int64_t bytes);
  /// The rest. MPI_ERR_UNSUPPORTED_OPERATION: the kernel does not permit it. MPI_ERR_RMA_RANGE:
  /// there is no such memory.
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
