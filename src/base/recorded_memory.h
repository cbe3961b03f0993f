// The library's memory in runs that are recorded and repeated (mpiexec -record and -rewind).
//
// A repeated run that is checked allocates more than the recorded one: the library takes memory for
// the checker. The program's blocks must lie at the same addresses nevertheless. So what the
// library allocates there for itself comes from mappings far from where the system places any by
// itself, not from the C library's heap, which is the program's alone. In all other runs it comes
// from that heap. Streams on strings (std::istringstream) must not be used in recorded runs: code in
// libstdc++ would free the library's memory by the C library.
// Thread rule: as malloc; recorded runs have one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi {

/// Is this a recorded run, or a repeated one?
bool is_recorded_run();

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

}  // namespace fgmpi
