// Memory objects: what the processes of a host share of a window. A memfd, which peers open through
// /proc as they do the segments of messages; never a name in /dev/shm, gone after any death. Pages
// that nobody touches cost nothing.
//
// Thread rule: one thread. Makes system calls; nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace fgmpi::rma {

/// How a peer finds an object. Trusted no further than that what it opens must be this very file.
struct ObjectName {
  int32_t pid = 0;
  int32_t fd = -1;  ///< in the owner's table; -1: private to the owner
  uint64_t device = 0, inode = 0;
  uint64_t bytes = 0;
};

class MemoryObject {
 public:
  MemoryObject() = default;
  MemoryObject(const MemoryObject&) = delete;
  MemoryObject& operator=(const MemoryObject&) = delete;
  ~MemoryObject();
  /// New zeroed memory, mapped here. `shared`: for peers too; where the kernel does not make such
  /// an object (limits of files or descriptors), private memory all the same, if `or_private`.
  /// Errors: MPI_ERR_NO_MEM.
  Status make(size_t bytes, bool shared, bool or_private);
  /// Maps another process's. Errors: MPI_ERR_OTHER.
  Status open(const ObjectName& name);

  char* base() const { return base_; }
  const ObjectName& name() const { return name_; }

 private:
  char* base_ = nullptr;
  ObjectName name_;
  int fd_ = -1;
};

}  // namespace fgmpi::rma
