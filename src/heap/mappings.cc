// The list of a rank's anonymous mappings.
#include "heap/mappings.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/page.h"
#include "heap/rank_heap.h"

namespace fgmpi::heap {

bool RankMappings::insert(RankHeap* heap, size_t at, PageRange range) {
  if (count_ == room_) {
    const uint32_t room = std::max(8u, 2 * room_);
    auto* more = static_cast<PageRange*>(heap->allocate(room * sizeof(PageRange)));
    if (!more) return false;
    if (ranges_) {
      std::memcpy(more, ranges_, count_ * sizeof(PageRange));
      heap->free(ranges_, heap->offset_of(ranges_));
    }
    ranges_ = more;
    room_ = room;
  }
  std::memmove(ranges_ + at + 1, ranges_ + at, (count_ - at) * sizeof(PageRange));
  ranges_[at] = range;
  ++count_;
  return true;
}

void RankMappings::remove(size_t at) {
  --count_;
  std::memmove(ranges_ + at, ranges_ + at + 1, (count_ - at) * sizeof(PageRange));
}

size_t RankMappings::take(RankHeap* heap, size_t bytes, bool charged) {
  size_t from = first_, at = 0;
  for (; at < count_ && ranges_[at].first - from < bytes; ++at) from = ranges_[at].end;
  if (end_ - from < bytes || (charged && !heap->charge(bytes))) return 0;
  PageRange* before = at > 0 ? &ranges_[at - 1] : nullptr;
  if (before && before->end == from && before->charged == charged) {
    before->end = from + bytes;
    return from;
  }
  if (insert(heap, at, {from, from + bytes, charged})) return from;
  if (charged) heap->discharge(bytes);
  return 0;
}

bool RankMappings::give_up(RankHeap* heap, size_t offset, size_t bytes) {
  const size_t end = offset + bytes;
  size_t at = 0;
  while (at < count_ && ranges_[at].end <= offset) ++at;
  while (at < count_ && ranges_[at].first < end) {
    const PageRange range = ranges_[at];
    if (range.first < offset && range.end > end) {  // what is left are two
      if (!insert(heap, at + 1, {end, range.end, range.charged})) return false;
      ranges_[at].end = offset;
    } else if (range.first < offset) {
      ranges_[at].end = offset;
    } else if (range.end > end) {
      ranges_[at].first = end;
    } else {
      remove(at);
    }
    const size_t given = std::min<size_t>(range.end, end) - std::max<size_t>(range.first, offset);
    if (range.charged) heap->discharge(given);
    if (range.first < offset) ++at;
  }
  return true;
}

bool RankMappings::grow(RankHeap* heap, size_t end, size_t more) {
  for (size_t at = 0; at < count_; ++at) {
    PageRange& range = ranges_[at];
    if (range.end != end) continue;
    const size_t limit = at + 1 < count_ ? ranges_[at + 1].first : end_;
    if (limit - end < more || (range.charged && !heap->charge(more))) return false;
    range.end = end + more;
    return true;
  }
  return false;
}

void reset_mappings(RankHeap* heap, size_t offset, size_t bytes) {
  char* const from = heap->address_of(offset);
  if (heap->is_in_file()) {
    mprotect(from, bytes, PROT_READ | PROT_WRITE);
    drop_pages(from, bytes, true);
    return;
  }
  // The system call itself: mmap() is interposed.
  syscall(SYS_mmap, from, bytes, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L);
}

}  // namespace fgmpi::heap
