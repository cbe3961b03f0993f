// The library's memory in runs that are recorded and repeated (mpiexec -record and -rewind).
//
// A repeated run that is checked allocates more than the recorded one: the library takes memory for
// the checker. The program's blocks must lie at the same addresses nevertheless. So what the
// library allocates there for itself comes from mappings far from where the system places any by
// itself, not from the C library's heap, which is the program's alone. In all other runs it comes
// from that heap. Streams on strings (std::istringstream) must not be used in recorded runs: code
// in libstdc++ would free the library's memory by the C library.
// Thread rule: as malloc; recorded runs have one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace fgmpi {

/// Is this a recorded run, or a repeated one?
bool is_recorded_run();

/// Makes a system call that is not recorded; null: calls are not trapped. Set once, before ranks
/// run (src/rewind).
inline long (*g_untrapped_call)(long number, long a, long b, long c, long d, long e,
                                long f) = nullptr;

/// Blocks of memory, cut from mappings and kept for the next of their size.
///
///   | Head | the memory, aligned |
class OwnBlocks {
 public:
  /// Maps so many bytes for good, a multiple of kMapped; null: there is none.
  using Map = void*(size_t bytes);
  /// Gives pages back to the system; the mapping stays.
  using Discard = void(void* pages, size_t bytes);
  static constexpr size_t kMapped = size_t{2} << 20;
  static constexpr size_t kDiscarded = size_t{1} << 20;  ///< longer free blocks have no pages

  constexpr OwnBlocks(Map* map, Discard* discard) : map_(map), discard_(discard) {}
  /// Returns nullptr when there is no memory. `alignment`: a power of two.
  void* take(size_t bytes, size_t alignment);
  /// Takes back what take() has returned.
  void give(void* memory);

 private:
  struct Head {
    void* start;  ///< of the block
    uint64_t size_class;
  };
  struct Reused {
    Reused* next;
  };
  // Multiples of 16 bytes up to 64, then four sizes for each power of two.
  static constexpr unsigned kClasses = 160;
  static unsigned class_of(size_t bytes);
  static size_t size_of(unsigned size_class);

  Map* map_;
  Discard* discard_;
  Reused* reused_[kClasses] = {};
  char *at_ = nullptr, *end_ = nullptr;  ///< where no block has been cut yet
};

namespace detail {
void* allocate_recorded(size_t bytes, size_t alignment);
void free_recorded(void* memory);
/// Whether memory is taken from the heap: once it is known that the run is no recorded one.
[[gnu::visibility("hidden")]] extern bool g_uses_heap;
/// The mappings lie here: behind those of recordings and of the checker
/// (check/memory/own_memory.h).
inline constexpr uintptr_t kRecordedLow = 0x640000000000, kRecordedHigh = 0x660000000000;
}  // namespace detail

/// Memory of the library, aligned as by malloc; null: there is none.
inline void* allocate_own(size_t bytes) {
  if (__builtin_expect(detail::g_uses_heap, 1)) return std::malloc(bytes);
  return detail::allocate_recorded(bytes, alignof(std::max_align_t));
}
/// `bytes`: a multiple of `alignment`.
inline void* allocate_own(size_t bytes, size_t alignment) {
  if (__builtin_expect(detail::g_uses_heap, 1)) return std::aligned_alloc(alignment, bytes);
  return detail::allocate_recorded(bytes, alignment);
}
/// Frees memory of allocate_own(), or of the C library.
inline void free_own(void* memory) {
  if (__builtin_expect(reinterpret_cast<uintptr_t>(memory) - detail::kRecordedLow <
                           detail::kRecordedHigh - detail::kRecordedLow,
                       0))
    return detail::free_recorded(memory);
  std::free(memory);
}

}  // namespace fgmpi
