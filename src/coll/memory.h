// Memory: scratch of a step, not zeroed. Long blocks are kept for the next step, up to a bound for
// the process, since fresh pages cost as much as filling them once more.
//
// Thread rule: one thread; nothing here switches. Invariant: at most kKeptBytes are kept unused.
#pragma once

#include <cstddef>
#include <memory>

namespace fgmpi::coll {

/// Shorter blocks are not kept: the allocator is fast for them.
inline constexpr size_t kLongBlock = 64 * 1024;
inline constexpr size_t kKeptBytes = 16 * 1024 * 1024;

struct GiveBack {
  size_t bytes = 0;  ///< of the block, which may be longer than what was asked for
  void operator()(char* block) const;
};
using Memory = std::unique_ptr<char[], GiveBack>;

/// At least `bytes` bytes, aligned as malloc does.
Memory raw_memory(size_t bytes);

/// Bytes that are kept and not in use (tests).
size_t kept_bytes();

}  // namespace fgmpi::coll
