// The table of places where ranks have taken memory.
#include "heap/taken_at.h"

#include <sys/mman.h>

#include <algorithm>

namespace fgmpi::heap {

namespace {
struct TakenAt {
  const void* place;
  uint32_t index;
  uint64_t bytes;
};
constexpr size_t kPlaces = 8192;
TakenAt* g_taken = nullptr;
}  // namespace

bool begin_taken_at() {
  void* memory = mmap(nullptr, kPlaces * sizeof(TakenAt), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_taken = memory == MAP_FAILED ? nullptr : static_cast<TakenAt*>(memory);
  return g_taken != nullptr;
}

void record_taken(uint32_t index, const void* place, uint64_t bytes) {
  const size_t hash = (reinterpret_cast<uintptr_t>(place) * 31 + index) * 0x9e3779b97f4a7c15 >> 51;
  for (size_t tries = 0; g_taken && tries < 16; ++tries) {
    TakenAt& at = g_taken[(hash + tries) % kPlaces];
    if (at.place && (at.place != place || at.index != index)) continue;
    at.place = place;
    at.index = index;
    at.bytes += bytes;
    return;
  }
}

size_t most_taken_at(uint32_t index, Ranks::TakingPlace (&most)[kMostTakingPlaces]) {
  auto& least = most[kMostTakingPlaces - 1];
  for (size_t i = 0; g_taken && i < kPlaces; ++i) {
    const TakenAt& at = g_taken[i];
    if (!at.place || at.index != index || at.bytes <= least.bytes) continue;
    least = {at.place, at.bytes};
    std::ranges::sort(most, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  }
  return static_cast<size_t>(
      std::ranges::count_if(most, [](const auto& s) { return s.bytes != 0; }));
}

}  // namespace fgmpi::heap
