// PackPool: the memory of packed stacks. Blocks of any size up to kMost, in classes of 64 bytes,
// cut from one reserved mapping; a block that is given back is used for the next one of its class.
//
// Thread rule: one thread. Nothing here calls the C library's allocator: blocks are taken and given
// back in the handler of a fault, too. Only touched pages of the mapping exist; they go back to the
// system all at once, when no block is in use (clear()).
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace fgmpi::sched {

class PackPool {
 public:
  static constexpr size_t kStep = 64, kMost = 16384;

  /// Reserves address space. False: there is none.
  bool reserve(uint64_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    low_ = static_cast<char*>(memory);
    end_ = low_ + bytes;
    clear();
    return true;
  }
  void release() {
    if (low_) munmap(low_, static_cast<size_t>(end_ - low_));
    low_ = end_ = unused_ = nullptr;
  }

  /// Returns a block of so many bytes; nullptr where the mapping has no room. REQUIRES: bytes <=
  /// kMost.
  void* take(size_t bytes) {
    FreeBlock*& first = free_[class_of(bytes)];
    if (FreeBlock* block = first) {
      first = block->next;
      return block;
    }
    const size_t rounded = class_of(bytes) * kStep;
    if (static_cast<size_t>(end_ - unused_) < rounded) return nullptr;
    char* const block = unused_;
    unused_ += rounded;
    return block;
  }
  void give_back(void* block, size_t bytes) {
    auto* free = static_cast<FreeBlock*>(block);
    free->next = free_[class_of(bytes)];
    free_[class_of(bytes)] = free;
  }
  /// Forgets all blocks. REQUIRES: none is in use.
  void clear() {
    if (unused_ > low_) madvise(low_, static_cast<size_t>(unused_ - low_), MADV_DONTNEED);
    unused_ = low_;
    for (FreeBlock*& first : free_) first = nullptr;
  }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  static constexpr size_t class_of(size_t bytes) { return (bytes + kStep - 1) / kStep; }

  char *low_ = nullptr, *end_ = nullptr;
  char* unused_ = nullptr;  ///< where no block has been cut yet
  FreeBlock* free_[kMost / kStep + 1] = {};
};

}  // namespace fgmpi::sched
