// Memory: scratch of a step, not zeroed. Long blocks are cached for the next step, up to a bound
// for the process, since fresh pages cost as much as filling them once more.
//
// Thread rule: one thread; nothing here switches. Invariant: at most kCachedBytes are cached.
#pragma once

#include <cstddef>
#include <memory>

namespace fgmpi::coll {

/// Shorter blocks are not cached: the allocator is fast for them.
inline constexpr size_t kLongBlock = 64 * 1024;
inline constexpr size_t kCachedBytes = 16 * 1024 * 1024;

struct ReleaseBlock {
  size_t bytes = 0;  ///< of the block, which may be longer than the caller asked for
  void operator()(char* block) const;
};
using Memory = std::unique_ptr<char[], ReleaseBlock>;

/// Allocates at least `bytes` bytes, aligned as by malloc.
Memory raw_memory(size_t bytes);

/// Bytes that are cached, for tests.
size_t cached_bytes();

}  // namespace fgmpi::coll
