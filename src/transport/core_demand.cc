// What the kernel says about a thread's waits for a core, and how long polling then stops.

#include "transport/core_demand.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/raw_call.h"

namespace fgmpi::transport {

namespace {

/// Reads the numbers of the calling thread: ns that it ran, ns that it waited for a core. False
/// where the kernel does not count them.
bool read_schedstat(int64_t* ran, int64_t* delayed) {
  const long fd =
      raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/thread-self/schedstat"),
               O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[96];
  const long bytes = raw_call(SYS_read, fd, reinterpret_cast<long>(text), sizeof text);
  raw_call(SYS_close, fd);
  if (bytes <= 0) return false;
  const char* const end = text + bytes;
  const auto first = std::from_chars(text, end, *ran);
  if (first.ec != std::errc() || first.ptr == end) return false;
  return std::from_chars(first.ptr + 1, end, *delayed).ec == std::errc();
}

}  // namespace

void CoreDemand::measure(int64_t now) {
  int64_t ran = 0, delayed = 0;
  if (!read_schedstat(&ran, &delayed)) {
    next_check_ = INT64_MAX;
    return;
  }
  next_check_ = now + kBetweenLooks;
  judge(now, raw_call(SYS_gettid), delayed, ran);
}

void CoreDemand::judge(int64_t now, int64_t thread, int64_t delayed, int64_t ran) {
  const bool same = thread == thread_;
  const bool wanted =
      same && delayed - delayed_ >= kLeastDelay && delayed - delayed_ > (ran - ran_) / 2;
  if (same && !wanted && ran - ran_ < kWithin) return;
  thread_ = thread;
  delayed_ = delayed;
  ran_ = ran;
  if (!wanted) return;
  if (now >= until_) {
    // Polling was tried for a shorter time than it had been stopped: in vain.
    const bool in_vain = now - until_ < hold_;
    hold_ = in_vain ? std::min(2 * hold_, kLongestHold) : kShortestHold;
  }
  until_ = now + hold_;
}

}  // namespace fgmpi::transport
