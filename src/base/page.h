// Pages of memory: 4 KiB on the machines that are supported (x86-64).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi {

inline constexpr size_t kPage = 4096;

/// The largest multiple of kPage that is at most x.
constexpr uint64_t page_down(uint64_t x) { return x & ~uint64_t{kPage - 1}; }
/// The smallest multiple of kPage that is at least x. REQUIRES: x <= 2^64 - kPage.
constexpr uint64_t page_up(uint64_t x) { return page_down(x + kPage - 1); }

}  // namespace fgmpi
