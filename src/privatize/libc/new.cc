// operator new and delete of the MPI library, and of each library that is preloaded in front of it.
// The version scripts make them local, so that no library calls those of a program, which may
// count, or have memory for each rank, or be compiled by mpicc -check, nor those of libfgmpi-
// heap.so, which would have to ask whose memory it is. In recorded runs their memory is not the
// program's heap (base/recorded_memory.h).
//
// Not under AddressSanitizer, which compares how memory was allocated and freed.
#ifndef __SANITIZE_ADDRESS__
#include <new>

#include "base/recorded_memory.h"

// Where one of a pair is inlined and the other is not, GCC takes them for a mismatch.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {

void* new_block(std::size_t bytes) noexcept { return fgmpi::allocate_own(bytes ? bytes : 1); }
void* new_aligned_block(std::size_t bytes, std::align_val_t alignment) noexcept {
  const auto to = static_cast<std::size_t>(alignment);
  return fgmpi::allocate_own((bytes + to - 1) / to * to, to);
}
void* or_throw(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return or_throw(new_block(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(new_block(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return new_block(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return new_block(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return or_throw(new_aligned_block(bytes, alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return or_throw(new_aligned_block(bytes, alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_aligned_block(bytes, alignment);
}
void operator delete(void* memory) noexcept { fgmpi::free_own(memory); }
void operator delete[](void* memory) noexcept { fgmpi::free_own(memory); }
void operator delete(void* memory, std::size_t) noexcept { fgmpi::free_own(memory); }
void operator delete[](void* memory, std::size_t) noexcept { fgmpi::free_own(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { fgmpi::free_own(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { fgmpi::free_own(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { fgmpi::free_own(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { fgmpi::free_own(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  fgmpi::free_own(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  fgmpi::free_own(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  fgmpi::free_own(memory);
}
#pragma GCC diagnostic pop
#endif
