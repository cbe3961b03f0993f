// The program's messages and requests: when they are sent, matched and complete.

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "comm/comm.h"
#include "predict/simulator.h"
#include "pt2pt/buffer_limit.h"
#include "pt2pt/engine.h"
#include "pt2pt/sites.h"

namespace fgmpi::predict {

using pt2pt::RecvOp;
using pt2pt::Request;
using pt2pt::SendOp;
using pt2pt::UnexpectedMessage;
using pt2pt::Wanted;

namespace {
/// So many receives or messages are compared to find out which of them will match: not more, since
/// it may be in vain.
constexpr int kMostCompared = 16;
}  // namespace

bool Simulator::decides(uint64_t ctx) const {
  const uint64_t plane = ctx & comm::kPlaneMask;
  return plane == comm::kPlanePt2pt || plane >= comm::kPlanePart;  // that and the one of the parts
}

[[gnu::always_inline]] inline PredictedTransfer* Simulator::begin_message(uint32_t to,
                                                                          uint64_t bytes) {
  const uint32_t from = running_index();
  know_rank(from);
  PredictedRank& rank = ranks_[from];
  PredictedTransfer* const t = new_transfer();
  set_ends(t, from, to);
  t->bytes = bytes;
  const VirtualTime overhead = link_of(*t).piece(bytes).send_overhead;
  rank.clock += overhead;
  rank.times.overhead += overhead;
  ++rank.times.sent;
  rank.times.sent_bytes += bytes;
  ++transfers_made_;
  if (path_) begin_hop(t, from, rank.clock);
  return t;
}

[[gnu::always_inline]] inline void Simulator::send_message(PredictedTransfer* t) {
  PredictedRank& rank = ranks_[t->from];
  if (leaves_own_port(*t)) {
    if (sends_ahead_ && !t->rendezvous && rank.port_users == 0) {
      const LinkPiece& piece = link_of(*t).piece(t->bytes);
      const VirtualTime taken = occupancy(piece, t->bytes);
      const VirtualTime start = occupy(&port_of(*t, t->from).out, taken, rank.clock);
      return push_event(start + piece.latency, NextEvent::kReach, t);
    }
    ++rank.port_users;
  }
  push_event(rank.clock, NextEvent::kSend, t);
}

void Simulator::add_message(uint32_t local, UnexpectedMessage* message) {
  PredictedTransfer* const t = begin_message(local, message->size);
  t->rendezvous = message->kind == UnexpectedMessage::kLocal;
  if (t->rendezvous && message->answer == pt2pt::AnswerTime::kPastLimit &&
      t->bytes <= link_of(*t).eager_bytes) {
    auto* send = static_cast<SendOp*>(message);
    if (UnexpectedMessage* copy = pt2pt::copy_of(*send)) {
      message = copy;
      t->rendezvous = false;
      pt2pt::complete_op(send);
    }
  }
  message->queued = false;
  message->addr = reinterpret_cast<uint64_t>(t);
  t->message = message;
  t->kind = message->kind;
  message->cookie = transfers_made_;
  ranks_[local].unmatched.push_back(message);
  if (may_overtake_) keep_order(t);
  send_message(t);
}

/// A receive from a named source takes the messages of that source in their order. So it is certain
/// to take this one where it is the eldest that covers it, and covers none before it that is under
/// way.
[[gnu::always_inline]] inline RecvOp* Simulator::find_certain_receive(
    pt2pt::Endpoint* at, const pt2pt::Envelope& message) {
  pt2pt::PostedReceive* p = at->posted.front();
  for (int compared = 0; p && !covers(p->envelope, message); p = p->next)
    if (++compared == kMostCompared) return nullptr;
  if (!p || p->envelope.source == MPI_ANY_SOURCE) return nullptr;
  // The time of others, parts of a partitioned message, is that of their arrival alone.
  auto* const op = static_cast<RecvOp*>(p);
  return op->finish && !request_of(*op) ? nullptr : op;
}

bool Simulator::send_to_posted(uint32_t local, const pt2pt::Envelope& envelope, const void* data,
                               uint64_t bytes) {
  if (may_overtake_) return false;
  know_rank(local);
  pt2pt::Endpoint* const at = pt2pt::g_engine.at(local);
  RecvOp* const op = find_certain_receive(at, envelope);
  if (!op || !op->data || bytes > op->capacity) return false;
  int compared = 0;
  for (const pt2pt::Arrived* m = ranks_[local].unmatched.front(); m; m = m->next)
    if (covers(op->envelope, m->envelope) || ++compared == kMostCompared) return false;
  at->posted.remove(op);
  op->queued = false;
  pt2pt::fill(op, envelope, data, bytes);
  PredictedTransfer* const t = begin_message(local, bytes);
  t->order_of_sends = transfers_made_;
  t->receive = op;
  t->has_sent = true;
  send_message(t);
  return true;
}

/// The running rank has posted a receive: fills it if a message under way to it is certain to
/// match.
void Simulator::match_posted_receive(uint32_t handle) {
  const uint32_t index = running_index();
  pt2pt::Endpoint* const at = pt2pt::g_engine.at(index);
  auto* const op = static_cast<RecvOp*>(at->posted.back());
  if (may_overtake_ || !op || !op->data || op->envelope.source == MPI_ANY_SOURCE) return;
  const Request* const request = request_of(*op);
  if (!request || request->handle != handle) return;
  PredictedRank& rank = ranks_[index];
  int compared = 0;
  pt2pt::Arrived* m = rank.unmatched.front();
  for (; m && !covers(op->envelope, m->envelope); m = m->next)
    if (++compared == kMostCompared) return;
  if (!m || find_certain_receive(at, m->envelope) != op) return;
  auto* const message = static_cast<UnexpectedMessage*>(m);
  auto* const t = reinterpret_cast<PredictedTransfer*>(message->addr);
  if (t->kind != UnexpectedMessage::kEager || t->bytes > op->capacity) return;
  rank.unmatched.remove(m);
  at->posted.remove(op);
  op->queued = false;
  const uint64_t order_of_sends = message->cookie;
  pt2pt::fill_from_copy(message, op);
  if (t->event == NextEvent::kArrive) --rank.arriving;
  t->order_of_sends = order_of_sends;
  t->receive = op;
  t->has_sent = true;
}

/// Completes the receive that will take this message, if that is certain before the message has
/// arrived: it has been filled, or no other message is about to arrive. The receiver must not look
/// for messages or for complete requests now.
bool Simulator::completes_early(PredictedTransfer* t, VirtualTime arrival) {
  PredictedRank& rank = ranks_[t->to];
  if (rank.touchable || path_ || t->bytes > machine_.buffered_bytes) return false;
  if (!t->has_sent) {
    if (t->rendezvous || !t->message || may_overtake_ || rank.arriving) return false;
    pt2pt::Endpoint* const at = pt2pt::g_engine.at(t->to);
    RecvOp* const op = find_certain_receive(at, t->message->envelope);
    if (!op) return false;
    remove_unmatched(t);
    at->posted.remove(op);
    op->queued = false;
    t->receive = op;
    t->message->kind = t->kind;
  }
  complete_receive(t, request_of(*t->receive), arrival);
  return true;
}

/// The transfers under way that have filled receives. Walks all transfers: no table has these,
/// since cancelling is rare.
std::vector<PredictedTransfer*> Simulator::find_filled() {
  std::unordered_set<const PredictedTransfer*> unused;
  for (const PredictedTransfer* t = free_; t; t = t->next) unused.insert(t);
  std::vector<PredictedTransfer*> filled;
  const auto add = [&](PredictedTransfer* t) {
    if (is_message(*t) && t->has_sent && !t->sends_data && !unused.contains(t)) filled.push_back(t);
  };
  for (PredictedTransfer& t : transfers_) add(&t);
  for (ExplainedTransfer& t : explained_transfers_) add(&t);
  return filled;
}

bool Simulator::withdraw_receive(RecvOp* op) {
  const std::vector<PredictedTransfer*> filled = find_filled();
  const auto place = std::find_if(filled.begin(), filled.end(),
                                  [op](const PredictedTransfer* t) { return t->receive == op; });
  if (place == filled.end()) return false;
  PredictedTransfer* const found = *place;
  const pt2pt::Envelope envelope{op->envelope.ctx, op->outcome->source, op->outcome->tag};
  // Another receive that has been filled by a later message may not take that one now: the message
  // has been faster than the cancellation.
  for (const PredictedTransfer* t : filled)
    if (t->to == found->to && t->order_of_sends > found->order_of_sends &&
        covers(t->receive->envelope, envelope))
      return false;
  UnexpectedMessage* const message = pt2pt::copy_under_way(envelope, op->data, found->bytes);
  if (!message) return false;
  message->queued = false;
  message->addr = reinterpret_cast<uint64_t>(found);
  message->cookie = found->order_of_sends;
  found->message = message;
  found->kind = message->kind;
  found->receive = nullptr;
  found->has_sent = false;
  PredictedRank& rank = ranks_[found->to];
  if (found->event == NextEvent::kArrive) ++rank.arriving;
  List<pt2pt::Arrived> others = std::exchange(rank.unmatched, {});
  for (bool is_in = false; !others.empty() || !is_in;) {
    auto* next = static_cast<UnexpectedMessage*>(others.front());
    if (!is_in && (!next || next->cookie > message->cookie)) {
      next = message;
      is_in = true;
    } else {
      others.pop_front();
    }
    rank.unmatched.push_back(next);
  }
  return true;
}

bool Simulator::buffers(uint32_t local, uint64_t bytes) const {
  if (local >= nodes_.size()) return bytes <= machine_.between.eager_bytes;
  return bytes <= machine_.link(nodes_[running_index()], nodes_[local]).eager_bytes;
}

bool Simulator::withdraw_send(uint32_t, SendOp* message) {
  auto* t = reinterpret_cast<PredictedTransfer*>(message->addr);
  if (!t || (t->arrived && t->receive)) return false;
  message->kind = t->kind;
  if (!t->arrived) remove_unmatched(t);
  t->message = nullptr;
  if (!t->arrived) return true;  // arrive() frees the transfer
  pt2pt::remove_unexpected(pt2pt::g_engine.at(t->to), message);
  free_transfer(t);
  return true;
}

void Simulator::forget_receive(RecvOp*) {}

/// A receive has matched a message that has arrived: one that was posted, or one that is being
/// posted by the rank that runs.
void Simulator::match_held_back(UnexpectedMessage* message, RecvOp* op) {
  auto* const t = reinterpret_cast<PredictedTransfer*>(message->addr);
  message->kind = t->kind;
  t->receive = op;
  PredictedRank& rank = ranks_[t->to];
  Request* const request = request_of(*op);
  VirtualTime at = in_event_ ? now_ : rank.clock;
  if (!t->rendezvous) return complete_receive(t, request, at);
  if (in_event_)
    raise_clock(&at, request && request->handle ? times_of(request->handle).at : rank.clock);
  permit(t, at);
}

void Simulator::complete_receive(PredictedTransfer* t, Request* request, VirtualTime at) {
  PredictedRank& rank = ranks_[t->to];
  RecvOp* const op = t->receive;
  const VirtualTime overhead = link_of(*t).piece(t->bytes).receive_overhead;
  if (request && !in_event_ && !request->persistent) {  // its times begin when it has been posted
    rank.found = overhead;
  } else if (request && request->handle) {
    finish_request(request->handle, at, overhead, hop_of_transfer(t));
  } else {
    raise_by(t->to, &rank.clock, at, hop_of_transfer(t));
    rank.clock += overhead;
    rank.times.overhead += overhead;
  }
  if (t->has_sent)
    pt2pt::complete_op(op);
  else
    pt2pt::consume(t->message, op);
  if (in_event_) touch(t->to, hop_of_transfer(t));
  free_transfer(t);
}

// ---- Requests -----------------------------------------------------------------------------------

void TimesByIndex::grow(uint32_t index) {
  constexpr uint32_t kPart = 256;
  known_ = (index / kPart + 1) * kPart;
  if (known_ > times_.capacity()) times_.reserve(2 * size_t{known_});
  times_.resize(known_);
}

/// The request may be that of a collective, or of an access to a file.
void Simulator::begin_special_wait(PredictedRank* rank, uint32_t request) {
  Request** const slot = pt2pt::g_requests.get(request);
  if (!slot || !*slot || !(*slot)->active) return;
  if (times_of(request).at == kAwaitsAccesses) set_in_file(rank, true);
  const auto found = runs_of_requests_.find(*slot);
  if (found == runs_of_requests_.end()) return;
  awaited_runs_[key_of_wait(running_index(), request)] = found->second;
  runs_of_requests_.erase(found);
}

int Simulator::begin_wait(int count, const MPI_Request* requests, uint32_t* waited) {
  if (!comm::rank_state()) return 0;
  int waited_count = 0;
  PredictedRank& rank = running();
  const bool may_be_special = !runs_of_requests_.empty() || has_file_requests_;
  bool has_sent = false;
  for (int i = 0; i < count; ++i) {
    const auto handle = static_cast<uint32_t>(requests[i]);
    if (handle == pt2pt::kSentHandle) {
      has_sent = true;
      continue;
    }
    if (requests[i] == MPI_REQUEST_NULL) continue;
    const uint32_t index = handle & pt2pt::kIndexMask;
    if (__builtin_expect(may_be_special, 0)) begin_special_wait(&rank, index);
    waited[waited_count++] = index;
  }
  // Requests of operations on windows are complete at once for the library.
  rank.awaits_all = has_sent && rank.accesses > 0;
  return waited_count;
}

MemberRef Simulator::take_awaited_run(uint32_t rank, uint32_t request) {
  const auto found = awaited_runs_.find(key_of_wait(rank, request));
  if (found == awaited_runs_.end()) return {nullptr, 0};
  const MemberRef run = found->second;
  awaited_runs_.erase(found);
  return run;
}

void Simulator::end_wait(int count, uint32_t* waited) {
  if (!comm::rank_state()) return;
  const uint32_t index = running_index();
  PredictedRank& rank = ranks_[index];
  // The rank collects its requests in the order in which they were complete.
  int kept = 0;
  VirtualTime latest = 0, clock = rank.clock;
  const bool has_runs = !awaited_runs_.empty();
  for (int i = 0; i < count; ++i) {
    const uint32_t request = waited[i];
    if (request >= requests_.known()) continue;  // it has no times
    RequestTimes& times = requests_.known_at(request);
    if (__builtin_expect(times.at == kAwaitsAccesses, 0)) {
      rank.awaits_all = true;
      times = RequestTimes();
    }
    if (times.at <= clock && times.overhead == 0 &&
        !(has_runs && awaited_runs_.contains(key_of_wait(index, request)))) {
      times = RequestTimes();
      continue;
    }
    int place = kept++;
    if (times.at < latest)
      for (; place > 0 && requests_.known_at(waited[place - 1]).at > times.at; --place)
        waited[place] = waited[place - 1];
    else
      latest = times.at;
    waited[place] = request;
  }
  if (__builtin_expect(has_runs || observer_ || path_, 0)) {
    collect_watched(index, kept, waited);
  } else {
    VirtualTime overhead = 0;
    for (int i = 0; i < kept; ++i) {
      RequestTimes& times = requests_.known_at(waited[i]);
      raise_clock(&clock, times.at);
      clock += times.overhead;
      overhead += times.overhead;
      times = RequestTimes();
    }
    rank.clock = clock;
    rank.times.overhead += overhead;
  }
  if (std::exchange(rank.awaits_all, false)) await_accesses();
}

/// Collects requests of which more is to be known than their times. May switch.
void Simulator::collect_watched(uint32_t index, int count, const uint32_t* waited) {
  const bool has_runs = !awaited_runs_.empty();
  PredictedRank& rank = ranks_[index];
  for (int i = 0; i < count; ++i) {
    const uint32_t request = waited[i];
    if (__builtin_expect(has_runs, 0))
      if (const MemberRef run = take_awaited_run(index, request); run.run)
        await_run(index, run.run, run.member);
    RequestTimes& times = requests_.at(request);
    if (__builtin_expect(observer_ != nullptr, 0) && times.at > rank.clock)
      observer_->awaited(index, request, (times.at - rank.clock) / kPicosecondsPerNs);
    collect(index, &times, hop_of(request));
  }
}

/// Is the request complete at the rank's clock? *until: not after a time at which it will be.
/// REQUIRES: all before its clock has happened.
bool Simulator::is_over(const Request* request, VirtualTime clock, VirtualTime* until) {
  if (!request->complete()) return false;
  if (request->handle && !request->immortal)
    if (const VirtualTime done = times_of(request->handle).at; done > clock) {
      *until = std::min(*until, done);
      return false;
    }
  if (runs_of_requests_.empty()) return true;
  const auto found = runs_of_requests_.find(request);
  return found == runs_of_requests_.end() ||
         found->second.run->members[found->second.member].finished;
}

void Simulator::take_request(uint32_t rank, Request* request) {
  if (const auto found = runs_of_requests_.find(request); found != runs_of_requests_.end()) {
    CollectiveRun* const run = found->second.run;
    runs_of_requests_.erase(found);
    release_run(run);
  }
  if (request->handle && !request->immortal)
    collect(rank, &times_of(request->handle), hop_of(request->handle & pt2pt::kIndexMask));
}

bool Simulator::complete(Request* const* list, size_t count, Wanted wanted, bool waits,
                         const char* call, std::vector<uint32_t>* chosen) {
  const uint32_t index = running_index();
  const pt2pt::RequestsSite site(call, list, count);
  std::vector<uint32_t> over;
  for (;;) {
    settle(index, &site);
    over.clear();
    size_t active = 0;
    VirtualTime until = kNever;
    for (size_t i = 0; i < count; ++i) {
      if (!list[i]) continue;
      ++active;
      if (is_over(list[i], ranks_[index].clock, &until)) over.push_back(static_cast<uint32_t>(i));
    }
    if (wanted == Wanted::kAll ? over.size() == active : !over.empty()) break;
    if (!waits) {
      poll_in_vain(index, &site, until);
      return false;
    }
    await_touch(index, until, &site);
  }
  PredictedRank& rank = ranks_[index];
  rank.vain = 0;
  if (wanted == Wanted::kOne) over.resize(1);
  for (const uint32_t i : over) take_request(index, list[i]);
  rank.clock += kPollCost;
  if (chosen) *chosen = over;
  return true;
}

bool Simulator::decide_test(const void* object, uint64_t part, bool (*is)(const void*, uint64_t),
                            const char* call) {
  const uint32_t index = running_index();
  const sched::WaitSite site{call, nullptr, true};
  settle(index, &site);
  if (is(object, part)) {
    ranks_[index].vain = 0;
    return true;
  }
  poll_in_vain(index, &site);
  return false;
}

UnexpectedMessage* Simulator::probe(uint32_t local, const pt2pt::Envelope& pattern, bool take,
                                    bool waits, const char* call) {
  const pt2pt::ProbeSite site(call, &pattern);
  pt2pt::Endpoint* const at = pt2pt::g_engine.at(local);
  for (;;) {
    settle(local, &site);
    pt2pt::Arrived* const found = at->unexpected.empty() ? nullptr : at->unexpected.find(pattern);
    if (found) {
      auto* message = static_cast<UnexpectedMessage*>(found);
      ranks_[local].vain = 0;
      ranks_[local].clock += kPollCost;
      if (take) pt2pt::remove_unexpected(at, message);
      return message;
    }
    if (!waits) {
      poll_in_vain(local, &site);
      return nullptr;
    }
    await_touch(local, kNever, &site);
  }
}

}  // namespace fgmpi::predict
