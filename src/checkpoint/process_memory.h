// Containers of the process. What the layer allocates while a rank runs is that rank's, and ends
// with it (heap/callers.cc); what all ranks of a process share has memory of the C library instead.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void __libc_free(void* block);
}

namespace fgmpi::checkpoint {

template <class T>
struct ProcessAllocator {
  using value_type = T;

  ProcessAllocator() = default;
  template <class U>
  ProcessAllocator(const ProcessAllocator<U>&) {}

  T* allocate(std::size_t count) {
    void* memory = __libc_malloc(count * sizeof(T));
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { __libc_free(memory); }
  bool operator==(const ProcessAllocator&) const = default;
};

template <class T>
using ProcessVector = std::vector<T, ProcessAllocator<T>>;
template <class Key, class Value>
using ProcessMap =
    std::map<Key, Value, std::less<Key>, ProcessAllocator<std::pair<const Key, Value>>>;
using ProcessString = std::basic_string<char, std::char_traits<char>, ProcessAllocator<char>>;

}  // namespace fgmpi::checkpoint
