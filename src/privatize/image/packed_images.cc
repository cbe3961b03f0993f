// What of an image is packed: the words that differ from a fresh image.

#include "privatize/image/packed_images.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "proclet-sched/coroutine/packing.h"

namespace fgmpi::privatize {
namespace {

/// Words of the image that follow each other, and differ from those of a fresh image.
struct PackedRun {
  uint32_t offset;  ///< in the image, bytes
  uint32_t bytes;
};
/// Equal words that do not end a run, since another PackedRun would take as much.
constexpr size_t kGap = 1;

/// A fresh image, to compare with; its moving words are those of the image compared last.
char* g_fresh = nullptr;
bool g_fresh_is_written = false;

uint32_t image_of(const sched::Proclet* rank) {
  return rank->image && !static_cast<Image*>(rank->image)->guest
             ? static_cast<Image*>(rank->image)->index
             : 0;
}

char* start_of(uint32_t image) { return reinterpret_cast<char*>(g_images.base_of(0, image)); }

int64_t rank_of_image(const void* address) {
  const auto offset = reinterpret_cast<uintptr_t>(address) - g_images.region_low();
  if (offset >= g_images.region_high() - g_images.region_low()) return -1;
  return static_cast<int64_t>(offset / g_images.stride() + 1);
}

/// Finds the next run in [*from, end) of the words of an image and of a fresh one; empty: none.
PackedRun find_run(const uint64_t* now, const uint64_t* fresh, size_t* from, size_t end) {
  size_t at = *from;
  while (at < end && now[at] == fresh[at]) ++at;
  const size_t first = at;
  size_t last = at;  // one past the last word that differs
  for (; at < end && at - last <= kGap; ++at)
    if (now[at] != fresh[at]) last = at + 1;
  *from = last;
  return {static_cast<uint32_t>(first * sizeof(uint64_t)),
          static_cast<uint32_t>((last - first) * sizeof(uint64_t))};
}

int64_t pack_image(const sched::Proclet* rank, char* to, size_t room) {
  const uint32_t k = image_of(rank);
  if (k == 0) return 0;
  if (!g_fresh_is_written) g_images.write_fixed_bytes(g_fresh);
  g_fresh_is_written = true;
  g_images.write_moving_words(g_fresh, k);
  const auto* now = reinterpret_cast<const uint64_t*>(start_of(k));
  const auto* fresh = reinterpret_cast<const uint64_t*>(g_fresh);
  const size_t words = g_images.stride() / sizeof(uint64_t);
  size_t used = 0;
  for (size_t from = 0; from < words;) {
    const PackedRun run = find_run(now, fresh, &from, words);
    if (run.bytes == 0) break;
    if (room - used < sizeof run + run.bytes) return -1;
    memcpy(to + used, &run, sizeof run);
    memcpy(to + used + sizeof run, start_of(k) + run.offset, run.bytes);
    used += sizeof run + run.bytes;
  }
  return static_cast<int64_t>(used);
}

bool drop_image(const sched::Proclet* rank) {
  const uint32_t k = image_of(rank);
  return k > 0 && sched::give_back_pages(start_of(k), g_images.stride());
}

void unpack_image(const sched::Proclet* rank, const char* from, size_t bytes) {
  const uint32_t k = image_of(rank);
  char* const image = start_of(k);
  sched::reclaim_pages(image, g_images.stride());
  g_images.write_copied(k);
  for (const char *at = from, *end = from + bytes; at < end;) {
    PackedRun run;
    memcpy(&run, at, sizeof run);
    memcpy(image + run.offset, at + sizeof run, run.bytes);
    at += sizeof run + run.bytes;
  }
}

}  // namespace

void install_image_packing() {
  if (!g_images.is_packed(g_images.layout())) return;
  g_fresh = static_cast<char*>(
      mmap(nullptr, g_images.stride(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (g_fresh == MAP_FAILED) return;
  sched::set_image_packer({rank_of_image, pack_image, drop_image, unpack_image});
}

}  // namespace fgmpi::privatize
