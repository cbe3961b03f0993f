// Cookies: numbers by which frames name objects of this process.
//
//   | generation 32 | slot 32 |      a number that is stale or wrong finds nothing
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace fgmpi::pt2pt {

template <class T>
class Cookies {
 public:
  uint64_t put(T* object) {
    uint32_t slot;
    if (free_ != kNone) {
      slot = free_;
      free_ = slots_[slot].next;
    } else {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.push_back({nullptr, 1, kNone});
    }
    slots_[slot].object = object;
    ++used_;
    return uint64_t{slots_[slot].generation} << 32 | slot;
  }
  T* get(uint64_t cookie) const {
    uint32_t slot = static_cast<uint32_t>(cookie);
    if (slot >= slots_.size() || slots_[slot].generation != cookie >> 32) return nullptr;
    return slots_[slot].object;
  }
  T* take(uint64_t cookie) {
    T* object = get(cookie);
    if (!object) return nullptr;
    CookieSlot& slot = slots_[static_cast<uint32_t>(cookie)];
    slot.object = nullptr;
    ++slot.generation;
    slot.next = free_;
    free_ = static_cast<uint32_t>(cookie);
    --used_;
    return object;
  }
  uint32_t used() const { return used_; }
  /// Calls f(cookie, object) for each object; f must not put or take.
  template <class F>
  void for_each(F&& f) const {
    for (uint32_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].object) f(uint64_t{slots_[i].generation} << 32 | i, slots_[i].object);
  }
  /// The cookies of all objects for which is_meant(object) is true.
  template <class F>
  std::vector<uint64_t> find_all(F&& is_meant) const {
    std::vector<uint64_t> found;
    for_each([&](uint64_t cookie, const T* object) {
      if (is_meant(object)) found.push_back(cookie);
    });
    return found;
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct CookieSlot {
    T* object;
    uint32_t generation;
    uint32_t next;
  };
  std::vector<CookieSlot> slots_;
  uint32_t free_ = kNone;
  uint32_t used_ = 0;
};

}  // namespace fgmpi::pt2pt
