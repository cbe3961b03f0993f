// The count of lost time slices, and how long polling then stops.

#include "transport/core_demand.h"

#include <sys/resource.h>

#include <algorithm>

namespace fgmpi::transport {

void CoreDemand::look(int64_t now) {
  next_look_ = now + kBetweenLooks;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage)) return;
  const auto ns = [](const timeval& t) { return t.tv_sec * 1'000'000'000 + t.tv_usec * 1'000; };
  judge(now, usage.ru_nivcsw, ns(usage.ru_utime) + ns(usage.ru_stime));
}

void CoreDemand::judge(int64_t now, int64_t taken, int64_t used) {
  // A single loss of the core may be due to any thread, also one of the kernel.
  const bool often = taken_ >= 0 && taken - taken_ > 1;
  if (!often && taken_ >= 0 && used - used_ < kWithin) return;
  const bool wanted = often && used - used_ < (taken - taken_) * kWithin;
  taken_ = taken;
  used_ = used;
  if (!wanted) return;
  if (now >= until_) {
    // Polling was tried for a shorter time than it had been stopped: in vain.
    const bool in_vain = now - until_ < hold_;
    hold_ = in_vain ? std::min(2 * hold_, kLongestHold) : kShortestHold;
  }
  until_ = now + hold_;
}

}  // namespace fgmpi::transport
