// Putting patches into the loaded libgomp and into a copy of its file.

#include "privatize/libc/openmp_waits.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/page.h"
#include "base/raw_call.h"

namespace fgmpi::privatize {

int patched_copy(int fd, const ElfModule& module, const std::vector<CodePatch>& patches) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return -1;
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  if (pread(fd, bytes.data(), bytes.size(), 0) != info.st_size) return -1;
  for (const CodePatch& p : patches)
    for (const LoadSegment& s : module.segments()) {
      if (p.offset < s.low || p.offset >= page_up(s.file_end, machine_page_bytes()) ||
          !(s.flags & PF_X))
        continue;
      const uint64_t at = s.file_offset + (p.offset - s.low);
      if (at + p.bytes.size() > bytes.size()) return -1;
      memcpy(bytes.data() + at, p.bytes.data(), p.bytes.size());
    }
  const int copy = memfd_create("libgomp", MFD_CLOEXEC);
  if (copy < 0) return -1;
  if (pwrite(copy, bytes.data(), bytes.size(), 0) == info.st_size) return copy;
  close(copy);
  return -1;
}

bool patch_loaded(const ElfModule& module, const std::vector<CodePatch>& patches) {
  for (const LoadSegment& s : module.segments()) {
    if (!(s.flags & PF_X)) continue;
    char* low = reinterpret_cast<char*>(module.base() + s.low);
    const size_t size = page_up(s.file_end, machine_page_bytes()) - s.low;
    if (mprotect(low, size, PROT_READ | PROT_WRITE) != 0) return false;
    for (const CodePatch& p : patches)
      if (p.offset >= s.low && p.offset < s.low + size)
        memcpy(low + (p.offset - s.low), p.bytes.data(), p.bytes.size());
    if (mprotect(low, size, PROT_READ | PROT_EXEC) != 0) {
      static constexpr char kLine[] = "fgmpi: libgomp cannot be made executable again\n";
      (void)!write(2, kLine, sizeof kLine - 1);
      raw_call(SYS_exit_group, 1);
    }
  }
  return true;
}

}  // namespace fgmpi::privatize
