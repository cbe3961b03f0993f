// An allocator whose memory comes from the kernel page by page: for the child of a fork, in which
// another thread may have held a lock of the C library's allocator.
//
// Thread rule: any thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "base/raw_call.h"

namespace fgmpi {

template <class T>
struct MappedAllocator {
  using value_type = T;

  MappedAllocator() = default;
  template <class U>
  MappedAllocator(const MappedAllocator<U>&) {}

  T* allocate(size_t count) {
    const long memory = raw_call(SYS_mmap, 0, static_cast<long>(count * sizeof(T)),
                                 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory < 0 && memory > -4096) throw std::bad_alloc();
    return reinterpret_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    raw_call(SYS_munmap, reinterpret_cast<long>(memory), static_cast<long>(count * sizeof(T)));
  }
  bool operator==(const MappedAllocator&) const = default;
};

}  // namespace fgmpi
