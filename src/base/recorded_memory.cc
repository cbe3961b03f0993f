// Blocks, and the mappings that they are cut from.

#include "base/recorded_memory.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/environment.h"
#include "base/page.h"

namespace fgmpi {
bool is_recorded_run() {
  static const bool recorded = environment::text(environment::kRewind) != nullptr;
  return recorded;
}

unsigned OwnBlocks::class_of(size_t bytes) {
  if (bytes <= 64) return static_cast<unsigned>((bytes + 15) / 16);
  const int top = 63 - std::countl_zero(bytes - 1);  // 2^top <= bytes - 1
  const auto step = static_cast<unsigned>((bytes - 1) >> (top - 2)) - 3;
  return static_cast<unsigned>(top - 6) * 4 + step + 4;
}

size_t OwnBlocks::size_of(unsigned size_class) {
  if (size_class <= 4) return size_t{size_class} * 16;
  return size_t{4u + (size_class & 3u)} << (3 + size_class / 4);
}

void* OwnBlocks::take(size_t bytes, size_t alignment) {
  constexpr size_t kMost = size_t{1} << 42;
  if (bytes > kMost || alignment > kMost) return nullptr;
  alignment = std::max(alignment, alignof(std::max_align_t));
  const unsigned size_class =
      class_of(bytes + sizeof(Head) + alignment - alignof(std::max_align_t));
  const size_t size = size_of(size_class);
  char* block = reinterpret_cast<char*>(reused_[size_class]);
  if (block) {
    reused_[size_class] = reused_[size_class]->next;
  } else {
    if (static_cast<size_t>(end_ - at_) < size) {
      const size_t mapped = (size + kMapped - 1) / kMapped * kMapped;
      auto* const more = static_cast<char*>(map_(mapped));
      if (!more) return nullptr;
      if (more != end_) at_ = more;  // else the mappings are one
      end_ = more + mapped;
    }
    block = at_;
    at_ += size;
  }
  auto at = reinterpret_cast<uintptr_t>(block) + sizeof(Head);
  at = (at + alignment - 1) / alignment * alignment;
  reinterpret_cast<Head*>(at)[-1] = {block, size_class};
  return reinterpret_cast<void*>(at);
}

void OwnBlocks::give(void* memory) {
  const Head head = static_cast<Head*>(memory)[-1];
  const size_t size = size_of(static_cast<unsigned>(head.size_class));
  if (size > kDiscarded) {  // all pages but the one of the list
    const auto start = reinterpret_cast<uintptr_t>(head.start);
    const size_t page = machine_page_bytes();
    const uintptr_t low = page_up(start + sizeof(Reused), page);
    discard_(reinterpret_cast<void*>(low), page_down(start + size, page) - low);
  }
  reused_[head.size_class] = new (head.start) Reused{reused_[head.size_class]};
}

}  // namespace fgmpi
