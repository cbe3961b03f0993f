// The congestion window that all transfers of a process share.

#include "multicast/macroflow.h"

#include <algorithm>
#include <utility>

namespace fgmpi::multicast {
namespace {

/// The first window and the smallest one, in packets.
constexpr double kFirstWindow = 32, kLeastWindow = 4;
constexpr double kNoThreshold = 1e18;
/// The shortest assumed round trip (ns): as long as negative acknowledgements are gathered.
constexpr int64_t kLeastRoundTrip = 300'000;
/// After this time (ns) without anything open, the window returns to its first value.
constexpr int64_t kOutOfDate = 1'000'000'000;
/// After many packets of bundles have been lost, this many are sent one by one; twice as many
/// the next time.
constexpr uint64_t kFirstSmall = 1024, kMostSmall = 1 << 20;

/// A parameter of the random listening algorithm: members that report a kTroubled-th of the worst
/// one's losses count as troubled.
constexpr float kTroubled = 20;
/// After this many reports of one member, the reports of all count half.
constexpr float kManyReports = 32;

}  // namespace

bool Trouble::reduces(uint32_t member, RandomSequence* random) {
  signals_[member] += 1;
  const float worst = *std::max_element(signals_.begin(), signals_.end());
  uint64_t troubled = 0;
  for (float& signals : signals_) {
    troubled += kTroubled * signals >= worst;
    if (worst > kManyReports) signals /= 2;
  }
  return random->next() % troubled == 0;
}

Macroflow::FlowSender::~FlowSender() {
  flow_->stop_waiting(this);
  flow_->set_charge(this, 0, 0);
}

void Macroflow::begin(size_t packet, int64_t now) {
  if (open_ == 0 && (window_ == 0 || now - used_at_ > kOutOfDate)) {
    window_ = kFirstWindow * static_cast<double>(packet);
    threshold_ = kNoThreshold;
  }
  used_at_ = now;
}

void Macroflow::wait(FlowSender* sender, size_t bytes, size_t limit) {
  sender->wants_ = bytes;
  sender->limit_ = limit;
  if (!std::exchange(sender->waits_, true)) waiting_.push_back(sender);
}

void Macroflow::stop_waiting(FlowSender* sender) {
  if (std::exchange(sender->waits_, false)) waiting_.remove(sender);
}

void Macroflow::serve(int64_t now) {
  if (serving_) return;
  serving_ = true;
  while (FlowSender* first = waiting_.front()) {
    if (!may_send(first->wants_, first->limit_, now)) break;
    stop_waiting(first);
    ++turns_;
    first->begin_turn(now);
  }
  serving_ = false;
}

void Macroflow::acknowledged(size_t bytes, size_t before, size_t packet) {
  if (waiting_.empty() && 2 * static_cast<double>(before) < window_) return;
  const auto fresh = static_cast<double>(bytes);
  window_ += window_ < threshold_ ? fresh : fresh * static_cast<double>(packet) / window_;
}

void Macroflow::reduce(double window, int64_t now) {
  window_ = window;
  reduced_at_ = now;
  ++reductions_;
}

void Macroflow::lost(size_t packet, int64_t now) {
  threshold_ = std::max(kLeastWindow * static_cast<double>(packet), window_ / 2);
  reduce(threshold_, now);
}

void Macroflow::silent(int64_t sent_at, size_t packet, int64_t now) {
  if (heard_at_ >= sent_at || reduced_at_ >= sent_at) return;
  const double least = kLeastWindow * static_cast<double>(packet);
  threshold_ = std::max(least, window_ / 2);
  reduce(least, now);
}

int64_t Macroflow::round_trip() const { return std::max(mean_, kLeastRoundTrip); }

/// Limits repairs by a bucket that holds half a window; a window flows out of it in a round trip.
int64_t Macroflow::next_repair(size_t packet, size_t limit, int64_t now) {
  const size_t packets = std::max<size_t>(1, window(limit) / packet);
  repaired_until_ = std::max(repaired_until_, now) + round_trip() / static_cast<int64_t>(packets);
  return repaired_until_ <= now + round_trip() / 2 ? INT64_MAX : repaired_until_ - round_trip() / 2;
}

/// The bytes in the bucket of repairs.
size_t Macroflow::repairing(size_t limit, int64_t now) const {
  if (repaired_until_ <= now) return 0;
  return static_cast<size_t>(static_cast<double>(window(limit)) *
                             static_cast<double>(repaired_until_ - now) /
                             static_cast<double>(round_trip()));
}

void Macroflow::measure(int64_t round_trip) {
  if (mean_ == 0) {
    mean_ = std::max<int64_t>(round_trip, 1);
    deviation_ = round_trip / 2;
    return;
  }
  const int64_t off = round_trip - mean_;
  mean_ = std::max<int64_t>(mean_ + off / 8, 1);
  deviation_ += ((off < 0 ? -off : off) - deviation_) / 4;
}

void Macroflow::count_sent(uint32_t packets, uint32_t bundle) {
  if (!bundles()) {
    small_ -= std::min<uint64_t>(small_, packets);
    return;
  }
  sent_ += packets;
  if (sent_ < 256 * bundle) return;
  sent_ /= 2;
  repaired_ /= 2;
}

/// Counts a repair. Bundles do not pay where more than one packet in sixteen has to be sent again.
void Macroflow::count_repair(uint32_t bundle) {
  if (!bundles() || 16 * ++repaired_ <= sent_ + 16 * bundle) return;
  small_ = std::clamp(next_small_, kFirstSmall, kMostSmall);
  next_small_ = 2 * small_;
  sent_ = repaired_ = 0;
}

}  // namespace fgmpi::multicast
