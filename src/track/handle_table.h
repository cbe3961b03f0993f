// A table from handles to small numbers, for one rank: open addressing, at most
// three quarters full.
//
//   | handle, value | empty | handle, value | ...     8 bytes a slot; a power of two slots
//
// Wins over MPI's own attributes (a call and a list walk) and over std::unordered_map (a node for
// each entry): a few loads, at most 22 bytes for each entry right after growth. Removal moves later
// entries of the run back, so no tombstones are left. Thread rule: the rank's.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace fgmpi::track {

class HandleTable {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;
  ~HandleTable() { std::free(places_); }

  /// The value of a handle, or kNone.
  uint32_t find(int handle) const {
    if (count_ == 0) return kNone;
    for (uint32_t at = place_of(handle);; at = (at + 1) & mask_) {
      if (places_[at].value == kNone) return kNone;
      if (places_[at].handle == handle) return places_[at].value;
    }
  }

  /// Sets the value of a handle. REQUIRES: value != kNone.
  void put(int handle, uint32_t value) { *place_for(handle) = {handle, value}; }

  /// The value of the handle if it has one; else sets this value and returns kNone.
  /// REQUIRES: value != kNone.
  uint32_t find_or_put(int handle, uint32_t value) {
    HandleSlot* place = place_for(handle);
    if (place->value != kNone) return place->value;
    *place = {handle, value};
    return kNone;
  }

  /// Removes the handle if it still has this value. MPI may give a handle that one thread has freed
  /// to another thread, which may call put() before the first calls remove().
  void remove(int handle, uint32_t value) {
    if (count_ == 0) return;
    uint32_t at = place_of(handle);
    while (places_[at].handle != handle || places_[at].value == kNone) {
      if (places_[at].value == kNone) return;
      at = (at + 1) & mask_;
    }
    if (places_[at].value != value) return;
    --count_;
    for (uint32_t next = (at + 1) & mask_; places_[next].value != kNone;
         next = (next + 1) & mask_) {
      // An entry may move to `at` unless its own slot lies behind `at`.
      if (((next - place_of(places_[next].handle)) & mask_) < ((next - at) & mask_)) continue;
      places_[at] = places_[next];
      at = next;
    }
    places_[at].value = kNone;
  }

  uint32_t size() const { return count_; }
  size_t bytes() const { return places_ ? (size_t{mask_} + 1) * sizeof(HandleSlot) : 0; }

 private:
  struct HandleSlot {
    int handle;
    uint32_t value;
  };
  /// The slot of the handle, or a new one, which is counted as used.
  HandleSlot* place_for(int handle) {
    if (places_ == nullptr || (count_ + 1) * 4 > (mask_ + 1) * 3) grow();
    uint32_t at = place_of(handle);
    while (places_[at].value != kNone && places_[at].handle != handle) at = (at + 1) & mask_;
    count_ += places_[at].value == kNone;
    return &places_[at];
  }
  uint32_t place_of(int handle) const {
    return (static_cast<uint32_t>(handle) * 0x9e3779b1u >> 7) & mask_;
  }
  void grow() {
    const uint32_t old_places = places_ ? mask_ + 1 : 0;
    const uint32_t places = old_places ? old_places * 2 : 8;
    HandleSlot* const old = places_;
    places_ = static_cast<HandleSlot*>(std::malloc(places * sizeof(HandleSlot)));
    if (places_ == nullptr) throw std::bad_alloc();
    for (uint32_t i = 0; i < places; ++i) places_[i].value = kNone;
    mask_ = places - 1;
    count_ = 0;
    for (uint32_t i = 0; i < old_places; ++i)
      if (old[i].value != kNone) put(old[i].handle, old[i].value);
    std::free(old);
  }

  HandleSlot* places_ = nullptr;
  uint32_t mask_ = 0, count_ = 0;
};

}  // namespace fgmpi::track
