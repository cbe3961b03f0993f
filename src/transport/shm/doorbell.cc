// Ringing a sleeping peer, and the fence that the sleeper pays for.

#include "transport/shm/doorbell.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

#include "base/futex.h"
#include "base/settings.h"
#include "base/strings.h"

namespace fgmpi::transport::shm {
namespace {

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

bool register_barrier() {
  if (!settings::on(settings::kShmMembarrier)) return false;
  return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

void heavy_fence(bool registered) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (registered) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void ring(SegmentHeader* header, int pid, int* pipe) {
  // Acquires `pipe`, which the owner has set before it armed with kOnPipe.
  uint32_t how = header->armed.exchange(kAwake, std::memory_order_acq_rel);
  if (how == kOnFutex) {
    futex_wake(&header->armed, FutexScope::kShared);
  } else if (how == kOnPipe) {
    // The pipe is opened for reading, too: a write to a pipe whose reader was killed would
    // raise SIGPIPE.
    if (*pipe < 0)
      *pipe = ::open(format("/proc/%d/fd/%d", pid, header->pipe.load()).c_str(),
                     O_RDWR | O_NONBLOCK | O_CLOEXEC);
    // A full pipe wakes the reader like a byte in it. A reader that has ended is found by tick().
    char byte = 1;
    if (*pipe >= 0 && ::write(*pipe, &byte, 1) < 0) return;
  }
}

}  // namespace fgmpi::transport::shm
