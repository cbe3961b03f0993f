// The mappings of this process, as the kernel lists them (/proc/self/maps).
//
// Thread rule: one thread an object. Memory is the kernel's own pages, so that it may be used where
// malloc may not. Nothing here switches.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/mapped_allocator.h"

namespace fgmpi {

/// A line of /proc/self/maps.
struct KernelMapping {
  uintptr_t low = 0, high = 0;
  int protection = PROT_NONE;
  bool of_file = false;  ///< a private mapping of a file
  bool shared = false;
  uint64_t offset = 0, inode = 0;  ///< in its file; of its file
  /// The path of its file, as the kernel knows it; "" without one. Valid up to the next call of
  /// next().
  const char* path = "";
};

/// Reads the mappings of this process in ascending order.
class KernelMappings {
 public:
  KernelMappings() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)), text_(size_t{64} << 10) {}
  ~KernelMappings() {
    if (fd_ >= 0) close(fd_);
  }
  KernelMappings(const KernelMappings&) = delete;
  KernelMappings& operator=(const KernelMappings&) = delete;

  /// False: there are no more.
  bool next(KernelMapping* out) {
    const char* line = next_line();
    unsigned long low, high, offset, inode;
    char rights[5];
    int end = 0;
    if (!line ||
        sscanf(line, "%lx-%lx %4s %lx %*s %lu %n", &low, &high, rights, &offset, &inode, &end) != 5)
      return false;
    *out = {low,    high,  PROT_NONE, inode != 0 && rights[3] == 'p', rights[3] == 's',
            offset, inode, line + end};
    if (rights[0] == 'r') out->protection |= PROT_READ;
    if (rights[1] == 'w') out->protection |= PROT_WRITE;
    if (rights[2] == 'x') out->protection |= PROT_EXEC;
    return true;
  }

 private:
  const char* next_line() {
    for (;;) {
      char* end = static_cast<char*>(std::memchr(&text_[from_], '\n', to_ - from_));
      if (end) {
        *end = '\0';
        const char* line = &text_[from_];
        from_ = static_cast<size_t>(end - text_.data()) + 1;
        return line;
      }
      std::memmove(text_.data(), &text_[from_], to_ - from_);
      to_ -= from_;
      from_ = 0;
      const ssize_t got = fd_ < 0 ? 0 : read(fd_, &text_[to_], text_.size() - to_ - 1);
      if (got <= 0) return nullptr;
      to_ += static_cast<size_t>(got);
    }
  }

  int fd_;
  std::vector<char, MappedAllocator<char>> text_;
  size_t from_ = 0, to_ = 0;  ///< what was read and not yet used
};

}  // namespace fgmpi
