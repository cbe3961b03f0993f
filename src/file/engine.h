// Engines: who makes the system calls of a transfer (FGMPI_FILE_ENGINE), so that a rank that waits
// for a disk stops nobody else of its process.
//
//   uring     the rank gives a chain of calls to the kernel (io_uring) and parks; a thread that
//             waits in the kernel posts their completion. What the kernel completes at once, from
//             its cache, involves no thread. A transfer of many calls is for a thread, which makes
//             them faster.
//   threads   one of a few threads makes all calls of the transfer (proclet-sched/blocking.h), the
//             rank parks
//   direct    the rank makes them itself
//
// Where the kernel refuses io_uring (too old, or forbidden by a container), `uring` is `threads`;
// where no thread is to be had, `threads` is `direct`. Ranks that are alone in their process, and
// threads of the program, make their calls directly: nobody else could run meanwhile, or needs
// their thread.
//
// Thread rule: run() may switch. Engines touch nothing of a transfer but through perform().
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace fgmpi::file {

struct Transfer;

/// One preadv or pwritev.
struct SystemCall {
  int fd;
  bool write;
  const iovec* list;
  uint32_t count;  ///< of vectors, at most IOV_MAX
  int64_t offset;  ///< -1: where the file is (pipes)
  int64_t wanted;  ///< bytes of the vectors
  int64_t result;  ///< bytes that were moved, or -errno
};

/// Makes calls in order until one moves less than it wants; those behind it are not made. Returns
/// how many were made.
using MakeCalls = size_t (*)(SystemCall* calls, size_t count);
/// By this thread.
size_t make_calls_here(SystemCall* calls, size_t count);

/// Performs a transfer by the engine that the setting names. `call` is for reports. May switch.
void run(Transfer* transfer, const char* call);

namespace uring {
/// False where the kernel refuses io_uring. Asks once.
bool available();
/// May switch. REQUIRES: available(), on a proclet of the scheduler's thread.
size_t make_calls(SystemCall* calls, size_t count);
}  // namespace uring

}  // namespace fgmpi::file
