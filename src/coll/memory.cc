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
CachedBlock g_kept[kBlocks];
size_t g_count = 0, g_byte_type = 0;

CachedBlock take_at(size_t i) {
  CachedBlock block = g_kept[i];
  for (--g_count; i < g_count; ++i) g_kept[i] = g_kept[i + 1];
  g_byte_type -= block.bytes;
  return block;
}

/// Finds the shortest block that is long enough, but not one more than four times too long.
bool take(size_t bytes, CachedBlock* out) {
  size_t best = kBlocks;
  for (size_t i = 0; i < g_count; ++i)
    if (g_kept[i].bytes >= bytes && g_kept[i].bytes / 4 <= bytes &&
        (best == kBlocks || g_kept[i].bytes < g_kept[best].bytes))
      best = i;
  if (best == kBlocks) return false;
  *out = take_at(best);
  return true;
}

}  // namespace

void GiveBack::operator()(char* block) const {
  if (bytes < kLongBlock || bytes > kKeptBytes) {
    ::operator delete(block);
    return;
  }
  while (g_count == kBlocks || g_byte_type + bytes > kKeptBytes)
    ::operator delete(take_at(0).memory);
  g_kept[g_count++] = {block, bytes};
  g_byte_type += bytes;
}

Memory raw_memory(size_t bytes) {
  CachedBlock block{nullptr, bytes};
  if (bytes < kLongBlock || !take(bytes, &block))
    block.memory = static_cast<char*>(::operator new(bytes));
  return Memory(block.memory, GiveBack{block.bytes});
}

size_t kept_bytes() { return g_byte_type; }

}  // namespace fgmpi::coll
