// Calls that poll, and calls that return some of several complete requests.
//
// Whether a polling call finds something that is there is a choice: it may (kSee, kDone), or the
// message or its acknowledgement is still on its way (kMiss). A loop of such calls would have one
// execution for each number of failures. A stretch is the time from a rank's first failure until it
// does something else: sends, receives, waits, or finds something. In a stretch the rank learns
// nothing but its failures. For polls of the same subject (PolledSubject) in one stretch:
//
//   the first    may fail or, where there is something, find it
//   later ones   find what is there, or wait while other ranks can continue. They fail again
//                - as a choice, when something has come that another look of the stretch
//                  would find (kMiss);
//                - as a choice, with all others until the stretch ends (kRepeat): the loop
//                  ends without success. If it has not ended after kMostPolls looks, others
//                  with more failures show the same, and the execution ends;
//                - one after the other, when nothing else can happen in the process: that is
//                  no event.
//
// So each loop is explored with no failure, with one, and with as many as it allows. Left out are
// executions in which a loop succeeds after two or more failures between which nothing has changed
// for the rank: they pass through the state in which it succeeds after one, unless the program
// counts its failures.
#include <algorithm>
#include <cstdio>
#include <string>

#include "base/assert.h"
#include "base/clock.h"
#include "base/strings.h"
#include "comm/comm.h"
#include "explore/matcher.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::explore {

using pt2pt::Envelope;
using pt2pt::Request;
using pt2pt::UnexpectedMessage;
using pt2pt::Wanted;

namespace {

constexpr uint32_t kMostPolls = 256;
/// The most complete requests of which MPI_Waitsome returns every subset.
constexpr size_t kMostTogether = 8;
/// Ranks that have each polled so often while nothing happened are assumed to do so for ever; the
/// lower number holds if that took longer than kSlow.
constexpr uint64_t kForEver = 20'000, kForEverWhenSlow = 500;
constexpr int64_t kSlow = 2'000'000'000;

/// The calling rank. REQUIRES: a rank calls.
uint32_t calling_rank() { return comm::rank_state()->local; }

/// Must a test of the request succeed, because its completion needs no other rank or
/// was seen before?
bool is_sure(const Request* r) {
  if (!r->complete()) return false;
  if (r->immortal || r->outcome.source == MPI_PROC_NULL || r->reported_complete) return true;
  if (r->external || r->polled) return true;  // the program has completed it
  const auto* send = dynamic_cast<const pt2pt::SendRequest*>(r);
  return send && send->persistent && send->op.kind != UnexpectedMessage::kLocal;
}

bool is_enough(Request* const* list, size_t count, Wanted wanted, bool (*is)(const Request*)) {
  bool every = true, one = false;
  for (size_t i = 0; i < count; ++i)
    if (list[i]) (is(list[i]) ? one : every) = is(list[i]);
  return wanted == Wanted::kAll ? every : one;
}

/// The send, if it is a standard one that waits for its match and may be buffered
/// instead; else nullptr.
const pt2pt::SendOp* bufferable(const Request* r) {
  const auto* send = dynamic_cast<const pt2pt::SendRequest*>(r);
  if (!send || send->complete() || !send->op.queued) return nullptr;
  const bool may_be = send->op.kind == UnexpectedMessage::kLocal &&
                      send->op.answer == pt2pt::AnswerTime::kPastLimit;
  return may_be ? &send->op : nullptr;
}

/// Can a call return the request as complete now?
bool can_be_complete(const Request* r) { return r->complete() || bufferable(r); }

/// Does the matcher see when the request is complete?
bool is_followed(const Request* r) {
  return dynamic_cast<const pt2pt::RecvRequest*>(r) || dynamic_cast<const pt2pt::SendRequest*>(r);
}

Choice about(Choice::ChoiceKind kind, uint32_t rank, uint64_t operation, const Envelope* pattern) {
  Choice c;
  c.kind = kind;
  c.rank = rank;
  c.operation = operation;
  c.wanted_source = pattern ? pattern->source : Choice::kNoSource;
  c.wanted_tag = pattern ? pattern->tag : 0;
  c.context = pattern ? pattern->ctx : 0;
  c.source = Choice::kNoSource;
  return c;
}

}  // namespace

// ---- What ranks call ----------------------------------------------------------------------------

