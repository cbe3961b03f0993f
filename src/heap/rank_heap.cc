// The heap of a rank: spans of small blocks, the first page, large blocks.
#include "heap/rank_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "base/page.h"

namespace fgmpi::heap {

namespace {

/// Blocks up to this size are taken from the first page while it has room.
constexpr size_t kMostFirst = 512;
/// So many spans without blocks in use keep their memory for the next span of any size.
constexpr size_t kMostWarm = 16;
/// The part for large blocks grows by at least so much, and by a quarter of itself.
constexpr size_t kLeastGrowth = size_t{64} << 10;
/// The memory of a freed block of at least this size goes back to the system. A program that frees
/// such blocks again and again needs them again, so the size is doubled each time, up to the most.
constexpr size_t kLeastDropped = size_t{128} << 10, kMostDropped = size_t{32} << 20;
/// Freed blocks that are kept have at most so many bytes together.
constexpr size_t kMostKeptBytes = size_t{1} << 20;
/// What a large block takes beside the bytes of the user, at most.
constexpr size_t kLargeOverhead = 64;

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) & ~(to - 1); }

}  // namespace

void RankHeap::drop(char* block, size_t bytes) const {
  const auto from = reinterpret_cast<char*>(page_up(reinterpret_cast<uintptr_t>(block)));
  const char* end = block + bytes;
  if (end > from) drop_pages(from, static_cast<size_t>(end - from) & ~(page_bytes() - 1), in_file_);
}

void RankHeap::begin(const Slots& slots, uint64_t limit) {
  slot_bytes_ = slots.heap_bytes();
  half_ = slots.half();
  in_file_ = slots.is_in_file(this);
  spans_end_ = kSpanBytes;
  limit_ = limit ? limit : ~uint64_t{0};
  taken_ = most_ = kFirstPage;
  least_dropped_ = kLeastDropped;
  const size_t end = page_down(slot_bytes_), first = page_down(half_ + (end - half_) / 2);
  mappings_.begin(first, end);
  first_end_ = static_cast<uint16_t>(round_up(sizeof *this, kGranule));
  magic_ = kMagic;
}

bool RankHeap::charge(size_t bytes) {
  if (bytes > limit_ - taken_) return false;
  taken_ += bytes;
  most_ = std::max(most_, taken_);
  return true;
}

// ---- Spans --------------------------------------------------------------------------------------

void RankHeap::open(Span* span) {
  Span*& first = open_[span->number];
  span->previous = nullptr;
  span->next = first;
  if (first) first->previous = span;
  first = span;
}

void RankHeap::close(Span* span) {
  (span->previous ? span->previous->next : open_[span->number]) = span->next;
  if (span->next) span->next->previous = span->previous;
}

/// A block of the span was freed: it has been without free blocks, or is without used ones now.
void RankHeap::reopen(Span* span, bool was_closed) {
  if (was_closed) open(span);
  if (span->used != 0 || (open_[span->number] == span && !span->next)) return;
  close(span);
  span->next = spare_;
  spare_ = span;
  if (++spares_ > kMostWarm)
    drop(reinterpret_cast<char*>(span) + kFirstPage, kSpanBytes - kFirstPage);
  taken_ -= kSpanBytes;
}

/// nullptr: the slot or the limit has no room for another span.
Span* RankHeap::make_span(unsigned number) {
  if ((!spare_ && spans_end_ + kSpanBytes > half_) || !charge(kSpanBytes)) return nullptr;
  Span* span = spare_;
  if (span) {
    spare_ = span->next;
    --spares_;
  } else {
    span = reinterpret_cast<Span*>(slot() + spans_end_);
    spans_end_ += kSpanBytes;
  }
  const size_t size = size_of_number(number);
  *span = {};
  span->number = static_cast<uint16_t>(number);
  span->size = static_cast<uint32_t>(size);
  span->most = static_cast<uint16_t>((kSpanBytes - kSpanHeader) / size);
  open(span);
  return span;
}

