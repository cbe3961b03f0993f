// Memory for the objects that the checker reads in each call. With many ranks these objects would
// be spread over more pages than the processor's TLB covers, so they are allocated together, in
// large pages where the machine has them. The memory never returns to the system: freed objects are
// reused for the next of their type.
// Thread rule: as CheckedCall (call.h).
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace fgmpi::check {

/// Memory of this size that is never freed. Throws std::bad_alloc.
void* allocate_memory(size_t bytes, size_t alignment);

/// A new object that is never freed.
template <class T, class... A>
T* make_lasting(A&&... arguments) {
  return new (allocate_memory(sizeof(T), alignof(T))) T(std::forward<A>(arguments)...);
}

/// An allocator for node-based containers, which allocate elements one at a time. Arrays
/// come from the heap.
template <class T>
struct NodeMemory {
  using value_type = T;
  NodeMemory() = default;
  template <class U>
  NodeMemory(const NodeMemory<U>&) {}

  T* allocate(size_t n) {
    if (n != 1)
      return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{alignof(T)}));
    if (!g_free) return static_cast<T*>(allocate_memory(sizeof(FreeCell), alignof(FreeCell)));
    return reinterpret_cast<T*>(std::exchange(g_free, g_free->next));
  }
  void deallocate(T* at, size_t n) {
    if (n != 1)
      ::operator delete (at, std::align_val_t{alignof(T)});
    else
      g_free = new (at) FreeCell{g_free};
  }
  bool operator==(const NodeMemory&) const { return true; }

 private:
  union FreeCell {
    FreeCell* next;
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  static inline FreeCell* g_free = nullptr;
};

}  // namespace fgmpi::check
