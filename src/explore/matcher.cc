// The messages and receives that wait for the explorer's choice, and which of them can match.

#include "explore/matcher.h"

#include <algorithm>

#include "base/hash.h"
#include "comm/comm.h"
#include "proclet-sched/coroutine/queue.h"
#include "pt2pt/buffer_limit.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::explore {

using pt2pt::Envelope;
using pt2pt::PostedReceive;
using pt2pt::RecvOp;
using pt2pt::UnexpectedMessage;

namespace {

/// The rank that runs, or whose helper or thread runs; -1: none.
int64_t running_rank() {
  const sched::Proclet* p = sched::current();
  if (!p || !p->rank_state) return -1;
  return static_cast<const comm::RankState*>(p->rank_state)->local;
}

/// Is the rank parked until this receive, or one of several, is complete?
bool is_awaited(const RecvOp* op) {
  if (op->proclet) return true;
  return op->finish && static_cast<const pt2pt::Request*>(op->owner)->waiter;
}

/// The rank that waits for this send's match; -1: none.
int64_t waiting_sender(const pt2pt::SendOp* op) {
  const sched::Proclet* p = op->proclet;
  if (!p && op->finish)
    if (const pt2pt::Waiter* w = static_cast<const pt2pt::Request*>(op->owner)->waiter)
      p = w->proclet;
  if (!p || !p->rank_state) return -1;
  return static_cast<const comm::RankState*>(p->rank_state)->local;
}

/// The request that a message completes when it is matched; nullptr: none.
const pt2pt::Request* request_of(const UnexpectedMessage* message) {
  if (message->kind != UnexpectedMessage::kLocal) return nullptr;
  const auto* op = static_cast<const pt2pt::SendOp*>(message);
  return op->finish ? static_cast<const pt2pt::Request*>(op->owner) : nullptr;
}

/// Can this send be complete before its match?
bool is_bufferable(const UnexpectedMessage* message) {
  return message->kind == UnexpectedMessage::kLocal &&
         message->answer == pt2pt::AnswerTime::kPastLimit;
}

const pt2pt::Request* request_of(const RecvOp* op) {
  return op->finish ? static_cast<const pt2pt::Request*>(op->owner) : nullptr;
}

const PostedReceive* first_posted(uint32_t local) {
  return pt2pt::g_engine.at(local)->posted.front();
}

}  // namespace

bool Matcher::decides(uint64_t ctx) const { return (ctx & comm::kPlaneMask) == comm::kPlanePt2pt; }

// ---- What ranks do ------------------------------------------------------------------------------

void Matcher::add_message(uint32_t local, UnexpectedMessage* message) {
  Box& box = box_of(local);
  const int64_t sender = running_rank();
  EventSet past, soft;
  if (sender >= 0) {
    past = box_of(static_cast<size_t>(sender)).past;
    soft = box_of(static_cast<size_t>(sender)).soft;
  }
  ++acts_;
  if (sender >= 0) ++box_of(static_cast<size_t>(sender)).deeds;
  if (const pt2pt::Request* request = request_of(message); request && sender >= 0)
    // Another request may have had its address.
    forget_request(static_cast<uint32_t>(sender), request);
  find_races(local, message->envelope, past, soft);
  const uint32_t number = box.sent[{message->envelope.ctx, message->envelope.source}]++;
  message->queued = true;
  box.held.push_back({message, number, static_cast<int32_t>(sender),
                      sender >= 0 ? box_of(static_cast<size_t>(sender)).sends++ : 0,
                      std::move(past), std::move(soft)});
}

bool Matcher::withdraw_send(uint32_t local, pt2pt::SendOp* message) {
  auto& held = box_of(local).held;
  for (auto it = held.begin(); it != held.end(); ++it) {
    if (it->message != message) continue;
    held.erase(it);
    ++acts_;
    message->queued = false;
    return true;
  }
  return false;
}

void Matcher::forget_receive(RecvOp* op) {
  ++acts_;
  for (uint32_t local = 0; local < boxes_.size(); ++local) {
    number_receives(local);
    if (boxes_[local].known.erase(op) > 0 && request_of(op)) forget_request(local, request_of(op));
  }
}

/// Would the event's receive have had to match an earlier message of the stream, which a receive
/// posted later has matched? Then it could not have matched this one either.
bool Matcher::comes_behind(const Box& box, const Envelope& message, const Choice& event) const {
  const auto stream = box.received.find({message.ctx, message.source});
  if (event.kind != Choice::kMatch || stream == box.received.end()) return false;
  const auto& all = stream->second;
  return std::any_of(all.rbegin(), all.rend(), [&](const Received& r) {
    return r.receive > event.operation &&
           (event.wanted_tag == MPI_ANY_TAG || event.wanted_tag == r.tag);
  });
}

