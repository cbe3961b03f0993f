// Reading of another process's memory by process_vm_readv.

#include "transport/shm/cma.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "base/count_words.h"
#include "base/strings.h"

namespace fgmpi::transport::shm {

ReadResult read_memory(pid_t pid, uint64_t remote, void* local, size_t length, std::string* why) {
  // The kernel moves at most 2 GiB less a page at once, and may stop earlier.
  constexpr size_t kAtOnce = size_t{1} << 30;
  size_t done = 0;
  while (done < length) {
    size_t now = std::min(length - done, kAtOnce);
    iovec to{static_cast<char*>(local) + done, now};
    iovec from{reinterpret_cast<void*>(remote + done), now};
    ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (n > 0) {
      done += static_cast<size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (errno == EPERM || errno == ENOSYS) return ReadResult::kUnsupported;
    *why = format("reading %s at 0x%llx of process id %d stopped after %zu: %m",
                  count_words(length, "byte").c_str(), static_cast<unsigned long long>(remote), pid,
                  done);
    return ReadResult::kFailed;
  }
  return ReadResult::kDone;
}

}  // namespace fgmpi::transport::shm
