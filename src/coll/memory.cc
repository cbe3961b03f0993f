// The cache of blocks of scratch memory for the next step.

#include "coll/memory.h"

#include <new>

namespace fgmpi::coll {
namespace {

struct CachedBlock {
  char* memory = nullptr;
  size_t bytes = 0;
};
constexpr size_t kBlocks = 16;
/// The cached blocks, in the order in which they were released; not freed at exit.
CachedBlock g_cached[kBlocks];
size_t g_count = 0, g_cached_bytes = 0;

CachedBlock remove_at(size_t i) {
  CachedBlock block = g_cached[i];
  for (--g_count; i < g_count; ++i) g_cached[i] = g_cached[i + 1];
  g_cached_bytes -= block.bytes;
  return block;
}

/// Finds the shortest block that is long enough, but not one more than four times too long.
bool take(size_t bytes, CachedBlock* out) {
  size_t best = kBlocks;
  for (size_t i = 0; i < g_count; ++i)
    if (g_cached[i].bytes >= bytes && g_cached[i].bytes / 4 <= bytes &&
        (best == kBlocks || g_cached[i].bytes < g_cached[best].bytes))
      best = i;
  if (best == kBlocks) return false;
  *out = remove_at(best);
  return true;
}

}  // namespace

void ReleaseBlock::operator()(char* block) const {
  if (bytes < kLongBlock || bytes > kCachedBytes) {
    ::operator delete(block);
    return;
  }
  while (g_count == kBlocks || g_cached_bytes + bytes > kCachedBytes)
    ::operator delete(remove_at(0).memory);
  g_cached[g_count++] = {block, bytes};
  g_cached_bytes += bytes;
}

Memory raw_memory(size_t bytes) {
  CachedBlock block{nullptr, bytes};
  if (bytes < kLongBlock || !take(bytes, &block))
    block.memory = static_cast<char*>(::operator new(bytes));
  return Memory(block.memory, ReleaseBlock{block.bytes});
}

size_t cached_bytes() { return g_cached_bytes; }

}  // namespace fgmpi::coll
