#include "transport/multicast/outgoing.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fgmpi::transport::multicast {
namespace {

constexpr double kLeastWindow = 4;
constexpr int64_t kFirstPatience = 30'000'000;  ///< ns, before a round trip has been measured
constexpr int64_t kLeastPatience = 5'000'000;   ///< ns: time slices of other processes on the hosts
constexpr int64_t kMostPatience = 500'000'000;  ///< ns
/// How long negative acknowledgements are gathered: several members that miss the same packet ask within it.
constexpr int64_t kGather = 300'000;  ///< ns
/// More are dropped: members ask again.
constexpr size_t kMostMissing = 1 << 16;
/// After many packets of bundles have got lost, so many go out one by one; twice as many the next time.
constexpr uint64_t kFirstSmall = 1024, kMostSmall = 1 << 20;
/// After so many polls without an answer those who are silent are asked by unicast as well.
constexpr uint32_t kPollsByUnicast = 2;

}  // namespace

Outgoing::Outgoing(Context* context, uint64_t serial, const Match& match, const char* data,
                   size_t bytes, bool eager, Completion* completion)
    : context_(context),
      serial_(serial),
      match_(match),
      data_(data),
      bytes_(bytes),
      packets_(context->packets_of(bytes)),
      completion_(completion),
      eager_(eager),
      members_(context->members),
      threshold_(most_window()) {
  window_ = std::min<double>(window_, most_window());
  if (!eager) return;
  kept_ = std::make_unique<char[]>(bytes + 1);
  if (bytes) std::memcpy(kept_.get(), data, bytes);
  data_ = kept_.get();
}

void Outgoing::start(uint64_t floor, int64_t now) {
  floor_ = floor;
  if (members_.size() == 1) {
    delivered_ = closed_ = true;
  } else if (eager_) {
    pump(now);
  } else {
    poll(now);
    polls_ = 0;
  }
  if (!eager_ && !delivered_) return;
  if (Completion* c = std::exchange(completion_, nullptr)) c->end(Completion::Outcome::kDone);
}

Header Outgoing::header(Kind kind) const {
  Header h = header_of(kind, serial_, bytes_, match_, context_->me);
  h.floor = floor_;
  return h;
}

void Outgoing::send_packets(uint32_t first, uint32_t count, uint8_t flags, int32_t to_member) {
  Header h = header(Kind::kData);
  h.position = first;
  h.flags = flags;
  const size_t at = size_t{first} * context_->options.payload;
  const size_t length = std::min(count * context_->options.payload, bytes_ - at);
  if (to_member == kAll)
    context_->to_all(h, data_ + at, length);
  else
    context_->to_member(static_cast<uint32_t>(to_member), h, data_ + at, length);
}

/// Sends what the window allows.
void Outgoing::pump(int64_t now) {
  if (!may_send() || delivered_) return;
  const uint32_t width = static_cast<uint32_t>(window_);
  next_ = std::max(next_, least_);  // all members have given up a transfer that had hardly begun
  const uint32_t end = std::min(packets_, least_ + width);
  const uint32_t stride = std::max(1u, width / 4);
  const uint32_t bundle = context_->bundles() ? context_->options.bundle : 1;
  bool sent = false;
  while (next_ < end) {
    const uint32_t count = std::min(bundle, end - next_), past = next_ + count;
    // The rest of the window waits until it is a bundle, unless acknowledgements wait for it.
    if (count < bundle && past < packets_ && next_ > least_) break;
    const bool asks = past + bundle > end || past / stride != next_ / stride;
    if (asks && timed_at_ == kNever) timed_ = past - 1, timed_at_ = now;
    send_packets(next_, count, asks ? kAckPlease : 0, kAll);
    count_sent(count);
    next_ = past;
    sent = true;
  }
  if (sent) poll_at_ = now + patience();
}

uint32_t Outgoing::most_window() const {
  const Options& o = context_->options;
  return context_->bundles() ? o.most_bundled_window : o.most_window;
}