/// Reports each earlier event of this rank that could have matched the message, had it been there.
void Matcher::find_races(uint32_t local, const Envelope& message, const EventSet& past,
                         const EventSet& soft) {
  Box& box = boxes_[local];
  for (const MatchEvent& e : box.events) {
    const Choice& c = e.choice;
    if (c.kind == Choice::kDone || c.kind == Choice::kRepeat) continue;
    const Envelope pattern{c.context, c.wanted_source, c.wanted_tag};
    if (!pt2pt::covers(pattern, message) || past.has(e.event)) continue;
    if (c.source == message.source) continue;  // messages of one stream do not overtake
    if (comes_behind(box, message, c)) continue;
    const bool buffers = soft.has(e.event);
    if (box.raced.emplace(e.event, message.ctx, message.source, buffers).second)
      chooser_->report_race({e.event, past, buffers});
  }
}

uint64_t Matcher::draw_number() {
  const int64_t rank = running_rank();
  const size_t of = rank >= 0 ? static_cast<size_t>(rank) : 0;
  return mix(of + 1, ++box_of(of).draws);
}

// ---- What is possible ---------------------------------------------------------------------------

/// Numbers the receives that were posted since the last call.
void Matcher::number_receives(uint32_t local) {
  Box& box = boxes_[local];
  for (const PostedReceive* p = first_posted(local); p; p = p->next) {
    if (!decides(p->envelope.ctx)) continue;
    auto* op = static_cast<RecvOp*>(const_cast<PostedReceive*>(p));
    if (box.known.contains(op)) continue;
    box.known.emplace(op, NumberedReceive{box.receives, box.past});
    if (const pt2pt::Request* request = request_of(op)) forget_request(local, request);
    ++box.receives;
    ++box.deeds;
  }
}

/// Calls f(index in held) for each message that an operation with this pattern can match now.
/// Posted receives in front of `before` have precedence (nullptr: all posted receives).
template <class F>
void Matcher::for_each_candidate(uint32_t local, const Envelope& pattern,
                                 const PostedReceive* before, F&& f) const {
  const std::vector<HeldMessage>& held = boxes_[local].held;
  std::vector<int32_t> seen;  // sources whose first covered message was handled
  for (size_t i = 0; i < held.size(); ++i) {
    const Envelope& message = held[i].message->envelope;
    if (!pt2pt::covers(pattern, message)) continue;
    if (std::find(seen.begin(), seen.end(), message.source) != seen.end()) continue;
    seen.push_back(message.source);
    bool free = true;
    for (const PostedReceive* p = first_posted(local); p != before && free; p = p->next)
      free = !pt2pt::covers(p->envelope, message);
    if (free) f(i);
  }
}

bool Matcher::has_candidate(uint32_t local, const Envelope& pattern) const {
  bool any = false;
  for_each_candidate(local, pattern, nullptr, [&](size_t) { any = true; });
  return any;
}

/// Has an earlier probe found a message that this pattern covers?
bool Matcher::has_seen(uint32_t local, const Envelope& pattern) const {
  bool any = false;
  for_each_candidate(local, pattern, nullptr, [&](size_t i) { any |= boxes_[local].held[i].seen; });
  return any;
}

/// Matches everything that has only one possible partner.
void Matcher::match_determined(uint32_t local) {
  for (bool again = true; again;) {
    again = false;
    Box& box = boxes_[local];
    if (box.held.empty()) break;
    for (const PostedReceive* p = first_posted(local); p && !again; p = p->next) {
      if (!decides(p->envelope.ctx) || p->envelope.source == MPI_ANY_SOURCE) continue;
      auto* op = static_cast<RecvOp*>(const_cast<PostedReceive*>(p));
      for_each_candidate(local, p->envelope, p, [&](size_t i) {
        if (again) return;
        again = true;
        match(local, op, i, box.held[i].past);
      });
    }
    for (size_t n = 0; n < box.polls.size() && !again; ++n) {
      Poll* probe = box.polls[n];
      if (probe->list || !probe->waits || probe->pattern.source == MPI_ANY_SOURCE) continue;
      for_each_candidate(local, probe->pattern, nullptr, [&](size_t i) {
        if (again) return;
        again = true;
        see(local, probe, i, box.held[i].past);
      });
    }
  }
}

Choice Matcher::choice_of(uint32_t local, const Envelope& pattern, uint64_t operation,
                          Choice::ChoiceKind kind, const HeldMessage& held) const {
  const Envelope& m = held.message->envelope;
  return {kind,        local,    operation, held.number, pattern.source,
          pattern.tag, m.source, m.tag,     m.ctx,       held.message->size};
}

