// SlotArray: a growing array that lies where its owner lies: in the slot of a rank, where ranks
// have slots, else in the process's memory. What the library keeps for the program of a rank then
// goes where the rank goes.
//
// The array's own address decides, so it is not moved. Elements are copied as bytes.
// Thread rule: its owner's; where ranks have threads, growing locks the heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize {

template <class T>
class SlotArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SlotArray() = default;
  ~SlotArray() { std::free(items_); }
  SlotArray(const SlotArray&) = delete;
  SlotArray& operator=(const SlotArray&) = delete;

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  T& operator[](uint32_t i) { return items_[i]; }

  /// False, with nothing changed: there is no memory.
  bool push_back(const T& item) {
    if (size_ == room_ && !grow()) return false;
    items_[size_++] = item;
    return true;
  }
  template <class Wanted>
  void erase_if(Wanted&& wanted) {
    size_ = static_cast<uint32_t>(std::remove_if(begin(), end(), wanted) - begin());
  }
  void clear() { size_ = 0; }
  /// Removes an element; those behind it keep their order.
  void erase(const T* item) {
    T* at = items_ + (item - items_);
    std::memmove(static_cast<void*>(at), at + 1, static_cast<size_t>(end() - at - 1) * sizeof(T));
    --size_;
  }

 private:
  bool grow() {
    const uint32_t room = std::max(4u, 2 * room_);
    auto* items = static_cast<T*>(allocate_in_slot_of(this, room * sizeof(T)));
    if (!items) return false;
    if (size_) std::memcpy(static_cast<void*>(items), items_, size_ * sizeof(T));
    std::free(items_);
    items_ = items;
    room_ = room;
    return true;
  }

  T* items_ = nullptr;
  uint32_t size_ = 0, room_ = 0;
};

}  // namespace fgmpi::privatize
