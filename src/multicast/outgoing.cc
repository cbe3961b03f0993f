// A transfer at its root: what it sends, what it repeats, and when it is over.

#include "multicast/outgoing.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fgmpi::multicast {
namespace {

constexpr int64_t kFirstPatience = 30'000'000;  ///< ns, before a round trip has been measured
/// The shortest patience (ns): about a time slice of other processes on the hosts.
constexpr int64_t kLeastPatience = 5'000'000;
constexpr int64_t kMostPatience = 500'000'000;  ///< ns
/// How long to wait when all members have a transfer, but not all have posted receives. Nothing
/// waits for the rest: it only ends the transfer's share of the quota. Members that have not posted
/// may be busy for long.
constexpr int64_t kPostedPatience = 50'000'000;  ///< ns
/// How long (ns) negative acknowledgements are gathered: members that miss the same packet ask
/// within this time.
constexpr int64_t kGather = 300'000;  ///< ns
/// Repairs of one packet to one member are at most two to this power of round trips apart.
constexpr int kMostDoublings = 8;
/// After this many polls without an answer, silent members are asked by unicast as well.
constexpr uint32_t kPollsByUnicast = 2;

}  // namespace

Outgoing::Outgoing(Context* context, uint64_t serial, const Match& match, const char* data,
                   size_t bytes, bool eager, TransferCompletion* completion)
    : FlowSender(context->flow),
      context_(context),
      serial_(serial),
      match_(match),
      data_(data),
      bytes_(bytes),
      packets_(context->packets_of(bytes)),
      completion_(completion),
      eager_(eager),
      members_(context->members) {
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
  if (TransferCompletion* c = std::exchange(completion_, nullptr))
    c->end(TransferCompletion::TransferOutcome::kDone);
}

DatagramHeader Outgoing::header(DatagramKind kind) const {
  DatagramHeader h = header_of(kind, serial_, bytes_, match_, context_->me);
  h.floor = floor_;
  return h;
}

void Outgoing::send_packets(uint32_t first, uint32_t count, uint8_t flags, uint32_t to_member) {
  DatagramHeader h = header(DatagramKind::kData);
  h.position = first;
  h.flags = flags;
  const size_t at = size_t{first} * context_->options.payload;
  const size_t length = std::min(count * context_->options.payload, bytes_ - at);
  if (to_member == kAll)
    context_->to_all(h, data_ + at, length);
  else
    context_->to_member(to_member, h, data_ + at, length);
}

size_t Outgoing::limit() const {
  const TransferOptions& o = context_->options;
  return (context_->bundles() ? o.most_bundled_window : o.most_window) * o.payload;
}

/// How many packets are sent in the next datagram.
uint32_t Outgoing::next_count() const {
  const uint32_t left = packets_ - next_;
  if (!context_->bundles()) return std::min(1u, left);
  // If a window holds no bundle, half of it is used at a time, so that acknowledgements arrive
  // while there is something under way.
  const size_t half = flow().window(limit()) / (2 * context_->options.payload);
  return std::min(
      {context_->options.bundle, left, static_cast<uint32_t>(std::max<size_t>(half, 1))});
}

/// True when this transfer's acknowledgements allow more to be sent. (What a silent member has not
/// acknowledged does not count as in flight.)
bool Outgoing::may_send_next() const {
  if (next_ == packets_ || next_ <= least_) return next_ < packets_;
  return (next_ - least_ + next_count()) * context_->options.payload <= limit();
}

/// Sends what the window allows, if no other transfer waits for it; else waits for a turn.
void Outgoing::pump(int64_t now) {
  if (!may_send() || delivered_) return;
  next_ = std::max(next_, least_);  // all members have abandoned a transfer that had hardly begun
  if (!flow().others_wait()) return begin_turn(now);
  if (may_send_next()) flow().wait(this, next_count() * context_->options.payload, limit());
}

/// Sends at its turn: a datagram at a time where other transfers wait, too.
void Outgoing::begin_turn(int64_t now) {
  if (!may_send() || delivered_) return;
  const size_t payload = context_->options.payload;
  flow().begin(payload, now);
  const size_t packets = flow().window(limit()) / payload;
  const uint32_t stride = std::max<uint32_t>(1, static_cast<uint32_t>(packets / 4));
  bool may_continue = true;
  while (may_continue && may_send_next()) {
    const uint32_t count = next_count(), past = next_ + count;
    if (!flow().may_send(count * payload, limit(), now)) {
      flow().wait(this, count * payload, limit());
      return;
    }
    record_reductions();
    const uint32_t from = std::exchange(next_, past);
    settle();
    may_continue = may_send_next();
    if (may_continue) {
      const size_t more = next_count() * payload;
      may_continue = !flow().others_wait() && flow().may_send(more, limit(), now);
      if (!may_continue) flow().wait(this, more, limit());
    }
    const size_t left = (packets_ - past) * payload;
    hurry_ = !eager_ || flow().others_wait() || 2 * (flow().open() + left) > flow().window(limit());
    const bool asks =
        past == packets_ || !may_continue || (hurry_ && past / stride != from / stride);
    if (asks && timed_at_ == kNever) timed_ = past - 1, timed_at_ = now;
    send_packets(from, count, !asks ? 0 : hurry_ ? kAckPlease : kAckPlease | kNoHurry, kAll);
    context_->counts.data += count;
    context_->counts.bundles += count > 1;
    flow().count_sent(count, context_->options.bundle);
    sent_at_ = now;
    poll_at_ = now + patience();
  }
}

