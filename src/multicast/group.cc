// The state machine of a group: its transfers, floors and frontiers.

#include "multicast/group.h"

#include <algorithm>
#include <cstring>

namespace fgmpi::multicast {
namespace {

/// Most transfers of a root that a member records before it has finished them; further ones are
/// refused until the root repeats them. Far more than there are collectives under way.
constexpr size_t kMostOpen = 1 << 20;

}  // namespace

void TransferGroup::send(const Match& match, const char* data, size_t bytes,
                         TransferCompletion* completion, int64_t now) {
  const size_t packets = context_.packets_of(bytes);
  const TransferOptions& o = context_.options;
  const bool eager =
      !expects_joins_ && bytes <= o.eager && quota_used() + packets * o.payload <= o.eager_quota;
  const uint64_t serial = next_serial_++;
  Outgoing& out =
      outgoing_.try_emplace(serial, &context_, serial, match, data, bytes, eager, completion)
          .first->second;
  out.start(outgoing_.begin()->first, now);
  drop_closed();
  context_.flow->serve(now);
}

size_t TransferGroup::quota_used() const {
  size_t bytes = 0;
  for (const auto& [serial, out] : outgoing_) bytes += out.quota();
  return bytes;
}

void TransferGroup::receive(uint32_t root, const Match& match, char* data, size_t bytes,
                            TransferCompletion* completion, int64_t) {
  RootTransfers& source = sources_[root];
  for (auto& [serial, in] : source.open) {
    if (serial >= source.frontier) break;
    if (in.posted() || !in.match().finds(match)) continue;
    return give(&in, {match, data, bytes, completion});
  }
  source.posted.push_back({match, data, bytes, completion});
}

void TransferGroup::expect(uint32_t root, const Match& match, TransferCompletion* completion) {
  receive(root, match, nullptr, kExpected, completion, 0);
}

void TransferGroup::give(Incoming* in, const PostedTransfer& posted) {
  if (!in->match().agrees(posted.match)) return in->refuse(posted.completion);
  if (posted.bytes != kExpected) return in->post(posted.data, posted.bytes, posted.completion);
  posted.completion->bytes = in->total();
  posted.completion->end(TransferCompletion::TransferOutcome::kAnnounced);
}

void TransferGroup::expect_joins() {
  expects_joins_ = true;
  for (uint32_t m = 0; m < context_.members; ++m)
    if (m != context_.me) doubt(m);
}

bool TransferGroup::is_possible(const DatagramHeader& h, size_t length) const {
  const uint32_t me = context_.me;
  if (h.group != context_.id || h.root >= context_.members || h.from >= context_.members ||
      h.from == me || h.serial == 0 || h.total / context_.options.payload >= kMostPackets)
    return false;
  switch (h.kind) {
    case DatagramKind::kData:
      return h.from == h.root && h.floor <= h.serial &&
             length <= context_.options.payload * context_.options.bundle;
    case DatagramKind::kPoll:
      return h.from == h.root && length == (context_.members + 63) / 64 * 8 && h.floor <= h.serial;
    case DatagramKind::kAck:
      return h.root == me ? h.serial < next_serial_ : context_.tree(h.root).is_child(me, h.from);
    case DatagramKind::kNack:
      return h.root == me && h.serial < next_serial_;
    case DatagramKind::kProbe:
      return false;
  }
  return false;
}

void TransferGroup::receive_datagram(const DatagramHeader& h, const char* payload, size_t length,
                                     int64_t now) {
  if (!is_possible(h, length)) {
    ++context_.counts.refused;
    return;
  }
  if (h.root == context_.me) return receive_as_root(h, payload, length, now);
  Incoming* in = find_or_add(h);
  if (!in) return;
  switch (h.kind) {
    case DatagramKind::kData:
      return in->receive_data(h, payload, length, now);
    case DatagramKind::kPoll: {
      uint64_t words[1024];
      std::memcpy(words, payload, std::min(length, sizeof words));
      return in->receive_poll(h, words, std::min(length, sizeof words) / 8, now);
    }
    case DatagramKind::kAck:
      return in->receive_ack(h);
    default:
      return;
  }
}

void TransferGroup::receive_as_root(const DatagramHeader& h, const char* payload, size_t length,
                                    int64_t now) {
  if (h.kind == DatagramKind::kAck) {
    const bool outside = h.flags & kOutside;
    if (h.flags & kWhole)
      context_.tree(h.root).for_each_below(h.from,
                                           [&](uint32_t m) { context_.set_outside(m, outside); });
    else
      context_.set_outside(h.from, outside);
  }
  auto it = outgoing_.find(h.serial);
  if (it == outgoing_.end()) return;
  if (h.kind == DatagramKind::kAck) {
    it->second.receive_ack(h, now);
  } else {
    uint64_t words[kMostNackWords];
    std::memcpy(words, payload, length);
    it->second.receive_nack(h, words, length / 8, now);
  }
  drop_closed();
  context_.flow->serve(now);
}

/// Drops closed transfers, and sets the floor of the others.
void TransferGroup::drop_closed() {
  const bool first_closed = !outgoing_.empty() && outgoing_.begin()->second.closed();
  for (const auto& [serial, out] : outgoing_) expects_joins_ &= !out.posted_by_all();
  std::erase_if(outgoing_, [](const auto& entry) { return entry.second.closed(); });
  if (!first_closed) return;
  const uint64_t floor = outgoing_.empty() ? next_serial_ : outgoing_.begin()->first;
  for (auto& [serial, out] : outgoing_) out.set_floor(floor);
}

/// Finds the record of the transfer that a datagram is about, or adds one; nullptr: the transfer is
/// over, or the datagram contradicts its record.
Incoming* TransferGroup::find_or_add(const DatagramHeader& h) {
  RootTransfers& source = sources_[h.root];
  if (h.kind != DatagramKind::kAck) raise_floor(&source, h.floor);
  if (h.serial < source.floor) return nullptr;
  auto it = source.open.find(h.serial);
  if (it == source.open.end()) {
    if (source.open.size() >= kMostOpen) return nullptr;
    it = source.open.try_emplace(h.serial, &context_, h).first;
    advance_frontier(&source);
  }
  if (it->second.contradicts(h)) {
    ++context_.counts.refused;
    return nullptr;
  }
  return &it->second;
}

void TransferGroup::raise_floor(RootTransfers* source, uint64_t floor) {
  if (floor <= source->floor) return;
  source->floor = floor;
  source->open.erase(source->open.begin(), source->open.lower_bound(floor));
  if (floor > source->frontier) {
    source->frontier = floor;
    advance_frontier(source);
  }
}

/// Gives transfers that have become known, without a gap before them, to the receives that
/// wait for them.
void TransferGroup::advance_frontier(RootTransfers* source) {
  for (auto it = source->open.lower_bound(source->frontier);
       it != source->open.end() && it->first == source->frontier; ++it) {
    ++source->frontier;
    Incoming& in = it->second;
    if (in.posted()) continue;
    auto waiting = std::find_if(source->posted.begin(), source->posted.end(),
                                [&](const PostedTransfer& p) { return p.match.finds(in.match()); });
    if (waiting == source->posted.end()) {
      context_.wire->unexpected(in.root(), in.match());
      continue;
    }
    const PostedTransfer p = *waiting;
    source->posted.erase(waiting);
    give(&in, p);
  }
}

void TransferGroup::on_time(int64_t now) {
  for (auto& [serial, out] : outgoing_)
    if (out.next_time() <= now) out.on_time(now);
  for (RootTransfers& source : sources_)
    for (auto& [serial, in] : source.open)
      if (in.next_time() <= now) in.on_time(now);
  context_.flow->serve(now);
}

int64_t TransferGroup::next_time() const {
  int64_t next = kNever;
  for (const auto& [serial, out] : outgoing_) next = std::min(next, out.next_time());
  for (const RootTransfers& source : sources_)
    for (const auto& [serial, in] : source.open) next = std::min(next, in.next_time());
  return next;
}

void TransferGroup::give_up(uint64_t ctx, int32_t tag, int32_t mask, int64_t now) {
  auto is_meant = [&](const Match& m) { return m.ctx == ctx && ((m.tag ^ tag) & ~mask) == 0; };
  for (auto& [serial, out] : outgoing_)
    if (is_meant(out.match())) out.abandon(now);
  drop_closed();
  context_.flow->serve(now);
  for (RootTransfers& source : sources_) {
    for (auto& [serial, in] : source.open)
      if (!(in.posted() && in.complete()) && is_meant(in.match())) in.discard();
    for (auto it = source.posted.begin(); it != source.posted.end();) {
      if (!is_meant(it->match)) {
        ++it;
        continue;
      }
      TransferCompletion* completion = it->completion;
      it = source.posted.erase(it);
      completion->end(TransferCompletion::TransferOutcome::kGivenUp);
    }
  }
}

bool TransferGroup::quiet() const {
  for (const auto& [serial, out] : outgoing_)
    if (!out.quiet()) return false;
  for (const RootTransfers& source : sources_) {
    // A receive waits for a transfer behind a gap: datagrams of the transfers before it
    // are under way.
    if (!source.posted.empty() && !source.open.empty() &&
        source.open.rbegin()->first >= source.frontier)
      return false;
    for (const auto& [serial, in] : source.open)
      if (!in.quiet()) return false;
  }
  return true;
}

bool TransferGroup::delivered() const {
  for (const auto& [serial, out] : outgoing_)
    if (!out.delivered() && !out.abandoned()) return false;
  return true;
}

bool TransferGroup::acknowledged() const {
  for (const RootTransfers& source : sources_)
    for (const auto& [serial, in] : source.open)
      if (!in.acknowledged()) return false;
  return true;
}

DatagramHeader answer_for_forgotten(const DatagramHeader& asked, uint32_t me) {
  DatagramHeader h = asked;
  h.kind = DatagramKind::kAck;
  h.flags = kPosted;
  h.position = ~0u;
  h.floor = 0;
  h.from = static_cast<uint16_t>(me);
  return h;
}

}  // namespace fgmpi::multicast