UnexpectedMessage* Matcher::probe(uint32_t local, const Envelope& pattern, bool take, bool waits,
                                  const char* call) {
  Box& box = box_of(local);
  Poll poll(call, waits);
  poll.pattern = pattern;
  poll.take = take;
  poll.sure = !waits && has_seen(local, pattern);
  number_receives(local);
  if (waits) {
    poll.operation = box.probes_made++;
    ++acts_;
    ++box.deeds;
  } else if (!begin_subject(&box, &poll)) {
    return nullptr;
  }
  pt2pt::ProbeSite site(call, &pattern);
  park(&box, &poll, &site);
  return poll.found;
}

bool Matcher::complete(Request* const* list, size_t count, Wanted wanted, bool waits,
                       const char* call, std::vector<uint32_t>* chosen) {
  const uint32_t local = calling_rank();
  Box& box = box_of(local);
  Poll poll(call, waits);
  poll.list = list;
  poll.count = count;
  poll.wanted = wanted;
  poll.sure = is_enough(list, count, wanted, is_sure);
  if (poll.sure && wanted == Wanted::kAll) return box.stretch.open = false, true;
  number_receives(local);
  if (!begin_subject(&box, &poll)) return false;
  pt2pt::RequestsSite site(call, list, count);
  park(&box, &poll, &site);
  if (chosen) *chosen = std::move(poll.chosen);
  return poll.hit;
}

bool Matcher::decide_test(const void* object, uint64_t part, bool (*is)(const void*, uint64_t),
                          const char* call) {
  const uint32_t local = calling_rank();
  Poll poll(call, false);
  poll.object = object;
  poll.part = part;
  poll.is = is;
  number_receives(local);
  if (!begin_subject(&box_of(local), &poll)) return false;
  const sched::WaitSite site{call, nullptr, true};
  park(&box_of(local), &poll, &site);
  return poll.hit;
}

void Matcher::run_others(const char* call) {
  if (!comm::rank_state()) return sched::yield();
  Box& box = box_of(calling_rank());
  // A yield would let others end the repetition.
  if (box.run.repeats && box.run.deeds == box.deeds) return;
  Poll poll(call, false);
  poll.of_nothing = true;
  const bool open = goes_on(box);
  const sched::WaitSite site{call, nullptr, true};
  park(&box, &poll, &site);
  box.stretch.open = open;
}

void Matcher::park(Box* box, Poll* poll, const sched::WaitSite* site) {
  poll->released = box->stretch.released;
  box->polls.push_back(poll);
  sched::park(site);
}

/// Has the rank done nothing but sleep since its last look failed?
bool Matcher::goes_on(const Box& box) const {
  const Stretch& s = box.stretch;
  return s.open && s.acts == acts_ && s.receives == box.receives &&
         sched::switch_count() - s.switches == sched::rest_count() - s.rests;
}

/// Returns false where the look fails at once.
bool Matcher::begin_subject(Box* box, Poll* poll) {
  Stretch& s = box->stretch;
  if (poll->waits || poll->sure || !goes_on(*box)) {
    ++s.number;
    s.looks.clear();
    s.repeats = false;
    s.repeated = 0;
  }
  PolledSubject look;
  look.wanted = poll->wanted;
  look.pattern = poll->pattern;
  look.of_messages = !poll->list && !poll->is;
  look.object = poll->object;
  look.part = poll->part;
  look.is = poll->is;
  ++box->deeds;
  look.take = poll->take;
  for (size_t i = 0; i < poll->count; ++i) {
    look.requests.push_back(poll->list[i]);
    look.handles.push_back(poll->list[i] ? poll->list[i]->handle : 0);
  }
  auto same = std::find_if(s.looks.begin(), s.looks.end(),
                           [&](const PolledSubject& other) { return other.is_at_same(look); });
  poll->again = same != s.looks.end();
  if (!poll->again) same = s.looks.insert(s.looks.end(), std::move(look));
  poll->look = static_cast<size_t>(same - s.looks.begin());
  poll->operation = uint64_t{s.number} << 32 | uint64_t{poll->look & 0xffff} << 16 | same->resolved;
  if (!s.repeats) return true;
  if (++s.repeated > kMostPolls) chooser_->end_redundant();
  return false;
}

// ---- What is possible ---------------------------------------------------------------------------

