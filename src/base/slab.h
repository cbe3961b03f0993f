// Slab<T>: objects addressed by a dense 26-bit index, at stable addresses, in O(1).
//
//   index  [ chunk number | slot in chunk ]      chunks_[chunk] -> 2^kChunkBits slots of T
//
// For the objects behind MPI handles (an int: 6 bits of kind, 26 bits of index). Thread rule: one
// thread. Invariants: a freed slot is reused last-in first-out. trim() returns memory of chunks;
// the rest is returned with the slab. get() of an index never given out is nullptr. Without memory,
// create() throws std::bad_alloc and has changed nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace fgmpi {

template <class T, int kChunkBits = 8>
class Slab {
 public:
  static constexpr uint32_t kMaxObjects = 1u << 26;

  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  /// Constructs a T and returns its index, or -1 when all 2^26 are in use.
  template <class... Args>
  int64_t create(Args&&... args) {
    uint32_t index;
    if (free_head_ != kNone) {
      index = free_head_;
      free_head_ = slot(index)->next_free;
    } else {
      if (used_ == kMaxObjects) return -1;
      index = used_;
      reach(index);
      ++used_;
    }
    SlabSlot* s = slot(index);
    s->live = true;
    new (s->object()) T(std::forward<Args>(args)...);
    ++live_;
    return index;
  }

  /// Makes room for the next create(), which then needs no memory. Throws std::bad_alloc.
  void prepare() {
    if (free_head_ == kNone && used_ < kMaxObjects) reach(used_);
  }

  /// The object, or nullptr when the index is not in use.
  T* get(uint32_t index) {
    if (__builtin_expect(index >= used_, 0)) return nullptr;
    SlabSlot* s = slot(index);
    return __builtin_expect(s->live, 1) ? s->object() : nullptr;
  }

  /// REQUIRES: get(index) != nullptr.
  void destroy(uint32_t index) {
    SlabSlot* s = slot(index);
    FGMPI_CHECK(index < used_ && s->live);
    s->object()->~T();
    s->live = false;
    s->next_free = free_head_;
    free_head_ = index;
    --live_;
  }

  /// Frees the chunks at the end that have no object in use, except the first chunk. Returns
  /// false: there is no more to free. If it frees any, its time is proportional to the number
  /// of free slots.
  bool trim() {
    size_t chunks = chunks_.size();
    while (chunks > 1 && is_empty(chunks - 1)) --chunks;
    if (chunks == chunks_.size()) return false;
    used_ = static_cast<uint32_t>(chunks << kChunkBits);
    uint32_t next = std::exchange(free_head_, kNone);
    for (uint32_t* tail = &free_head_; next != kNone;) {
      const uint32_t index = next;
      next = slot(index)->next_free;
      if (index >= used_) continue;
      *tail = index;
      slot(index)->next_free = kNone;
      tail = &slot(index)->next_free;
    }
    chunks_.resize(chunks);
    return false;
  }

  /// Number of objects in use.
  uint32_t live() const { return live_; }

  /// Calls f(index, T&) for each object in use, in the order of their indices.
  template <class F>
  void for_each(F&& f) {
    for (uint32_t i = 0; i < used_; ++i)
      if (T* object = get(i)) f(i, *object);
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct SlabSlot {
    alignas(T) unsigned char bytes[sizeof(T)];
    uint32_t next_free = kNone;
    bool live = false;
    T* object() { return std::launder(reinterpret_cast<T*>(bytes)); }
  };
  struct Chunk {
    SlabSlot slots[1u << kChunkBits];
  };
  void reach(uint32_t index) {
    if ((index >> kChunkBits) == chunks_.size())
      chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
  }
  bool is_empty(size_t chunk) const {
    const size_t first = chunk << kChunkBits;
    for (size_t i = 0; i < size_t{1} << kChunkBits && first + i < used_; ++i)
      if (chunks_[chunk]->slots[i].live) return false;
    return true;
  }
  SlabSlot* slot(uint32_t index) {
    return &chunks_[index >> kChunkBits]->slots[index & ((1u << kChunkBits) - 1)];
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  uint32_t free_head_ = kNone;
  uint32_t used_ = 0;
  uint32_t live_ = 0;
};

}  // namespace fgmpi
