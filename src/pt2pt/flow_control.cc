// Limits of flow control. See flow_control.h.

#include "pt2pt/flow_control.h"

#include <algorithm>

#include "base/settings.h"

namespace fgmpi::pt2pt {

void FlowControl::begin(uint32_t processes) {
  const uint64_t limit = settings::size(settings::kUnexpectedLimit);
  // Collocated: a copy of up to 64 KiB costs less than a program loses whose send waits although it
  // counts on its return, and MPICH's eager limit in shared memory is the same. Between processes
  // the transport decides: one frame, or several where a rendezvous takes as long.
  eager_local_ = settings::size(settings::kEagerLocal);
  const bool alone = processes < 2;
  limit_factor_ = 1;
  local_limit_ = alone ? limit : limit / 2;
  window_ = alone ? 0 : limit / 2 / (processes - 1);
  local_unexpected_ = 0;
}

void FlowControl::set_limits(int bit, const transport::FrameCarrier& transport) {
  const uint64_t remote = settings::size(settings::kEagerRemote);
  eager_remote_[bit] = std::min<uint64_t>(remote, transport.most_unasked());
  least_lent_[bit] = transport.least_lent();
  copied_remote_[bit] =
      std::min({eager_remote_[bit], uint64_t{transport.max_payload()}, least_lent_[bit] - 1});
}

void FlowControl::set_limits_of_others(const transport::FrameCarrier& others, bool shared) {
  const uint64_t remote =
      std::min<uint64_t>(settings::size(settings::kEagerRemote), others.max_payload());
  eager_remote_[1] = shared ? std::min(eager_remote_[1], remote) : remote;
  least_lent_[1] = others.least_lent();
  copied_remote_[1] =
      std::min({eager_remote_[1], uint64_t{others.max_payload()}, least_lent_[1] - 1});
}

void FlowControl::set_processes(uint32_t processes) {
  const uint64_t limit = settings::size(settings::kUnexpectedLimit);
  window_ = processes < 2 ? 0 : limit * limit_factor_ / 2 / (processes - 1);
}

void FlowControl::multiply_limits(uint64_t factor) {
  constexpr uint64_t kMost = uint64_t{1} << 50;
  if (local_limit_ >= kMost || window_ >= kMost) return;
  limit_factor_ *= factor;
  local_limit_ *= factor;
  window_ *= factor;
}

}  // namespace fgmpi::pt2pt