/// Reports to the flow what this transfer has open (sent and not acknowledged), and in flight.
void Outgoing::settle() {
  const bool counts = next_ > least_ && !closed_ && !delivered_ && !abandoned_ && !silent_;
  const size_t payload = context_->options.payload;
  const uint32_t passed = std::min(std::max(passed_, least_), next_);
  flow().set_charge(this, counts ? (next_ - passed) * payload : 0,
                    counts ? (next_ - least_) * payload : 0);
}

/// Packets have left the network when all members that acknowledge to the root itself have seen
/// them, or later ones.
void Outgoing::record_seen(const DatagramHeader& h) {
  uint32_t& seen = members_[h.from].seen;
  seen = std::max(seen, static_cast<uint32_t>(
                            std::min<uint64_t>(std::max<uint64_t>(h.position, h.floor), next_)));
  if (seen <= passed_) return;
  uint32_t least = next_;
  context_->tree(context_->me).for_each_child(context_->me, [&](uint32_t m) {
    least = std::min(least, members_[m].seen);
  });
  passed_ = std::max(passed_, least);
}

/// Marks that what is sent from now on is sent after the last reduction of the window.
void Outgoing::record_reductions() {
  if (reductions_ == flow().reductions()) return;
  reductions_ = flow().reductions();
  recover_ = next_;
}

int64_t Outgoing::patience() const {
  const int64_t mean = flow().mean();
  const int64_t once =
      mean == 0 ? kFirstPatience
                : std::clamp(mean + 4 * flow().deviation(), kLeastPatience, kMostPatience);
  return std::min(once << std::min(polls_, 8u), kMostPatience);
}

void Outgoing::poll(int64_t now) {
  DatagramHeader h = header(DatagramKind::kPoll);
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
      const MemberProgress& member = members_[m];
      if (m == context_->me || (member.posted && member.acked == packets_)) continue;
      context_->to_member(m, h, posted.data(), length);
    }
  }
  ++polls_;
  poll_at_ = now + (delivered_ ? std::min(kPostedPatience << std::min(polls_, 8u), kMostPatience)
                               : patience());
}

void Outgoing::on_time(int64_t now) {
  if (closed_) return;
  if (repair_at_ <= now) resend(now);
  if (poll_at_ > now) return;
  if (next_ <= least_ &&
      flow().waits(*this)) {  // all that was sent has arrived; there is nothing to ask for
    poll_at_ = kNever;
    return;
  }
  if (next_ > least_ && polls_ > 0) {  // a second silence
    silent_ = true;
    // Members that acknowledge without hurry may compute by now: their silence proves nothing about
    // the network.
    if (hurry_) flow().silent(sent_at_, context_->options.payload, now);
    settle();
  }
  stop_timing();
  poll(now);
}

