// A transfer at a receiver: its data, gaps and acknowledgements.

#include "multicast/incoming.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fgmpi::multicast {
namespace {

/// The first request for missing packets is delayed by a random time between these (ns). A packet
/// that is only late arrives before the least time. Of many members that miss one packet, few ask
/// before it is sent again.
constexpr int64_t kLeastDelay = 100'000, kMostDelay = 500'000;
constexpr int64_t kLeastInterval = 2'000'000;   ///< ns: of further requests
constexpr int64_t kMostInterval = 200'000'000;  ///< ns

}  // namespace

Incoming::Incoming(Context* context, const DatagramHeader& h)
    : context_(context),
      root_(h.root),
      serial_(h.serial),
      match_(match_of(h)),
      total_(h.total),
      packets_(context->packets_of(h.total)),
      data_expected_(h.kind == DatagramKind::kData && h.total <= context->options.eager) {
  context->tree(root_).for_each_child(context->me, [&](uint32_t child) {
    children_.push_back({child, 0, false, false, false});
  });
}

DatagramHeader Incoming::answer(DatagramKind kind) const {
  DatagramHeader h = header_of(kind, serial_, total_, match_, root_);
  h.position = in_row_;
  h.floor = std::max(in_row_, seen_past_);
  return h;
}

void Incoming::receive_data(const DatagramHeader& h, const char* payload, size_t length,
                            int64_t now) {
  const size_t each = context_->options.payload;
  const uint32_t count = length == 0 ? 1 : static_cast<uint32_t>((length + each - 1) / each);
  if (h.position >= packets_ || count > packets_ - h.position ||
      length != std::min<uint64_t>(count * each, total_ - h.position * each)) {
    ++context_->counts.refused;
    return;
  }
  const bool asks = h.flags & kAckPlease;
  if (asks) hurry_ = !(h.flags & kNoHurry);
  if (complete()) {
    if (asks) ack_to_parent(true, true);
    return;
  }
  if (!target_) {
    if (total_ > context_->options.eager) return;  // the root waits for a receive
    kept_ = std::make_unique<char[]>(total_ + 1);
    target_ = kept_.get();
  }
  data_expected_ = true;
  if (have_.empty()) have_.resize((packets_ + 63) / 64);
  seen_past_ = std::max(seen_past_, h.position + count);
  const bool had_gap = nack_at_ != kNever;
  bool fresh = false;
  for (uint32_t p = h.position; p < h.position + count; ++p) {
    if (has(p)) continue;
    fresh = true;
    const size_t from = (p - h.position) * each;
    if (length) std::memcpy(target_ + p * each, payload + from, std::min(each, length - from));
    have_[p / 64] |= uint64_t{1} << p % 64;
  }
  while (in_row_ < packets_ && has(in_row_)) ++in_row_;
  plan_nack(fresh, now);
  // After a repair the root waits for an acknowledgement, whether it has asked for one or not.
  if (asks || (had_gap && in_row_ > h.position)) ack_to_parent(asks, asks);
  finish_if_complete();
}

/// Plans requests for missing packets. `fresh`: the network delivers packets here, so a packet that
/// is still missing has been lost once more, and is not only late.
void Incoming::plan_nack(bool fresh, int64_t now) {
  if (in_row_ >= seen_past_) {
    nack_at_ = kNever;
    nack_interval_ = 0;
  } else if (nack_at_ == kNever) {
    nack_at_ = now + kLeastDelay +
               static_cast<int64_t>(context_->random.next() % (kMostDelay - kLeastDelay));
  } else if (fresh && nack_interval_ > kLeastInterval) {
    nack_interval_ = 0;
    nack_at_ = std::min(nack_at_, now + kLeastInterval);
  }
}

void Incoming::nack(int64_t now) {
  uint64_t words[kMostNackWords] = {};
  const uint32_t end = std::min<uint64_t>(seen_past_, uint64_t{in_row_} + 64 * kMostNackWords);
  size_t count = 0;
  for (uint32_t p = in_row_; p < end; ++p) {
    if (!have_.empty() && has(p)) continue;
    const uint32_t bit = p - in_row_;
    words[bit / 64] |= uint64_t{1} << bit % 64;
    count = bit / 64 + 1;
  }
  context_->to_member(root_, answer(DatagramKind::kNack), words, count * sizeof *words);
  ++context_->counts.nacks;
  nack_interval_ = std::clamp(2 * nack_interval_, kLeastInterval, kMostInterval);
  nack_at_ = now + nack_interval_;
}