void Matcher::add_choices(uint32_t local, std::vector<Choice>* out) const {
  const Box& box = boxes_[local];
  if (box.held.empty()) return;
  for (const PostedReceive* p = first_posted(local); p; p = p->next) {
    if (!decides(p->envelope.ctx) || p->envelope.source != MPI_ANY_SOURCE) continue;
    const NumberedReceive& known =
        box.known.at(static_cast<RecvOp*>(const_cast<PostedReceive*>(p)));
    for_each_candidate(local, p->envelope, p, [&](size_t i) {
      out->push_back(choice_of(local, p->envelope, known.number, Choice::kMatch, box.held[i]));
    });
  }
  for (const Poll* poll : box.polls) {
    if (poll->list || poll->is || poll->of_nothing) continue;
    const Choice::ChoiceKind kind = poll->waits ? Choice::kProbe : Choice::kSee;
    for_each_candidate(local, poll->pattern, nullptr, [&](size_t i) {
      out->push_back(choice_of(local, poll->pattern, poll->operation, kind, box.held[i]));
    });
  }
}

// ---- What happens -------------------------------------------------------------------------------

/// `past`: the events that had to happen before a rank that waits for this match continues.
void Matcher::match(uint32_t local, RecvOp* op, size_t index, const EventSet& past) {
  Box& box = boxes_[local];
  const HeldMessage& held = box.held[index];
  chooser_->report_match(
      held.sender, choice_of(local, op->envelope, box.known.at(op).number, Choice::kMatch, held));
  if (is_awaited(op)) box.past.add(past);
  UnexpectedMessage* message = box.held[index].message;
  const int32_t by = box.held[index].sender;
  const EventSet soft = box.held[index].soft;
  box.soft.add(soft);
  if (message->kind == UnexpectedMessage::kLocal) {
    const int64_t sender = waiting_sender(static_cast<pt2pt::SendOp*>(message));
    if (sender >= 0) {
      Box& from = box_of(static_cast<size_t>(sender));
      (is_bufferable(message) ? from.soft : from.past).add(past);
      from.soft.add(box.past);  // the receive was posted after all of these
      from.soft.add(box.soft);
    }
  }
  if (const pt2pt::Request* request = request_of(op)) record_completion(local, request, past, soft);
  if (const pt2pt::Request* request = request_of(message);
      request && by >= 0 && !is_bufferable(message))
    record_completion(static_cast<uint32_t>(by), request, past, soft);
  box.held.erase(box.held.begin() + static_cast<ptrdiff_t>(index));
  const Envelope& m = message->envelope;
  const uint32_t number = box.known.at(op).number;
  box.received[{m.ctx, m.source}].push_back({m.tag, number});
  box.known.erase(op);
  pt2pt::g_engine.at(local)->posted.remove(op);
  op->queued = message->queued = false;
  pt2pt::consume(message, op);
}

void Matcher::see(uint32_t local, Poll* poll, size_t index, const EventSet& past) {
  Box& box = boxes_[local];
  const Choice::ChoiceKind kind = poll->waits ? Choice::kProbe : Choice::kSee;
  chooser_->report_match(box.held[index].sender,
                         choice_of(local, poll->pattern, poll->operation, kind, box.held[index]));
  box.past.add(past);
  box.soft.add(box.held[index].soft);
  box.held[index].seen = true;
  poll->found = box.held[index].message;
  if (poll->take) {
    box.held.erase(box.held.begin() + static_cast<ptrdiff_t>(index));
    poll->found->queued = false;
  }
  release(local, poll, true);
}

void Matcher::execute_choice(const Choice& choice) {
  barren_ = 0;
  if (choice.has_message()) return execute_match(choice);
  if (choice.kind == Choice::kLeave) return execute_leave(choice);
  if (choice.kind == Choice::kAccess) return execute_access(choice);
  choice.row() == Choice::kBuffer ? execute_buffering(choice) : execute_poll(choice);
}

void Matcher::execute_match(const Choice& choice) {
  Box& box = boxes_[choice.rank];
  size_t index = 0;
  auto is_chosen = [&](const HeldMessage& h) {
    const Envelope& m = h.message->envelope;
    return m.ctx == choice.context && m.source == choice.source && h.number == choice.number;
  };
  while (!is_chosen(box.held.at(index))) ++index;
  EventSet past = box.held[index].past;
  box.events.push_back({events_, choice, {}});
  if (choice.kind != Choice::kMatch) {
    const bool waits = choice.kind == Choice::kProbe;
    auto probe = std::find_if(box.polls.begin(), box.polls.end(), [&](const Poll* p) {
      return !p->list && p->waits == waits && p->operation == choice.operation;
    });
    past.add(box.past);  // the probing rank has done nothing since it called
    chooser_->report_past(past);
    past.add(events_++);
    return see(choice.rank, *probe, index, past);
  }
  auto known = std::find_if(box.known.begin(), box.known.end(), [&](const auto& entry) {
    return entry.second.number == choice.operation;
  });
  past.add(known->second.past);
  chooser_->report_past(past);
  past.add(events_++);
  match(choice.rank, known->first, index, past);
}

