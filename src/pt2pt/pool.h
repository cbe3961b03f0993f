// Memory for messages under way: fixed-size pools and power-of-two blocks, so that the
// hot path does not enter malloc.
//
// Thread rule: one thread. Pool<T> returns memory when it is trimmed; BlockPool retains a bounded
// amount of each size and frees the rest. Without memory, Pool<T> throws std::bad_alloc and
// BlockPool::take() returns nullptr.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/assert.h"
#include "base/recorded_memory.h"

namespace fgmpi::pt2pt {

/// Base of the pools of all types: chunks of memory that are aligned to their size, so that a
/// slot's chunk is found by its address.
//
//   chunk  | slots | Footer |        slots: some in use, the others in the pool's free list
class ChunkPool {
 public:
  /// Frees the chunks none of whose slots is in use, except kKept of them. A trimmer as in sched.h,
  /// called again and again. It does nothing while the pool grows, and runs less and less often
  /// where the freed memory was needed again. Its time is proportional to the number of free slots.
  /// (base/reserve.h needs a count at each take(), which this pool's fast path avoids.)
  bool trim();
  /// How many chunks there are, for tests.
  size_t chunks() const { return chunks_; }
  /// Bytes of all pools of the process.
  static size_t bytes_of_all() { return bytes_of_all_; }

 protected:
  struct FreeSlot {
    FreeSlot* next;
  };
  struct Footer {
    uint32_t free;  ///< counted by trim()
  };
  constexpr ChunkPool(size_t slot_bytes, size_t chunk_bytes)
      : slot_bytes_(static_cast<uint32_t>(slot_bytes)),
        chunk_bytes_(static_cast<uint32_t>(chunk_bytes)) {}
  /// Adds a chunk's slots to the free list, or throws std::bad_alloc.
  [[gnu::noinline]] void refill();

  FreeSlot* free_ = nullptr;

 private:
  static size_t bytes_of_all_;
  static constexpr size_t kKept = 4;  ///< unused chunks that trim() leaves
  static constexpr uint32_t kMostPatience = 63;
  uint32_t slots_in_chunk() const { return (chunk_bytes_ - sizeof(Footer)) / slot_bytes_; }
  Footer* footer_of(FreeSlot* slot) const {
    const uintptr_t chunk = reinterpret_cast<uintptr_t>(slot) & ~uintptr_t{chunk_bytes_ - 1};
    return reinterpret_cast<Footer*>(chunk + chunk_bytes_ - sizeof(Footer));
  }
  bool is_first(FreeSlot* slot) const {
    return (reinterpret_cast<uintptr_t>(slot) & (chunk_bytes_ - 1)) == 0;
  }
  uint32_t slot_bytes_, chunk_bytes_;
  size_t chunks_ = 0;
  uint32_t patience_ = 0;  ///< calls of trim() to wait after growth
  uint32_t wait_ = 0;      ///< calls of trim() that will still do nothing
  bool refilled_ = false;  ///< since the last trim()
  bool freed_ = false;     ///< the last trim() that examined the pool freed a chunk
};

/// Raw storage for objects of type T, last in first out.
template <class T>
class Pool : public ChunkPool {
 public:
  constexpr Pool() : ChunkPool(kSlotBytes, kChunkBytes) {}
  void* take() {
    if (__builtin_expect(!free_, 0)) refill();
    FreeSlot* slot = free_;
    free_ = slot->next;
    return slot;
  }
  void give(void* object) {
    FreeSlot* slot = static_cast<FreeSlot*>(object);
    slot->next = free_;
    free_ = slot;
  }
  template <class... Args>
  T* make(Args&&... args) {
    return new (take()) T(std::forward<Args>(args)...);
  }
  void drop(T* object) {
    object->~T();
    give(object);
  }

 private:
  static constexpr size_t kSlotBytes = (sizeof(T) + 15) / 16 * 16;
  static constexpr size_t kChunkBytes = std::bit_ceil(std::max<size_t>(32 * kSlotBytes, 4096));
  static_assert(alignof(T) <= 16 && sizeof(T) >= sizeof(FreeSlot));
};

/// Blocks of 128 bytes to 112 KiB, four sizes for each power of two; larger blocks come
/// from the library's memory (base/recorded_memory.h).
class BlockPool {
 public:
  static constexpr int kSmallest = 7, kClasses = 40;
  static constexpr size_t kKept = 1 << 20;  ///< bytes of each size that are retained for reuse

  static constexpr size_t size_of(uint8_t size_class) {
    return size_t{4u + (size_class & 3u)} << (kSmallest - 2 + size_class / 4);
  }
  static uint8_t class_of(size_t bytes) {
    if (bytes <= size_t{1} << kSmallest) return 0;
    int top = 63 - __builtin_clzll(bytes - 1);  // 2^top <= bytes - 1
    int step = static_cast<int>((bytes - 1) >> (top - 2)) - 3;
    int size_class = (top - kSmallest) * 4 + step;
    return static_cast<uint8_t>(size_class < kClasses ? size_class : kClasses);
  }
  /// Returns nullptr when there is no memory.
  void* take(size_t bytes, uint8_t size_class) {
    Free& list = lists_[size_class];
    if (__builtin_expect(list.head != nullptr, 1)) {
      void* block = list.head;
      list.head = *static_cast<void**>(block);
      --list.count;
      return block;
    }
    if (size_class < kClasses) bytes = size_of(size_class);
    return allocate_own(bytes);
  }
  void give(void* block, uint8_t size_class) {
    Free& list = lists_[size_class];
    if (__builtin_expect(size_class == kClasses || list.count >= kKept / size_of(size_class), 0)) {
      freed_ += size_of(size_class);  // a larger one counts as little more than the largest class
      return free_own(block);
    }
    *static_cast<void**>(block) = list.head;
    list.head = block;
    ++list.count;
  }
  /// A trimmer as in sched.h. True when much was freed since the last call. It frees nothing
  /// itself: what give() has freed may lie inside the allocator's heap, and returns to the system
  /// only with the trimming pass after the last one of a burst.
  bool trim() { return std::exchange(freed_, 0) > kKept; }
  /// Counts bytes of messages that were freed in another way than by give().
  void count_freed(size_t bytes) { freed_ += bytes; }

 private:
  struct Free {
    void* head = nullptr;
    size_t count = 0;
  };
  Free lists_[kClasses + 1];
  size_t freed_ = 0;  ///< bytes since the last trim()
};

}  // namespace fgmpi::pt2pt
