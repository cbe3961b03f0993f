// Memory objects: memory that processes of a host share (windows of src/rma, boards of src/coll).
// Each is a memfd, which peers open through /proc as they open the segments of messages. It has no
// name in /dev/shm and disappears however its processes end. Pages that are never touched cost
// nothing.
//
// Thread rule: one thread. Makes system calls; nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace fgmpi::transport {

/// The name by which a peer finds an object. The peer checks that the file that it opens is the one
/// that these numbers name.
struct MemoryObjectName {
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
  Status open(const MemoryObjectName& name);

  /// Closes the descriptor: no process can open the object any more. Mappings stay.
  void close_name();

  char* base() const { return base_; }
  const MemoryObjectName& name() const { return name_; }

 private:
  char* base_ = nullptr;
  MemoryObjectName name_;
  int fd_ = -1;
};

}  // namespace fgmpi::transport
