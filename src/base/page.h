// Pages of memory. The kernel has pages of 4 KiB on x86-64, and of 4, 16 or 64 KiB on 64-bit Arm.
//
// The library lays out its own memory in pages of page_bytes(): stacks, guards, rings, images,
// windows. These are the kernel's pages, unless FGMPI_PAGE_SIZE asks for larger ones, so that a
// machine with small pages can test the layout of one with large pages. What others have mapped,
// and what the kernel counts, is in pages of machine_page_bytes().
//
// Thread rule: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi {

/// Bytes of a page of the kernel; a power of two.
size_t machine_page_bytes();
/// Bytes of a page of the library's own memory: a multiple of machine_page_bytes(), a power of two.
size_t page_bytes();

/// The largest multiple of `page` that is at most x. REQUIRES: `page` is a power of two.
inline uint64_t page_down(uint64_t x, size_t page = page_bytes()) {
  return x & ~uint64_t{page - 1};
}
/// The smallest multiple of `page` that is at least x. REQUIRES: x <= 2^64 - page.
inline uint64_t page_up(uint64_t x, size_t page = page_bytes()) {
  return page_down(x + page - 1, page);
}

/// Gives whole pages of a mapping back to the system: they read as zero afterwards. `in_file`: the
/// mapping is shared memory, and the pages go from all processes. False: the system refuses.
bool drop_pages(void* first, size_t bytes, bool in_file);

}  // namespace fgmpi
