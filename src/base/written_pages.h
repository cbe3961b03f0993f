// Which pages of this process were written: the private pages that have memory of their own, or lie
// in swap, also those of private mappings of files. Guard pages and pages of files that were only
// read are not among them; a page of anonymous memory that was only read is, and holds zeros.
//
// The kernel's list of pages (/proc/self/pagemap) has eight bytes for each page of addresses; those
// of memory that was never touched cost as much as others. mincore() would not do: it counts pages
// of a file that anyone has read.
//
// Thread rule: one thread an object. Nothing here switches or allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/page.h"

namespace fgmpi {

class WrittenPages {
 public:
  WrittenPages();
  ~WrittenPages();
  WrittenPages(const WrittenPages&) = delete;
  WrittenPages& operator=(const WrittenPages&) = delete;
  /// False: the kernel does not show them.
  bool known() const { return fd_ >= 0; }

  /// Calls see(low, high) for each run of written pages of [low, high), in ascending order. Returns
  /// false where they cannot be read.
  template <class See>
  bool visit(uintptr_t low, uintptr_t high, See&& see) {
    const size_t bytes = machine_page_bytes();
    const uintptr_t end = (high + bytes - 1) / bytes;
    uintptr_t run = 0;  // where the present run began; 0: there is none
    for (uintptr_t page = low / bytes; page < end;) {
      const size_t count = read(page, std::min<size_t>(end - page, kAtOnce));
      if (count == 0) return false;
      for (size_t i = 0; i < count; ++i) {
        const bool written = is_written(entries_[i]);
        if (written && run == 0) run = (page + i) * bytes;
        if (written || run == 0) continue;
        see(run, (page + i) * bytes);
        run = 0;
      }
      page += count;
    }
    if (run) see(run, end * bytes);
    return true;
  }

 private:
  static constexpr size_t kAtOnce = 1024;
  static bool is_written(uint64_t entry);
  /// Reads the entries of up to so many pages; returns how many, 0 in case of an error.
  size_t read(uintptr_t page, size_t count);

  int fd_;
  uint64_t entries_[kAtOnce];
};

}  // namespace fgmpi