// ---- Buffering ----------------------------------------------------------------------------------

/// Adds a choice for each send for which its rank waits and that may be buffered.
void Matcher::add_buffers(uint32_t local, std::vector<Choice>* out) const {
  for (const HeldMessage& held : boxes_[local].held) {
    if (held.sender < 0 || !is_bufferable(held.message)) continue;
    if (waiting_sender(static_cast<const pt2pt::SendOp*>(held.message)) < 0) continue;
    const Envelope& m = held.message->envelope;
    Choice c{Choice::kBuffer,
             static_cast<uint32_t>(held.sender),
             held.send,
             held.number,
             0,
             0,
             m.source,
             m.tag,
             m.ctx,
             held.message->size};
    c.wanted_source = Choice::kNoSource;
    out->push_back(c);
  }
}

void Matcher::execute_buffering(const Choice& choice) {
  Box& box = boxes_[choice.rank];
  EventSet past = box.past;
  chooser_->report_past(past);
  past.add(events_++);
  if (choice.kind == Choice::kNoBuffer) {
    refused_acts_ = acts_;
    refused_events_ = events_;
    return;
  }
  for (Box& to : boxes_)
    for (HeldMessage& held : to.held) {
      if (held.sender != static_cast<int32_t>(choice.rank) || held.send != choice.operation)
        continue;
      box.past = past;
      return buffer_send(&held);
    }
}

/// Completes the send and replaces its message by a copy.
void Matcher::buffer_send(HeldMessage* held) {
  auto* op = static_cast<pt2pt::SendOp*>(held->message);
  UnexpectedMessage* copy = pt2pt::copy_of(*op);
  // No memory, or an error that its receive will meet: the send continues to wait.
  if (!copy) return;
  held->message = copy;
  copy->queued = true;
  op->queued = false;
  pt2pt::complete_op(op);
}

/// Nothing can happen except that a rank continues early, or that none does. Returns false where
/// not even that is possible.
bool Matcher::choose_early() {
  if (refused_acts_ == acts_ && refused_events_ == events_) return false;
  std::vector<Choice> choices;
  for (uint32_t i = 0; i < boxes_.size(); ++i) add_buffers(i, &choices);
  for (uint32_t i = 0; i < boxes_.size(); ++i) add_leaves(i, &choices);
  if (choices.empty()) return false;
  choices.push_back(choices.front());
  choices.back().kind = Choice::kNoBuffer;
  execute_choice(choices.at(chooser_->choose(choices)));
  return true;
}

bool Matcher::all_parked() {
  // If a match ends no wait the loop must continue, because nobody would call this again.
  while (!sched::anything_ready()) {
    for (uint32_t i = 0; i < boxes_.size(); ++i) {
      number_receives(i);
      match_determined(i);
    }
    if (sched::anything_ready()) break;
    for (Box& box : boxes_) end_access(&box);
    report_lock_waits();
    std::vector<Choice> choices;
    for (uint32_t i = 0; i < boxes_.size(); ++i) add_choices(i, &choices);
    for (uint32_t i = 0; i < boxes_.size(); ++i) add_successes(i, &choices);
    for (uint32_t i = 0; i < boxes_.size(); ++i) add_failures(i, &choices);
    for (uint32_t i = 0; i < boxes_.size(); ++i) add_accesses(i, false, &choices);
    if (choices.empty()) {
      if (choose_early()) continue;
      return retry_one_poll();
    }
    for (uint32_t i = 0; i < boxes_.size(); ++i) add_repeats(i, &choices);
    for (uint32_t i = 0; i < boxes_.size(); ++i) add_buffers(i, &choices);
    for (uint32_t i = 0; i < boxes_.size(); ++i) add_leaves(i, &choices);
    // Sorted, because threads outside of MPI may have come in another order in another execution.
    std::sort(choices.begin(), choices.end());
    // These come last: an execution that begins with a loop that repeats itself shows nothing new.
    for (uint32_t i = 0; i < boxes_.size(); ++i) add_accesses(i, true, &choices);
    execute_choice(choices.at(chooser_->choose(choices)));
  }
  return true;
}

}  // namespace fgmpi::explore
