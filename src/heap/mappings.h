// The anonymous mappings of one rank, in the last part of its slot (rank_heap.h): which pages are
// in use. The pages are mapped always; those that are not in use are readable and writable, and
// zero.
//
// The mappings are a list in ascending order. A program has few at a time, and each call changes
// the kernel's own list besides. The list itself is a block of the heap.
//
// Thread rule: as RankHeap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::heap {

class RankHeap;

class RankMappings {
 public:
  /// Where the part for mappings is, in bytes from the start of the heap; whole pages.
  void begin(size_t first, size_t end) {
    first_ = first;
    end_ = end;
  }
  bool has(size_t offset, size_t bytes) const {
    return offset >= first_ && bytes <= end_ - first_ && offset - first_ <= end_ - first_ - bytes;
  }
  size_t first() const { return first_; }
  bool any() const { return count_ > 0; }

  /// Calls see(first, end) for each run of pages in use: offsets.
  template <class See>
  void visit(See&& see) const {
    for (uint32_t i = 0; i < count_; ++i) see(ranges_[i].first, ranges_[i].end);
  }

  /// Takes pages for a mapping, and counts them as the heap's where they are `charged`. Returns the
  /// offset from the start of the heap; 0: there is no room, or the rank's limit is reached.
  size_t take(RankHeap* heap, size_t bytes, bool charged);
  /// Gives up all pages of this range that are in use. The caller makes them as they are at first.
  /// False, with nothing changed: the list needs memory, and there is none.
  bool give_up(RankHeap* heap, size_t offset, size_t bytes);
  /// Makes the mapping that ends at `end` longer where it is; false: there is no room, or the range
  /// before is no mapping.
  bool grow(RankHeap* heap, size_t end, size_t more);

 private:
  struct PageRange {
    uint64_t first, end;
    bool charged;
  };
  bool insert(RankHeap* heap, size_t at, PageRange range);
  void remove(size_t at);

  PageRange* ranges_;
  uint32_t count_, room_;
  size_t first_, end_;
};

/// Makes pages of the part for mappings as they are while they are not in use.
void reset_mappings(RankHeap* heap, size_t offset, size_t bytes);

}  // namespace fgmpi::heap