void Outgoing::receive_ack(const DatagramHeader& h, int64_t now) {
  if (closed_) return;
  ++context_->counts.acks_got;
  const uint32_t had_passed = passed_;
  record_seen(h);
  bool news = passed_ > had_passed;
  auto update = [&](uint32_t m) {
    if (m == context_->me) return;
    MemberProgress& member = members_[m];
    const uint32_t acked = std::min(h.position, packets_);
    news |= !member.known || acked > member.acked || ((h.flags & kPosted) && !member.posted);
    if (timed_at_ != kNever && h.flags & kAnswer && acked > timed_ && member.acked <= timed_)
      round_trip_ = now - timed_at_;
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
  silent_ = false;
  flow().heard(now);
  if (least_ > before) progressed(before);
  finish_if_delivered(now);
  if (!delivered_) {
    polls_ = 0;
    poll_at_ = now + patience();
  }
  settle();
  if (!closed_) pump(now);
}

/// Ends the measurement of a round trip: from now on an acknowledgement may be the answer to
/// something newer. Where members are many and losses frequent, hardly any packet arrives at all of
/// them at once: then the round trip is measured to the members at which it has arrived.
void Outgoing::stop_timing() {
  if (timed_at_ == kNever) return;
  if (round_trip_ > 0) flow().measure(round_trip_);
  round_trip_ = 0;
  timed_at_ = kNever;
}

void Outgoing::progressed(uint32_t before) {
  if (least_ > timed_) stop_timing();
  missing_.erase(missing_.begin(), missing_.lower_bound(least_));
  repaired_.erase(repaired_.begin(), repaired_.lower_bound({least_, 0}));
  const size_t payload = context_->options.payload, before_bytes = flow().in_flight();
  settle();
  flow().acknowledged((least_ - before) * payload, before_bytes, payload);
}

void Outgoing::finish_if_delivered(int64_t now) {
  if (least_ < packets_) return;
  if (!delivered_) {
    delivered_ = true;
    kept_.reset();
    data_ = nullptr;
    missing_.clear();
    repair_at_ = kNever;
    polls_ = 0;
    poll_at_ = now + kPostedPatience;
    if (TransferCompletion* c = std::exchange(completion_, nullptr))
      c->end(TransferCompletion::TransferOutcome::kDone);
  }
  closed_ = posted_by_all();
}

/// True when the loss of this packet is new to the window: it was sent after the window was
/// last reduced.
bool Outgoing::is_new_loss(uint32_t packet, int64_t repaired_at) const {
  return repaired_at ? repaired_at > flow().reduced_at()
                     : reductions_ == flow().reductions() && packet >= recover_;
}

/// When the packet was last sent again to the member; 0: never. *recent: the member's request is
/// older than that, or may be.
int64_t Outgoing::repaired_at(uint32_t packet, uint32_t member, int64_t now, bool* recent) const {
  int64_t last = 0;
  for (const uint32_t to : {member, kAll}) {
    const auto it = repaired_.find({packet, to});
    if (it == repaired_.end()) continue;
    const auto& [at, times] = it->second;
    const int64_t mean = flow().mean();
    const int64_t once = mean ? std::max(mean + 4 * flow().deviation(), kGather) : kFirstPatience;
    *recent |= now - at < once << std::min(times - 1, kMostDoublings);
    last = std::max(last, at);
  }
  return last;
}

void Outgoing::receive_nack(const DatagramHeader& h, const uint64_t* words, size_t count,
                            int64_t now) {
  if (closed_ || delivered_ || abandoned_) return;
  record_seen(h);
  bool is_new = false;
  for (size_t bit = 0; bit < 64 * count; ++bit) {
    if (!(words[bit / 64] >> bit % 64 & 1)) continue;
    const uint64_t wide = h.position + bit;
    if (wide >= next_) break;
    const auto packet = static_cast<uint32_t>(wide);
    if (packet < least_ || packet < members_[h.from].acked) continue;
    bool recent = false;
    const int64_t last = repaired_at(packet, h.from, now, &recent);
    if (recent) continue;
    std::vector<uint32_t>& who = missing_[packet];
    if (std::find(who.begin(), who.end(), h.from) != who.end()) continue;
    who.push_back(h.from);
    stop_timing();
    is_new |= is_new_loss(packet, last);
  }
  if (is_new && context_->trouble.reduces(h.from, &context_->random))
    flow().lost(context_->options.payload, now);
  if (!missing_.empty() && repair_at_ == kNever) repair_at_ = now + kGather;
  polls_ = 0;
  poll_at_ = now + patience();
  silent_ = false;
  flow().heard(now);
  settle();
}

/// Sends missing packets again, as far as the window allows now.
void Outgoing::resend(int64_t now) {
  const size_t payload = context_->options.payload;
  repair_at_ = kNever;
  while (!missing_.empty() && repair_at_ == kNever) {
    const auto [packet, who] = std::move(*missing_.begin());
    missing_.erase(missing_.begin());
    if (!missing_.empty()) repair_at_ = flow().next_repair(payload, limit(), now);
    repair(packet, who, missing_.empty() || repair_at_ != kNever ? kAckPlease : 0, now);
    sent_at_ = now;
  }
  poll_at_ = now + patience();
}

/// Sends a packet again. A packet that one member misses is sent to that member. One that has been
/// sent again to all, and has still not arrived, is sent to each: multicast may not reach these
/// members at all.
void Outgoing::repair(uint32_t packet, const std::vector<uint32_t>& who, uint8_t flags,
                      int64_t now) {
  auto send_again = [&](uint32_t to) {
    auto& [at, times] = repaired_[{packet, to}];
    at = now;
    ++times;
    send_packets(packet, 1, flags, to);
    ++context_->counts.repairs;
  };
  flow().count_repair(context_->options.bundle);
  if (who.size() > 1 && !repaired_.contains({packet, kAll})) {
    ++context_->counts.repairs_to_all;
    return send_again(kAll);
  }
  for (const uint32_t member : who)
    if (packet >= members_[member].acked) send_again(member);
}

void Outgoing::abandon(int64_t now) {
  if (closed_ || abandoned_) return;
  abandoned_ = true;
  missing_.clear();
  repair_at_ = kNever;
  polls_ = 0;
  flow().stop_waiting(this);
  settle();
  poll(now);
  if (TransferCompletion* c = std::exchange(completion_, nullptr))
    c->end(TransferCompletion::TransferOutcome::kGivenUp);
}

bool Outgoing::quiet() const {
  if (closed_) return true;
  const size_t others = members_.size() - 1;
  if (known_ < others || abandoned_) return false;
  return eager_ ? delivered_ : posted_ < others;
}

}  // namespace fgmpi::multicast
