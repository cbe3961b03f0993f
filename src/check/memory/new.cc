// operator new and delete of the checker, which the version script makes local. In recorded runs
// its memory is its own (own_memory.h), in all others the C library's.
//
// Not under AddressSanitizer, which compares how memory was allocated and freed.
#ifndef __SANITIZE_ADDRESS__
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "check/memory/own_memory.h"

// Where one of a pair is inlined and the other is not, GCC takes them for a mismatch.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace fgmpi::check {
namespace {

// Blocks of recorded runs: of 32 bytes, 64 and so on, reused for the next of their size.
//
//   | BlockHead | the memory, aligned |
struct BlockHead {
  void* start;         ///< of the block
  uint64_t bytes_log;  ///< its size is 2 to the power of that
};
struct ReusedBlock {
  ReusedBlock* next;
};
constexpr unsigned kSizes = 48;
ReusedBlock* g_reused[kSizes];
char *g_block_at = nullptr, *g_blocks_end = nullptr;

void* own_block(size_t bytes, size_t alignment) {
  if (bytes >> (kSizes - 2)) return nullptr;
  const auto log = static_cast<unsigned>(std::bit_width(bytes + sizeof(BlockHead) + alignment - 1));
  const size_t size = size_t{1} << log;
  char* block = reinterpret_cast<char*>(g_reused[log]);
  if (block) {
    g_reused[log] = g_reused[log]->next;
  } else {
    if (static_cast<size_t>(g_blocks_end - g_block_at) < size) {
      const size_t mapped = size < kOwnAlignment ? kOwnAlignment : size;
      g_block_at = static_cast<char*>(map_memory(mapped));
      if (!g_block_at) return g_blocks_end = nullptr;
      g_blocks_end = g_block_at + mapped;
    }
    block = g_block_at;
    g_block_at += size;
  }
  auto at = reinterpret_cast<uintptr_t>(block) + sizeof(BlockHead);
  at = (at + alignment - 1) / alignment * alignment;
  reinterpret_cast<BlockHead*>(at)[-1] = {block, log};
  return reinterpret_cast<void*>(at);
}

void* new_block(size_t bytes, size_t alignment = alignof(std::max_align_t)) noexcept {
  if (is_recorded_run()) return own_block(bytes, alignment);
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
  const BlockHead head = static_cast<BlockHead*>(memory)[-1];
  g_reused[head.bytes_log] = new (head.start) ReusedBlock{g_reused[head.bytes_log]};
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
