#include "transport/shm/doorbell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <string_view>

#include "base/clock.h"
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

void futex_wait(std::atomic<uint32_t>* word, uint32_t value, int64_t timeout_ns) {
  const timespec timeout = to_timespec(timeout_ns < 0 ? 0 : timeout_ns);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT, value,
          timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void ring(SegmentHeader* header, int pid, int* pipe) {
  uint32_t how = header->armed.exchange(kAwake, std::memory_order_seq_cst);
  if (how == kOnFutex) {
    futex_wake(&header->armed);
  } else if (how == kOnPipe) {
    if (*pipe < 0)
      *pipe = ::open(format("/proc/%d/fd/%d", pid, header->pipe.load()).c_str(),
                     O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    // A full pipe is as good as a byte in it; a reader that is gone is found by the look-out for
    // the dead.
    char byte = 1;
    if (*pipe >= 0 && ::write(*pipe, &byte, 1) < 0) return;
  }
}

}  // namespace fgmpi::transport::shm
