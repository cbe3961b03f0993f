// The table of blocks and their places: open addressing, in memory of its own.
#include "heap/blocks.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/plain_mutex.h"

namespace fgmpi::heap {

namespace {

PlainMutex g_blocks_lock;
PlacedBlock* g_blocks = nullptr;  ///< inverted 0: empty
size_t g_room = 0, g_used = 0;    ///< g_room is a power of two

size_t start_of(uintptr_t inverted) {
  return (inverted >> 4) * 0x9e3779b97f4a7c15 >> 20 & (g_room - 1);
}

/// The entry of a block, or the empty one where it would be.
size_t find(uintptr_t inverted) {
  size_t at = start_of(inverted);
  while (g_blocks[at].inverted && g_blocks[at].inverted != inverted) at = (at + 1) & (g_room - 1);
  return at;
}

/// False: there is no memory for a larger table.
bool grow() {
  const size_t before = g_room, room = std::max(size_t{4096}, 2 * before);
  // The system call itself: mmap() is interposed.
  const long got = syscall(SYS_mmap, nullptr, room * sizeof(PlacedBlock), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  if (got == -1) return false;
  PlacedBlock* const old = g_blocks;
  g_blocks = reinterpret_cast<PlacedBlock*>(got);
  g_room = room;
  for (size_t i = 0; i < before; ++i)
    if (old[i].inverted) g_blocks[find(old[i].inverted)] = old[i];
  if (old) syscall(SYS_munmap, old, before * sizeof(PlacedBlock));
  return true;
}

}  // namespace

void add_block(const void* block, size_t bytes, const void* place) {
  const std::lock_guard<PlainMutex> guard(g_blocks_lock);
  if (2 * g_used >= g_room && !grow()) return;
  const uintptr_t inverted = ~reinterpret_cast<uintptr_t>(block);
  PlacedBlock& entry = g_blocks[find(inverted)];
  g_used += entry.inverted == 0;
  entry = {inverted, bytes, place};
}

void remove_block(const void* block) {
  const std::lock_guard<PlainMutex> guard(g_blocks_lock);
  if (!g_room) return;
  size_t hole = find(~reinterpret_cast<uintptr_t>(block));
  if (!g_blocks[hole].inverted) return;
  --g_used;
  // Entries behind that would not be found any more move into the hole.
  for (size_t at = (hole + 1) & (g_room - 1); g_blocks[at].inverted; at = (at + 1) & (g_room - 1)) {
    const size_t start = start_of(g_blocks[at].inverted);
    if (((at - start) & (g_room - 1)) < ((at - hole) & (g_room - 1))) continue;
    g_blocks[hole] = g_blocks[at];
    hole = at;
  }
  g_blocks[hole] = {};
}

std::vector<PlacedBlock> blocks_between(uintptr_t low, uintptr_t high) {
  std::vector<PlacedBlock> found;
  {
    const std::lock_guard<PlainMutex> guard(g_blocks_lock);
    for (size_t i = 0; i < g_room; ++i)
      if (const uintptr_t inverted = g_blocks[i].inverted; inverted && ~inverted - low < high - low)
        found.push_back(g_blocks[i]);
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.inverted > b.inverted; });
  return found;
}

}  // namespace fgmpi::heap