void Outgoing::count_sent(uint32_t packets) {
  Losses& l = *context_->losses;
  context_->counts.data += packets;
  context_->counts.bundles += packets > 1;
  if (!context_->bundles()) {
    l.small -= std::min<uint64_t>(l.small, packets);
    return;
  }
  l.sent += packets;
  if (l.sent < 256 * context_->options.bundle) return;
  l.sent /= 2;
  l.repaired /= 2;
}

/// Bundles are not worth it where more than one packet in sixteen has to be sent again.
void Outgoing::count_repair() {
  Losses& l = *context_->losses;
  if (!context_->bundles() || 16 * ++l.repaired <= l.sent + 16 * context_->options.bundle) return;
  const uint64_t small = std::clamp(l.next_small, kFirstSmall, kMostSmall);
  l = {0, 0, small, 2 * small};
}

int64_t Outgoing::patience() const {
  const int64_t once = mean_ == 0
                           ? kFirstPatience
                           : std::clamp(mean_ + 4 * deviation_, kLeastPatience, kMostPatience);
  return std::min(once << std::min(polls_, 8u), kMostPatience);
}

void Outgoing::poll(int64_t now) {
  Header h = header(Kind::kPoll);
  h.position = next_;
  h.flags = static_cast<uint8_t>((abandoned_ ? kAbandoned : 0) | (polls_ > 0 ? kDirect : 0));
  std::vector<uint64_t> posted((members_.size() + 63) / 64);
  for (size_t m = 0; m < members_.size(); ++m)
    if (members_[m].posted) posted[m / 64] |= uint64_t{1} << m % 64;
  const size_t length = posted.size() * sizeof(uint64_t);
  context_->to_all(h, posted.data(), length);
  ++context_->counts.polls;
  if (polls_ >= kPollsByUnicast) {
    for (uint32_t m = 0; m < members_.size(); ++m) {
      const Member& member = members_[m];
      if (m == context_->me || (member.posted && member.acked == packets_)) continue;
      context_->to_member(m, h, posted.data(), length);
    }
  }
  ++polls_;
  poll_at_ = now + patience();
}

void Outgoing::on_time(int64_t now) {
  if (closed_) return;
  if (repair_at_ <= now) repair(now);
  if (poll_at_ > now) return;
  if (next_ > least_ && polls_ > 0) {  // silence for a second time: what is under way is lost
    threshold_ = std::max(kLeastWindow, window_ / 2);
    window_ = kLeastWindow;
    recover_ = next_;
  }
  timed_at_ = kNever;
  poll(now);
}

void Outgoing::measure(int64_t round_trip) {
  if (mean_ == 0) {
    mean_ = std::max<int64_t>(round_trip, 1);
    deviation_ = round_trip / 2;
    return;
  }
  const int64_t off = round_trip - mean_;
  mean_ += off / 8;
  deviation_ += ((off < 0 ? -off : off) - deviation_) / 4;
}

void Outgoing::take_ack(const Header& h, int64_t now) {
  if (closed_) return;
  ++context_->counts.acks_got;
  bool news = false;
  auto update = [&](uint32_t m) {
    if (m == context_->me) return;
    Member& member = members_[m];
    const uint32_t acked = std::min(h.position, packets_);
    news |= !member.known || acked > member.acked || ((h.flags & kPosted) && !member.posted);
    known_ += !member.known;
    member.known = true;
    member.acked = std::max(member.acked, acked);
    if (!(h.flags & kPosted) || member.posted) return;
    member.posted = true;
    ++posted_;
  };
  if (h.flags & kWhole)
    context_->tree(context_->me).for_each_below(h.from, update);
  else
    update(h.from);
  if (!news) return;
  const uint32_t before = least_;
  uint32_t least = packets_;
  for (uint32_t m = 0; m < members_.size(); ++m)
    if (m != context_->me) least = std::min(least, members_[m].acked);
  least_ = least;
  polls_ = 0;
  poll_at_ = now + patience();
  if (least_ > before) progressed(before, now);
  finish_if_delivered();
  if (!closed_) pump(now);
}

