// The heap of one rank. Its whole state lies in the rank's slot.
//
//   slot     first span: this object and the first small blocks, one page
//   + 16 KiB spans of blocks of one size each (up to 4 KiB), 16 KiB apart
//   + half   large blocks: Boost.Interprocess's rbtree_best_fit, whose state is at its start
//   ...      half of the rest: anonymous mappings (mappings.h)
//
// What a block is follows from its address, so that free() reads its span alone. Spans are cut into
// blocks as they are needed: a page that was never needed has no memory. A rank whose blocks are
// few has them all in the first page, whatever their sizes.
//
// Thread rule: one thread, the scheduler's; where ranks have threads, whoever holds the heap's
// lock, which is never held across a switch. A thread of no rank that frees a block leaves it to
// the heap (give_back()), which takes it when it next needs memory. Nothing switches, nothing calls
// MPI or the C library's allocator. Invariants: a span is in the list of its size if and only if it
// has a block that is not in use. Source: the division into spans by size is that of most
// allocators since the slab allocator (Bonwick, USENIX 1994).
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <cstddef>
#include <cstdint>

#include "base/heap_link.h"
#include "base/relax_cpu.h"
#include "heap/mappings.h"
#include "heap/slots.h"

namespace fgmpi::heap {

constexpr size_t kGranule = 16;  ///< sizes and addresses of blocks are multiples of it
constexpr size_t kSpanBytes = size_t{16} << 10;
constexpr size_t kFineLimit = 1024, kMostSmall = 4096, kCoarse = 256;
/// Sizes by 16 bytes up to 1 KiB, and by 256 bytes up to 4 KiB.
constexpr unsigned kFineSizes = kFineLimit / kGranule;
constexpr unsigned kSizes = kFineSizes + (kMostSmall - kFineLimit) / kCoarse;

constexpr unsigned size_number(size_t bytes) {
  if (bytes <= kFineLimit) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) / kGranule);
  return kFineSizes + static_cast<unsigned>((bytes - kFineLimit - 1) / kCoarse);
}
constexpr size_t size_of_number(unsigned number) {
  if (number < kFineSizes) return (number + 1) * kGranule;
  return kFineLimit + (number - kFineSizes + 1) * kCoarse;
}

/// Freed blocks of up to 64 KiB are kept for the next block of that size: eight sizes between two
/// powers of two.
constexpr size_t kMostKept = size_t{64} << 10;
constexpr unsigned kKeptSizes = 32;
constexpr unsigned kept_number(size_t bytes) {
  const auto power = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;
  return (power - 12) * 8 + ((bytes - 1) >> (power - 3) & 7);
}
constexpr size_t size_of_kept(unsigned number) { return (9 + number % 8) << (12 + number / 8 - 3); }

/// A block that is not in use.
struct UnusedBlock {
  UnusedBlock* next;
};

/// At the start of a span.
struct Span {
  UnusedBlock* free;  ///< blocks that were given back
  Span *next, *previous;
  uint32_t size;             ///< of a block
  uint16_t used, cut, most;  ///< blocks in use, cut so far, and that fit
  uint16_t number;           ///< of the size
};
inline Span* span_of_block(const void* block) {
  return reinterpret_cast<Span*>(reinterpret_cast<uintptr_t>(block) & ~(kSpanBytes - 1));
}
constexpr size_t kSpanHeader = (sizeof(Span) + kGranule - 1) / kGranule * kGranule;

using LargeBlocks =
    boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family, void*, kGranule>;

/// The lock of a heap, held for a call of the allocator. One atomic operation a call: a waiting
/// thread gives its processor to others, so that the holder need not know of it.
class HeapLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  void wait() const {
    for (int tries = 0; held_.load(std::memory_order_relaxed); ++tries)
      if (tries < 100)
        relax_cpu();
      else
        syscall(SYS_sched_yield);  // the library's own would let other ranks run
  }
  std::atomic<bool> held_;
};

struct ThreadCache;

class RankHeap {
 public:
  /// The heap at the start of a slot; made at the first use. Its memory is zero until then.
  static RankHeap* at(char* slot) { return reinterpret_cast<RankHeap*>(slot); }
  bool exists() const { return magic_ == kMagic; }
  void begin(const Slots& slots, uint64_t limit);