bool Matcher::can_succeed(uint32_t local, const PolledSubject& look) const {
  if (look.of_messages) return has_candidate(local, look.pattern);
  if (look.is) return look.is(look.object, look.part);
  bool every = true, one = false;
  for (size_t i = 0; i < look.requests.size(); ++i) {
    if (!look.requests[i]) continue;
    const Request* r = pt2pt::fast::find_request(static_cast<MPI_Request>(look.handles[i]));
    const bool complete = r && r == look.requests[i] && can_be_complete(r);
    (complete ? one : every) = complete;
  }
  return look.wanted == Wanted::kAll ? every : one;
}

bool Matcher::may_fail_again(uint32_t local, const Poll& poll) const {
  const std::vector<PolledSubject>& looks = boxes_[local].stretch.looks;
  for (size_t i = 0; i < looks.size(); ++i)
    if (i != poll.look && !looks[i].could && can_succeed(local, looks[i])) return true;
  return false;
}

void Matcher::add_sets(uint32_t local, const Poll& poll, const std::vector<uint32_t>& complete,
                       std::vector<Choice>* out) const {
  if (complete.empty()) return;
  Choice c = about(Choice::kDone, local, poll.operation, nullptr);
  if (complete.size() > kMostTogether || complete.back() >= 64) {
    chooser_->report_limit(Limit::kSets);
    c.number = 1;  // all of them
    return out->push_back(c);
  }
  for (uint64_t set = (uint64_t{1} << complete.size()) - 1; set > 0; --set) {
    c.context = 0;
    for (size_t i = 0; i < complete.size(); ++i)
      if (set >> i & 1) c.context |= uint64_t{1} << complete[i];
    out->push_back(c);
  }
}

void Matcher::add_successes(uint32_t local, std::vector<Choice>* out) const {
  for (const Poll* poll : boxes_[local].polls) {
    if (poll->is && poll->is(poll->object, poll->part))
      out->push_back(about(Choice::kDone, local, poll->operation, nullptr));
    if (!poll->list) continue;
    std::vector<uint32_t> complete;
    size_t missing = 0;
    for (uint32_t i = 0; i < poll->count; ++i) {
      if (!poll->list[i]) continue;
      if (can_be_complete(poll->list[i]))
        complete.push_back(i);
      else
        ++missing;
    }
    Choice c = about(Choice::kDone, local, poll->operation, nullptr);
    if (poll->wanted == Wanted::kSome) {
      add_sets(local, *poll, complete, out);
    } else if (poll->wanted == Wanted::kAll) {
      if (missing == 0) out->push_back(c);
    } else {
      for (uint32_t i : complete) {
        c.number = i;
        out->push_back(c);
      }
    }
  }
}

void Matcher::add_failures(uint32_t local, std::vector<Choice>* out) const {
  for (const Poll* poll : boxes_[local].polls) {
    if (poll->waits || poll->of_nothing || poll->sure) continue;
    if (poll->again && !may_fail_again(local, *poll)) continue;
    out->push_back(about(Choice::kMiss, local, poll->operation,
                         poll->list || poll->is ? nullptr : &poll->pattern));
  }
}

void Matcher::add_repeats(uint32_t local, std::vector<Choice>* out) const {
  for (const Poll* poll : boxes_[local].polls)
    if (poll->again) out->push_back(about(Choice::kRepeat, local, poll->operation, nullptr));
}

// ---- What happens -------------------------------------------------------------------------------

void Matcher::execute_poll(const Choice& choice) {
  Box& box = boxes_[choice.rank];
  Poll* poll = *std::find_if(box.polls.begin(), box.polls.end(), [&](const Poll* p) {
    return (p->list || !p->waits) && !p->of_nothing && p->operation == choice.operation;
  });
  const bool hit = choice.kind == Choice::kDone;
  EventSet past = box.past;
  MatchEvent event{events_, choice, {}};
  bool followed = !poll->is || poll->is(poll->object, poll->part);
  for (uint32_t i = 0; i < poll->count; ++i) {
    const Request* r = poll->list[i];
    if (!r) continue;
    if (!can_be_complete(r)) {
      event.missed.push_back(r);
      followed = followed && is_followed(r);
    } else if (hit && returns(*poll, choice, i)) {
      poll->chosen.push_back(i);
      if (const pt2pt::SendOp* op = bufferable(r)) buffer_send(held_of(op));
      if (auto done = box.completions.find(r); done != box.completions.end())
        past.add(done->second);
    }
  }
  box.events.push_back(std::move(event));
  chooser_->report_past(past);
  // Nobody will report when the request could have been complete.
  if (!followed) chooser_->report_race({events_, {}, true});
  past.add(events_++);
  box.past = std::move(past);
  Stretch& s = box.stretch;
  ++s.looks.at(poll->look).resolved;
  s.repeats = choice.kind == Choice::kRepeat;
  release(choice.rank, poll, hit);
}

