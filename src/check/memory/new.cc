// operator new and delete of the checker, which the version script makes local. In recorded runs
// its memory is its own (own_memory.h), in all others the C library's.
//
// Not under AddressSanitizer, which compares how memory was allocated and freed.
#ifndef __SANITIZE_ADDRESS__
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/recorded_memory.h"
#include "check/memory/own_memory.h"

// Where one of a pair is inlined and the other is not, GCC takes them for a mismatch.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace fgmpi::check {
namespace {

constinit OwnBlocks g_blocks(map_memory, discard_memory);

void* new_block(size_t bytes, size_t alignment = alignof(std::max_align_t)) noexcept {
  if (is_recorded_run()) return g_blocks.take(bytes, alignment);
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes ? bytes : 1);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* new_block(size_t bytes, std::align_val_t alignment) noexcept {
  return new_block(bytes, static_cast<size_t>(alignment));
}
void* or_throw(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

void delete_block(void* memory) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  if (at < kOwnLow || at >= kOwnHigh) return std::free(memory);
  g_blocks.give(memory);
}

}  // namespace

}  // namespace fgmpi::check

using namespace fgmpi::check;

void* operator new(std::size_t bytes) { return or_throw(new_block(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(new_block(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return new_block(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return new_block(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return or_throw(new_block(bytes, alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return or_throw(new_block(bytes, alignment));
}
void operator delete(void* memory) noexcept { delete_block(memory); }
void operator delete[](void* memory) noexcept { delete_block(memory); }
void operator delete(void* memory, std::size_t) noexcept { delete_block(memory); }
void operator delete[](void* memory, std::size_t) noexcept { delete_block(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { delete_block(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { delete_block(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { delete_block(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { delete_block(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { delete_block(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  delete_block(memory);
}
#pragma GCC diagnostic pop
#endif