  /// nullptr: the slot or the rank's limit has no such memory.
  [[gnu::always_inline]] void* allocate(size_t bytes) {
    if (bytes <= kMostSmall) [[likely]] {
      Span* span = open_[size_number(bytes)];
      if (span && span->free) [[likely]] {
        UnusedBlock* block = span->free;
        span->free = block->next;
        ++span->used;
        if (!span->free && span->cut == span->most) [[unlikely]]
          close(span);
        return block;
      }
    }
    return allocate_slowly(bytes);
  }
  /// REQUIRES: `alignment` is a power of two, at most half a slot.
  void* allocate_aligned(size_t alignment, size_t bytes);
  [[gnu::always_inline]] void free(void* block, size_t offset) {
    if (offset - kSpanBytes < half_ - kSpanBytes) [[likely]] {
      Span* span = span_of(block);
      auto* freed = static_cast<UnusedBlock*>(block);
      const bool was_closed = !span->free && span->cut == span->most;
      freed->next = span->free;
      span->free = freed;
      if (--span->used == 0 || was_closed) [[unlikely]]
        reopen(span, was_closed);
      return;
    }
    free_slowly(block, offset);
  }
  /// The bytes that the block has.
  size_t size_of(const void* block, size_t offset) const;
  /// Makes a large block longer where it is. Returns false where that is not possible.
  bool grow_in_place(void* block, size_t bytes);
  /// What a heap has taken of whose first page this is a copy, from another process; 0: no heap.
  uint64_t taken_of_copy() const { return exists() ? taken_ : 0; }
  /// Another thread frees a block.
  void give_back(void* block);

  HeapLock& lock() { return lock_; }
  /// The cache of the scheduler's thread for this heap (thread_cache.h); it alone asks for it.
  ThreadCache*& scheduler_cache() { return scheduler_cache_; }
  RankMappings& mappings() { return mappings_; }
  /// True where other processes can map the heap's pages (slots.h).
  bool is_in_file() const { return in_file_; }
  /// Records that the rank has given memory of its slot another protection, which is this
  /// process's alone.
  void set_protected() { protected_ = true; }
  bool is_protected() const { return protected_; }
  size_t offset_of(const void* p) const {
    return static_cast<size_t>(static_cast<const char*>(p) - slot());
  }
  char* address_of(size_t offset) { return slot() + offset; }
  /// May the heap take so many bytes more? Counts them.
  bool charge(size_t bytes);
  void discharge(size_t bytes) { taken_ -= bytes; }
  bool has_room_for(size_t bytes) const { return bytes <= limit_ - taken_; }

  HeapUse use() const;
  uint64_t taken() const { return taken_; }
  /// Calls see(first, end, is_mapping), offsets of whole pages in ascending order, for all memory
  /// that was ever in use, and has not gone back to where mappings come from.
  template <class See>
  void visit_memory(See&& see) const {
    see(size_t{0}, spans_end_, false);
    if (large_bytes_) see(half_, half_ + large_bytes_, false);
    mappings_.visit([&](size_t first, size_t end) { see(first, end, true); });
  }

 private:
  static constexpr uint64_t kMagic = 0x6670a6e2c51b7d31;
  static constexpr size_t kFirstPage = 4096;

  static Span* span_of(const void* block) { return span_of_block(block); }
  char* slot() { return reinterpret_cast<char*>(this); }
  const char* slot() const { return reinterpret_cast<const char*>(this); }
  LargeBlocks* large() const {
    return large_bytes_ ? reinterpret_cast<LargeBlocks*>(const_cast<char*>(slot()) + half_)
                        : nullptr;
  }
  void* allocate_slowly(size_t bytes);
  void* allocate_first(unsigned number);
  void* allocate_large(size_t alignment, size_t bytes);
  void free_slowly(void* block, size_t offset);
  void free_large(void* block);
  bool keep(void* block, size_t size);
  void release_kept();
  Span* make_span(unsigned number);
  void open(Span* span);
  void close(Span* span);
  void reopen(Span* span, bool was_closed);
  bool grow_large(size_t bytes);
  void take_returned();
  /// Gives the whole pages of a block back to the system. They read as zero afterwards.
  void drop(char* block, size_t bytes) const;

  uint64_t magic_;
  Span* open_[kSizes];  ///< by number of the size: spans with blocks that are not in use
  Span* spare_;         ///< spans without blocks in use
  size_t spares_;       ///< how many; the last few still have their memory
  size_t half_, slot_bytes_;
  size_t spans_end_;    ///< offset of the first span that was never made
  size_t large_bytes_;  ///< of the part for large blocks, as far as it was taken
  size_t large_in_use_;
  UnusedBlock* kept_[kKeptSizes];  ///< freed blocks, by kept_number()
  size_t kept_bytes_;
  size_t least_dropped_;  ///< freed blocks of at least this size give their memory back
  uint64_t taken_, most_, limit_;
  std::atomic<UnusedBlock*> returned_;
  RankMappings mappings_;
  ThreadCache* scheduler_cache_;
  HeapLock lock_;
  bool in_file_, protected_;
  // The first page: small blocks of all sizes, in the order in which they came.
  uint16_t first_end_;     ///< offset of what was never used
  uint16_t first_free_;    ///< offset of the newest block that was given back; 0: none
  uint16_t first_in_use_;  ///< bytes
  uint8_t first_sizes_[kFirstPage / kGranule];  ///< by granule of the block's offset: in granules
};

}  // namespace fgmpi::heap
