// Memory objects: the memory of a window that processes of a host share. Each is a memfd, which
// peers open through /proc as they open the segments of messages. It has no name in /dev/shm and
// disappears however its processes end. Pages that are never touched cost nothing.
//
// Thread rule: one thread. Makes system calls; nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace fgmpi::rma {

/// The name by which a peer finds an object. The peer checks that the file that it opens is the one
/// that these numbers name.
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
  /// Allocates new zeroed memory and maps it. `shared`: peers can open it too. Where the kernel
  /// makes no such object (limits of files or descriptors), the memory is private if `or_private`.
  /// Errors: MPI_ERR_NO_MEM.
  Status make(size_t bytes, bool shared, bool or_private);
  /// Maps another process's object. Errors: MPI_ERR_OTHER.
  Status open(const ObjectName& name);

  char* base() const { return base_; }
  const ObjectName& name() const { return name_; }

 private:
  char* base_ = nullptr;
  ObjectName name_;
  int fd_ = -1;
};

}  // namespace fgmpi::rma
