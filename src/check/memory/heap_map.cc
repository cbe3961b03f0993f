// The map of the heap: two levels of tables, then leaves of bits.
#include "check/memory/heap_map.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "check/memory/own_memory.h"

namespace fgmpi::check {
namespace {

constexpr unsigned kGrainBits = 4;   ///< blocks begin at multiples of 16
constexpr unsigned kLeafBits = 21;   ///< a leaf covers 2 MiB
constexpr unsigned kTableBits = 13;  ///< entries of each of the two levels
constexpr size_t kLeafWords = size_t{1} << (kLeafBits - kGrainBits - 6);
constexpr size_t kTableSize = size_t{1} << kTableBits;
/// A block that begins further below an address is not looked for.
constexpr uintptr_t kLongest = uintptr_t{1} << 36;

struct Leaf {
  std::atomic<uint64_t> words[kLeafWords];
};
struct HeapTable {
  std::atomic<Leaf*> leaves[kTableSize];
};
std::atomic<HeapTable*> g_tables[kTableSize];

template <class T>
T* make_zeroed(std::atomic<T*>* place) {
  void* memory = map_memory(sizeof(T));
  if (!memory) return nullptr;
  T* made = static_cast<T*>(memory);
  T* other = nullptr;
  if (place->compare_exchange_strong(other, made, std::memory_order_acq_rel)) return made;
  munmap(memory, sizeof(T));
  return other;
}

/// The leaf of an address; null where there is none, or it could not be made.
Leaf* leaf_of(uintptr_t address, bool make) {
  const uintptr_t number = address >> kLeafBits;
  if (number >> (2 * kTableBits)) return nullptr;
  std::atomic<HeapTable*>& first = g_tables[number >> kTableBits];
  HeapTable* table = first.load(std::memory_order_acquire);
  if (!table && (!make || !(table = make_zeroed(&first)))) return nullptr;
  std::atomic<Leaf*>& second = table->leaves[number % kTableSize];
  Leaf* leaf = second.load(std::memory_order_acquire);
  return leaf || !make ? leaf : make_zeroed(&second);
}

/// Clears the bits of the addresses in [low, high), which are in one leaf.
void clear_in_leaf(Leaf* leaf, uintptr_t low, uintptr_t high) {
  const auto grain = [](uintptr_t a) { return (a >> kGrainBits) % (kLeafWords * 64); };
  for (uintptr_t at = grain(low), end = grain(high - 1) + 1; at < end;) {
    const uintptr_t bit = at % 64, bits = std::min(64 - bit, end - at);
    const uint64_t mask = (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) << bit;
    std::atomic<uint64_t>& word = leaf->words[at / 64];
    if (word.load(std::memory_order_relaxed) & mask)
      word.fetch_and(~mask, std::memory_order_relaxed);
    at += bits;
  }
}

void clear_bits(uintptr_t low, uintptr_t high) {
  while (low < high) {
    const uintptr_t end = std::min(high, ((low >> kLeafBits) + 1) << kLeafBits);
    if (Leaf* leaf = leaf_of(low, false)) clear_in_leaf(leaf, low, end);
    low = end;
  }
}

/// The address of the last bit that is set at or below the address, in its leaf; 0: none.
uintptr_t last_in_leaf(const Leaf& leaf, uintptr_t address) {
  const uintptr_t base = address >> kLeafBits << kLeafBits, grain = (address - base) >> kGrainBits;
  for (size_t word = grain / 64 + 1; word-- > 0;) {
    uint64_t bits = leaf.words[word].load(std::memory_order_relaxed);
    if (word == grain / 64) bits &= ~uint64_t{0} >> (63 - grain % 64);
    if (bits)
      return base + ((word * 64 + static_cast<size_t>(63 - std::countl_zero(bits))) << kGrainBits);
  }
  return 0;
}

}  // namespace

void add_heap_block(const void* block, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(block);
  if (bytes > size_t{1} << kGrainBits) clear_bits(at + (size_t{1} << kGrainBits), at + bytes);
  if (Leaf* leaf = leaf_of(at, true)) {
    const uintptr_t grain = (at >> kGrainBits) % (kLeafWords * 64);
    leaf->words[grain / 64].fetch_or(uint64_t{1} << grain % 64, std::memory_order_relaxed);
  }
}

void remove_heap_block(const void* block) {
  const auto at = reinterpret_cast<uintptr_t>(block);
  if (Leaf* leaf = leaf_of(at, false)) clear_in_leaf(leaf, at, at + 1);
}

HeapBlock heap_block_of(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t look = at;;) {
    if (const Leaf* leaf = leaf_of(look, false))
      if (const uintptr_t found = last_in_leaf(*leaf, look)) {
        auto* block = reinterpret_cast<char*>(found);
        const size_t bytes = malloc_usable_size(block);
        return at - found < bytes ? HeapBlock{block, block + bytes} : HeapBlock();
      }
    const uintptr_t base = look >> kLeafBits << kLeafBits;
    if (base == 0 || at - base > kLongest) return {};
    look = base - 1;
  }
}

}  // namespace fgmpi::check
