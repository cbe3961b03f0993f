// Refilling and trimming of message memory.

#include "pt2pt/pool.h"

namespace fgmpi::pt2pt {

size_t ChunkPool::bytes_of_all_ = 0;

void ChunkPool::refill() {
  char* chunk = static_cast<char*>(allocate_own(chunk_bytes_, chunk_bytes_));
  if (!chunk) throw std::bad_alloc();
  ++chunks_;
  bytes_of_all_ += chunk_bytes_;
  refilled_ = true;
  for (uint32_t i = slots_in_chunk(); i-- > 0;)
    free_ = new (chunk + size_t{i} * slot_bytes_) FreeSlot{free_};
  new (footer_of(free_)) Footer{0};
}

bool ChunkPool::trim() {
  if (refilled_) {  // the memory that the last trim freed was needed: wait twice as long
    refilled_ = false;
    patience_ = freed_ ? std::min(2 * patience_ + 1, kMostPatience) : patience_;
    wait_ = patience_;
    freed_ = false;
  }
  if (chunks_ <= kKept) return false;
  if (wait_ > 0) {
    --wait_;
    return true;
  }
  const uint32_t all = slots_in_chunk();
  for (FreeSlot* s = free_; s; s = s->next) ++footer_of(s)->free;
  size_t kept = 0;
  FreeSlot *left = nullptr, *gone = nullptr;
  for (FreeSlot *s = std::exchange(free_, nullptr), *next; s; s = next) {
    next = s->next;
    Footer* footer = footer_of(s);
    if (footer->free == all && kept < kKept) footer->free = 0, ++kept;
    if (footer->free < all) {
      footer->free = 0;
      s->next = left;
      left = s;
    } else if (is_first(s)) {
      s->next = gone;
      gone = s;
    }
  }
  free_ = left;
  freed_ = gone != nullptr;
  for (FreeSlot* next; gone; gone = next) {
    next = gone->next;
    free_own(gone);
    --chunks_;
    bytes_of_all_ -= chunk_bytes_;
  }
  return false;
}

}  // namespace fgmpi::pt2pt