/// Cuts blocks from the next part of a span, about a page.
static void cut_blocks(Span* span) {
  const size_t count = std::clamp<size_t>(4096 / span->size, 1, span->most - span->cut);
  char* block = reinterpret_cast<char*>(span) + kSpanHeader + size_t{span->cut} * span->size;
  for (size_t i = 0; i < count; ++i, block += span->size) {
    auto* free = reinterpret_cast<UnusedBlock*>(block);
    free->next = i + 1 < count ? reinterpret_cast<UnusedBlock*>(block + span->size) : nullptr;
    if (i == 0) span->free = free;
  }
  span->cut = static_cast<uint16_t>(span->cut + count);
}

void* RankHeap::allocate_slowly(size_t bytes) {
  if (returned_.load(std::memory_order_relaxed)) {
    take_returned();
    return allocate(bytes);
  }
  if (bytes > kMostSmall) return allocate_large(kGranule, bytes);
  const unsigned number = size_number(bytes);
  Span* span = open_[number];
  if (!span) {
    if (bytes <= kMostFirst)
      if (void* block = allocate_first(number)) return block;
    if (!(span = make_span(number))) return allocate_large(kGranule, bytes);
  }
  cut_blocks(span);
  return allocate(bytes);
}

// ---- The first page -----------------------------------------------------------------------------

void* RankHeap::allocate_first(unsigned number) {
  const size_t size = size_of_number(number);
  const auto granules = static_cast<uint8_t>(size / kGranule);
  uint16_t* at = &first_free_;
  for (int tries = 0; *at && tries < 8; ++tries) {
    auto* block = reinterpret_cast<uint16_t*>(slot() + *at);
    if (first_sizes_[*at / kGranule] == granules) {
      *at = *block;
      first_in_use_ = static_cast<uint16_t>(first_in_use_ + size);
      return block;
    }
    at = block;  // its first bytes are the offset of the next one
  }
  if (first_end_ + size > kFirstPage) return nullptr;
  void* block = slot() + first_end_;
  first_sizes_[first_end_ / kGranule] = granules;
  first_end_ = static_cast<uint16_t>(first_end_ + size);
  first_in_use_ = static_cast<uint16_t>(first_in_use_ + size);
  return block;
}

void RankHeap::free_slowly(void* block, size_t offset) {
  if (offset >= kSpanBytes) return free_large(block);
  const size_t size = size_t{first_sizes_[offset / kGranule]} * kGranule;
  first_in_use_ = static_cast<uint16_t>(first_in_use_ - size);
  if (offset + size == first_end_) {
    first_end_ = static_cast<uint16_t>(offset);
    return;
  }
  *static_cast<uint16_t*>(block) = first_free_;
  first_free_ = static_cast<uint16_t>(offset);
}

// ---- Large blocks -------------------------------------------------------------------------------

bool RankHeap::grow_large(size_t bytes) {
  const size_t most = mappings_.first() - half_;
  const size_t wanted =
      round_up(std::max({bytes + kLargeOverhead, large_bytes_ / 4, kLeastGrowth}), kLeastGrowth);
  const size_t growth = std::min(wanted, most - large_bytes_);
  if (growth < bytes + kLargeOverhead) return false;
  if (LargeBlocks* blocks = large())
    blocks->grow(growth);
  else
    new (slot() + half_) LargeBlocks(growth, 0);
  large_bytes_ += growth;
  return true;
}

void* RankHeap::allocate_large(size_t alignment, size_t bytes) {
  if (bytes > slot_bytes_) return nullptr;
  if (alignment <= kGranule && bytes > kMostSmall && bytes <= kMostKept) {
    const unsigned number = kept_number(bytes);
    bytes = size_of_kept(number);
    if (UnusedBlock* block = kept_[number]) {
      kept_[number] = block->next;
      const size_t size = large()->size(block);
      kept_bytes_ -= size;
      large_in_use_ += size;
      return block;
    }
  }
  const size_t room = bytes + (alignment > kGranule ? 2 * alignment : 0);
  if (room > limit_ - taken_) return nullptr;
  for (int tries = 0; tries < 2; ++tries) {
    LargeBlocks* blocks = large();
    void* block = !blocks                 ? nullptr
                  : alignment <= kGranule ? blocks->allocate(bytes)
                                          : blocks->allocate_aligned(bytes, alignment);
    if (block) {
      const size_t size = blocks->size(block);
      large_in_use_ += size;
      charge(size);
      return block;
    }
    if (kept_bytes_) {
      release_kept();
      --tries;
    } else if (!grow_large(room + sizeof(LargeBlocks) + kLargeOverhead)) {
      return nullptr;
    }
  }
  return nullptr;
}