void Incoming::on_time(int64_t now) {
  if (waits_for_root()) {
    if (remind_at_ <= now) remind(now);
  } else if (nack_at_ <= now) {
    nack(now);
  }
}

void Incoming::remind(int64_t now) {
  if (remind_at_ != 0 && sent_posted_) ack_to_parent(true, false);
  remind_interval_ = std::clamp(2 * remind_interval_, kLeastInterval, kMostInterval);
  remind_at_ = now + remind_interval_;
}

void Incoming::receive_poll(const DatagramHeader& h, const uint64_t* words, size_t count,
                            int64_t now) {
  if (h.flags & kAbandoned) discard();
  const uint32_t me = context_->me;
  hurry_ = true;
  if (me / 64 < count && words[me / 64] >> me % 64 & 1) root_informed_ = true;
  seen_past_ = std::max(seen_past_, std::min(h.position, packets_));
  if (h.flags & kDirect)
    ack_to_root();
  else
    ack_to_parent(true, false);
  announced_ |= h.position == 0;
  if (complete()) return;
  if (in_row_ < seen_past_) nack(now);
}

void Incoming::receive_ack(const DatagramHeader& h) {
  for (Child& child : children_) {
    if (child.member != h.from) continue;
    child.known = true;
    child.acked = std::max(child.acked, std::min(h.position, packets_));
    child.posted |= (h.flags & kPosted) != 0;
    child.outside = (h.flags & kOutside) != 0;
    ack_to_parent(false, h.flags & kAnswer);
    return;
  }
}

void Incoming::ack_to_parent(bool even_if_old, bool answers) {
  uint32_t acked = in_row_;
  bool posted = posted_, outside = !context_->joined;
  for (const Child& child : children_) {
    if (!child.known) return;
    outside |= child.outside;
    acked = std::min(acked, child.acked);
    posted &= child.posted;
  }
  if (!even_if_old && acked == sent_acked_ && posted == sent_posted_) return;
  sent_acked_ = acked;
  sent_posted_ = posted;
  DatagramHeader h = answer(DatagramKind::kAck);
  h.position = acked;
  h.flags = static_cast<uint8_t>(kWhole | (posted ? kPosted : 0) | (outside ? kOutside : 0) |
                                 (answers ? kAnswer : 0));
  const uint32_t parent = context_->tree(root_).parent(context_->me);
  if (hurry_)
    context_->to_member(parent, h, nullptr, 0);
  else
    context_->to_member_later(parent, h);
  ++context_->counts.acks;
}

void Incoming::ack_to_root() {
  DatagramHeader h = answer(DatagramKind::kAck);
  h.flags = static_cast<uint8_t>((posted_ ? kPosted : 0) | (context_->joined ? 0 : kOutside));
  context_->to_member(root_, h, nullptr, 0);
  ++context_->counts.acks;
}

void Incoming::post(char* data, size_t bytes, TransferCompletion* completion) {
  if (bytes != total_) {
    posted_ = true;
    completion->bytes = total_;
    discard();
    completion->end(TransferCompletion::TransferOutcome::kOtherLength);
    return;
  }
  posted_ = true;
  completion_ = completion;
  if (kept_) {
    if (total_) std::memcpy(data, kept_.get(), total_);
    kept_.reset();
  }
  target_ = data;
  // Where data arrives, its last packet asks for an acknowledgement.
  if (!data_expected_ || complete()) ack_to_parent(false, false);
  finish_if_complete();
}

void Incoming::refuse(TransferCompletion* completion) {
  completion->bytes = total_;
  discard();
  completion->end(TransferCompletion::TransferOutcome::kOtherArguments);
}

void Incoming::finish_if_complete() {
  if (!complete()) return;
  if (TransferCompletion* c = std::exchange(completion_, nullptr))
    c->end(TransferCompletion::TransferOutcome::kDone);
}

void Incoming::discard() {
  discarded_ = posted_ = true;
  in_row_ = packets_;
  nack_at_ = kNever;
  kept_.reset();
  have_.clear();
  target_ = nullptr;
  ack_to_parent(false, false);
  if (TransferCompletion* c = std::exchange(completion_, nullptr))
    c->end(TransferCompletion::TransferOutcome::kGivenUp);
}

bool Incoming::quiet() const {
  if (complete()) return true;
  if (posted_) return root_informed_ && seen_past_ == 0;
  return seen_past_ == 0 && (announced_ || total_ > context_->options.eager);
}

}  // namespace fgmpi::multicast
