// Engines make the system calls of a transfer (FGMPI_FILE_ENGINE), so that a rank that waits for a
// disk stops no other rank of its process.
//
//   uring     the rank gives a chain of calls to the kernel (io_uring) and parks; a thread that
//             waits in the kernel reports their completion. Calls that the kernel completes at
//             once, from its cache, involve no thread. A transfer of many calls goes to a thread,
//             which makes them faster.
//   threads   one of a few threads (proclet-sched/threads/blocking.h) makes all calls of the
//             transfer, the rank parks
//   direct    the rank makes the calls itself
//
// Where the kernel refuses io_uring (too old, or forbidden by a container), `uring` is `threads`;
// where no thread can be started, `threads` is `direct`. Ranks that are alone in their process, and
// threads of the program, make their calls directly: no other rank could run meanwhile, or no other
// rank needs their thread.
//
// Thread rule: run() may switch. Engines access a transfer only through perform().
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
  uint32_t count;  ///< number of vectors, at most IOV_MAX
  int64_t offset;  ///< -1: the file's present position (pipes)
  int64_t wanted;  ///< sum of the vectors' bytes
  int64_t result;  ///< bytes that were moved, or -errno
};

/// Makes the calls in order until one moves fewer bytes than it wants; the calls behind that one
/// are not made. Returns the number of calls that were made.
using MakeCalls = size_t (*)(SystemCall* calls, size_t count);
/// Makes the calls on the calling thread.
size_t make_calls_here(SystemCall* calls, size_t count);

/// Performs a transfer by the engine that the setting names. `call` is for reports. May switch.
void run(Transfer* transfer, const char* call);

namespace uring {
/// False where the kernel refuses io_uring, which is asked once.
bool available();
/// Makes the calls by io_uring. May switch. REQUIRES: available(), on a proclet of the scheduler's
/// thread.
size_t make_calls(SystemCall* calls, size_t count);
}  // namespace uring

}  // namespace fgmpi::file
