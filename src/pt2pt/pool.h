// Memory that comes and goes with messages: fixed-size pools and power-of-two blocks, so that the
// hot path does not enter malloc.
//
// Thread rule: one thread. Pool<T> never returns memory to the system; Blocks keeps a bounded
// amount of each size and gives the rest back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/assert.h"

namespace fgmpi::pt2pt {

/// Raw storage for objects of type T, last in first out.
template <class T, size_t kChunk = 32>
class Pool {
 public:
  void* take() {
    if (__builtin_expect(!free_, 0)) refill();
    Slot* slot = free_;
    free_ = slot->next;
    return slot;
  }
  void give(void* object) {
    Slot* slot = static_cast<Slot*>(object);
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
  union Slot {
    Slot* next;
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  [[gnu::noinline]] void refill() {
    Slot* slots = static_cast<Slot*>(aligned_alloc(alignof(Slot) < 16 ? 16 : alignof(Slot),
                                                   (sizeof(Slot) * kChunk + 63) / 64 * 64));
    FGMPI_CHECK(slots != nullptr);
    for (size_t i = kChunk; i-- > 0;) give(slots + i);
  }
  Slot* free_ = nullptr;
};

/// Blocks of 128 bytes to 112 KiB, four sizes to each power of two; larger ones come from malloc.
class Blocks {
 public:
  static constexpr int kSmallest = 7, kClasses = 40;
  static constexpr size_t kKept = 1 << 20;  ///< bytes of each size that are kept for reuse

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
  void* take(size_t bytes, uint8_t size_class) {
    Free& list = lists_[size_class];
    if (__builtin_expect(list.head != nullptr, 1)) {
      void* block = list.head;
      list.head = *static_cast<void**>(block);
      --list.count;
      return block;
    }
    if (size_class < kClasses) bytes = size_of(size_class);
    void* block = malloc(bytes);
    FGMPI_CHECK(block != nullptr);
    return block;
  }
  void give(void* block, uint8_t size_class) {
    Free& list = lists_[size_class];
    if (__builtin_expect(size_class == kClasses || list.count >= kKept / size_of(size_class), 0))
      return free(block);
    *static_cast<void**>(block) = list.head;
    list.head = block;
    ++list.count;
  }

 private:
  struct Free {
    void* head = nullptr;
    size_t count = 0;
  };
  Free lists_[kClasses + 1];
};

}  // namespace fgmpi::pt2pt