void RankHeap::free_large(void* block) {
  FGMPI_CHECK(large() && offset_of(block) - half_ < large_bytes_);  // else it is no block
  const size_t size = large()->size(block);
  large_in_use_ -= size;
  if (keep(block, size)) return;
  taken_ -= size;
  large()->deallocate(block);
  if (size < least_dropped_) return;
  // What the allocator writes to a free block is at its two ends.
  drop(static_cast<char*>(block) + page_bytes(), size - 2 * page_bytes());
  least_dropped_ = std::clamp(2 * size, kLeastDropped, kMostDropped);
}

/// Keeps a freed block for the next one of its size. Returns false where it is too large, or
/// enough are kept.
bool RankHeap::keep(void* block, size_t size) {
  if (size < size_of_kept(0) || size > kMostKept) return false;
  if (kept_bytes_ + size > kMostKeptBytes) return false;
  auto* kept = static_cast<UnusedBlock*>(block);
  UnusedBlock*& first = kept_[kept_number(size + 1) - 1];  // the largest of these that fits
  kept->next = first;
  first = kept;
  kept_bytes_ += size;
  return true;
}

void RankHeap::release_kept() {
  for (UnusedBlock*& first : kept_)
    while (UnusedBlock* block = first) {
      first = block->next;
      taken_ -= large()->size(block);
      large()->deallocate(block);
    }
  kept_bytes_ = 0;
}

void* RankHeap::allocate_aligned(size_t alignment, size_t bytes) {
  if (alignment <= kGranule) return allocate(bytes);
  if (returned_.load(std::memory_order_relaxed)) take_returned();
  if (alignment > half_ / 2) return nullptr;
  return allocate_large(alignment, bytes);
}

bool RankHeap::grow_in_place(void* block, size_t bytes) {
  LargeBlocks* blocks = large();
  const size_t before = blocks->size(block);
  if (bytes <= before || bytes - before > limit_ - taken_) return false;
  size_t received = bytes;
  char* reused = static_cast<char*>(block);
  if (!blocks->allocation_command<char>(
          boost::interprocess::expand_fwd | boost::interprocess::nothrow_allocation, bytes,
          received, reused))
    return false;
  const size_t now = blocks->size(block);
  large_in_use_ += now - before;
  charge(now - before);
  return true;
}

// ---- All blocks ---------------------------------------------------------------------------------

size_t RankHeap::size_of(const void* block, size_t offset) const {
  if (offset < kSpanBytes) return size_t{first_sizes_[offset / kGranule]} * kGranule;
  return offset < half_ ? span_of(block)->size : large()->size(block);
}

void RankHeap::give_back(void* block) {
  auto* freed = static_cast<UnusedBlock*>(block);
  freed->next = returned_.load(std::memory_order_relaxed);
  while (!returned_.compare_exchange_weak(freed->next, freed, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

void RankHeap::take_returned() {
  UnusedBlock* block = returned_.exchange(nullptr, std::memory_order_acquire);
  while (block) {
    UnusedBlock* next = block->next;
    free(block, static_cast<size_t>(reinterpret_cast<char*>(block) - slot()));
    block = next;
  }
}

HeapUse RankHeap::use() const {
  HeapUse use;
  use.taken = taken_;
  use.most = most_;
  use.in_use = large_in_use_ + first_in_use_;
  for (size_t at = kSpanBytes; at < spans_end_; at += kSpanBytes) {
    const Span* span = span_of(slot() + at);
    use.in_use += size_t{span->used} * span->size;
  }
  return use;
}

}  // namespace fgmpi::heap