void Outgoing::progressed(uint32_t before, int64_t now) {
  if (timed_at_ != kNever && least_ > timed_) {
    measure(now - timed_at_);
    timed_at_ = kNever;
  }
  const double fresh = least_ - before;
  window_ += window_ < threshold_ ? fresh : fresh / window_;
  window_ = std::min<double>(window_, most_window());
}

void Outgoing::finish_if_delivered() {
  if (least_ < packets_) return;
  if (!delivered_) {
    delivered_ = true;
    kept_.reset();
    data_ = nullptr;
    missing_.clear();
    repair_at_ = kNever;
    if (Completion* c = std::exchange(completion_, nullptr)) c->end(Completion::Outcome::kDone);
  }
  closed_ = taken_by_all();
}

/// Halves the window, once a window.
void Outgoing::lost(uint32_t packet) {
  if (packet < recover_) return;
  threshold_ = window_ = std::max(kLeastWindow, window_ / 2);
  recover_ = next_;
  timed_at_ = kNever;
}

void Outgoing::take_nack(const Header& h, const uint64_t* words, size_t count, int64_t now) {
  if (closed_ || delivered_ || abandoned_) return;
  for (size_t bit = 0; bit < 64 * count; ++bit) {
    if (!(words[bit / 64] >> bit % 64 & 1)) continue;
    const uint64_t packet = h.position + bit;
    if (packet >= next_) break;
    if (packet < members_[h.from].acked) continue;
    if (!recent_.empty()) {
      const Repaired& r = recent_[packet % kRecent];
      if (r.packet == packet && now - r.at < std::max<int64_t>(mean_ / 2, kGather)) continue;
    }
    if (missing_.size() >= kMostMissing) break;
    missing_.push_back({static_cast<uint32_t>(packet), h.from});
    lost(static_cast<uint32_t>(packet));
  }
  if (!missing_.empty() && repair_at_ == kNever) repair_at_ = now + kGather;
  polls_ = 0;
  poll_at_ = now + patience();
}

void Outgoing::repair(int64_t now) {
  repair_at_ = kNever;
  std::sort(missing_.begin(), missing_.end());
  missing_.erase(std::unique(missing_.begin(), missing_.end()), missing_.end());
  if (recent_.empty()) recent_.resize(kRecent);
  for (size_t i = 0, end; i < missing_.size(); i = end) {
    const uint32_t packet = missing_[i].packet;
    for (end = i + 1; end < missing_.size() && missing_[end].packet == packet;) ++end;
    Repaired& recent = recent_[packet % kRecent];
    const uint8_t flags = end == missing_.size() ? kAckPlease : 0;
    // What has been sent to all twice, and has still not come, is sent to each: multicast may not reach them at all.
    count_repair();
    if (end - i > 1 && recent.packet != packet) {
      send_packets(packet, 1, flags, kAll);
      ++context_->counts.repairs;
      ++context_->counts.repairs_to_all;
      recent = {packet, now};
      continue;
    }
    for (size_t k = i; k < end; ++k) {
      send_packets(packet, 1, flags, static_cast<int32_t>(missing_[k].member));
      ++context_->counts.repairs;
    }
  }
  missing_.clear();
  poll_at_ = now + patience();
}

void Outgoing::abandon(int64_t now) {
  if (closed_ || abandoned_) return;
  abandoned_ = true;
  missing_.clear();
  repair_at_ = kNever;
  polls_ = 0;
  poll(now);
  if (Completion* c = std::exchange(completion_, nullptr)) c->end(Completion::Outcome::kGivenUp);
}

bool Outgoing::quiet() const {
  if (closed_) return true;
  const size_t others = members_.size() - 1;
  if (known_ < others || abandoned_) return false;
  return eager_ ? delivered_ : posted_ < others;
}

}  // namespace fgmpi::transport::multicast
