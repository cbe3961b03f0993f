// Memory of what the checker reads whenever a rank calls. With many ranks that is spread over more
// pages than the processor knows the addresses of, so it is taken together, in large pages where
// the machine has them. It is not given back to the system: what is no longer used is kept for the
// next of its kind.
// Thread rule: as Call (call.h).
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace fgmpi::check {

/// So many bytes, never freed. Throws std::bad_alloc.
void* take_memory(size_t bytes, size_t alignment);

/// A new object that is never freed.
template <class T, class... A>
T* make_lasting(A&&... arguments) {
  return new (take_memory(sizeof(T), alignof(T))) T(std::forward<A>(arguments)...);
}

/// An allocator for containers that have their elements one by one, as nodes. Arrays are taken from
/// the heap.
template <class T>
struct NodeMemory {
  using value_type = T;
  NodeMemory() = default;
  template <class U>
  NodeMemory(const NodeMemory<U>&) {}

  T* allocate(size_t n) {
    if (n != 1)
      return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{alignof(T)}));
    if (!g_free) return static_cast<T*>(take_memory(sizeof(Slot), alignof(Slot)));
    return reinterpret_cast<T*>(std::exchange(g_free, g_free->next));
  }
  void deallocate(T* at, size_t n) {
    if (n != 1)
      ::operator delete (at, std::align_val_t{alignof(T)});
    else
      g_free = new (at) Slot{g_free};
  }
  bool operator==(const NodeMemory&) const { return true; }

 private:
  union Slot {
    Slot* next;
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  static inline Slot* g_free = nullptr;
};

}  // namespace fgmpi::check