/// Is the i-th request of the list, which is complete, among those that this choice returns?
bool Matcher::returns(const Poll& poll, const Choice& choice, uint32_t i) {
  if (poll.wanted == Wanted::kAll) return true;
  if (poll.wanted == Wanted::kOne) return choice.number == i;
  return choice.number == 1 || (choice.context >> i & 1);
}

Matcher::HeldMessage* Matcher::held_of(const pt2pt::SendOp* op) {
  for (HeldMessage& held : boxes_[op->to.local].held)
    if (held.message == op) return &held;
  FGMPI_CHECK(false);
  return nullptr;
}

void Matcher::release(uint32_t local, Poll* poll, bool hit) {
  Box& box = boxes_[local];
  Stretch& s = box.stretch;
  std::erase(box.polls, poll);
  poll->hit = hit;
  if (!hit && !poll->of_nothing) {
    PolledSubject& look = s.looks.at(poll->look);
    look.could = can_succeed(local, look);
  }
  s.open = !hit;
  s.acts = acts_;
  s.receives = box.receives;
  s.switches = sched::switch_count();
  s.rests = sched::rest_count();
  s.released = ++releases_;
  sched::ready(poll->proclet);
}

void Matcher::record_completion(uint32_t local, const Request* request, const EventSet& past,
                                const EventSet& soft) {
  Box& box = box_of(local);
  for (MatchEvent& e : box.events)
    if (std::erase(e.missed, request) > 0 && !past.has(e.event))
      chooser_->report_race({e.event, past, soft.has(e.event)});
  box.completions[request] = past;
}

/// The request at this address is another one from now on, or no longer needed.
void Matcher::forget_request(uint32_t local, const Request* request) {
  Box& box = box_of(local);
  for (MatchEvent& e : box.events) std::erase(e.missed, request);
  box.completions.erase(request);
}

// ---- When nothing else can happen ---------------------------------------------------------------

bool Matcher::retry_one_poll() {
  Poll* next = nullptr;
  uint32_t rank = 0;
  uint64_t looking = 0;
  for (uint32_t i = 0; i < boxes_.size(); ++i)
    for (Poll* poll : boxes_[i].polls) {
      if (poll->waits) continue;
      ++looking;
      if (next && poll->released >= next->released) continue;
      next = poll;
      rank = i;
    }
  Turn* turn = nullptr;
  for (uint32_t i = 0; i < boxes_.size(); ++i)
    for (Turn* t : boxes_[i].turns) {
      if (!is_possible(*t->access)) continue;
      ++looking;
      if (turn && t->released >= turn->released) continue;
      if (next && t->released >= next->released) continue;
      turn = t;
      rank = i;
    }
  if (!next && !turn) return false;
  if (barren_ == 0 || barren_acts_ != acts_) {
    barren_ = 0;
    barren_acts_ = acts_;
    barren_since_ = now_ns();
  }
  const bool slow = now_ns() - barren_since_ > kSlow;
  if (++barren_ > looking * (slow ? kForEverWhenSlow : kForEver)) report_endless();
  turn ? release_turn(&boxes_[rank], turn) : release(rank, next, false);
  return true;
}

void Matcher::report_endless() const {
  std::string text =
      "fgmpi: explore: ranks look for ever for what cannot come any more: nothing else can "
      "happen\n";
  for (uint32_t i = 0; i < boxes_.size(); ++i)
    for (const Poll* poll : boxes_[i].polls)
      if (!poll->waits) text += format("fgmpi:   %s of rank %u\n", poll->call, i);
  for (uint32_t i = 0; i < boxes_.size(); ++i)
    for (const Turn* turn : boxes_[i].turns)
      text += format("fgmpi:   %s of rank %u\n", turn->site->call, i);
  std::fputs(text.c_str(), stderr);
  end_process(1);
}

}  // namespace fgmpi::explore
