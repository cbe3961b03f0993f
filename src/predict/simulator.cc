// Clocks, events, ports and what arrives.

#include "predict/simulator.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "comm/comm.h"
#include "proclet-sched/coroutine/queue.h"
#include "pt2pt/engine.h"

namespace fgmpi::predict {

using pt2pt::RecvOp;
using pt2pt::Request;
using pt2pt::SendOp;
using pt2pt::UnexpectedMessage;

namespace {

/// What a look at the clock takes where computing takes no time.
constexpr VirtualTime kClockCost = 20 * kPicosecondsPerNs;
/// Computing that takes longer (ns) is compared with the processor time of the process: another
/// program that takes the processor keeps it for longer. The comparison is a system call.
constexpr int64_t kLongSegment = 20'000;
constexpr sched::WaitSite kEnterSite{"a call of MPI", nullptr, true};
/// From this poll in vain on, a rank that goes on polling is moved forward in time.
constexpr uint32_t kVainPolls = 3;
/// A rank that polls in vain is moved by at most one part in so many of the time that it has
/// polled.
constexpr VirtualTime kVainPart = 64;
/// A rank that polls in vain is moved by no more than this at a time: what it waits for may come
/// from outside of MPI, at a real time.
constexpr VirtualTime kLongestVain = 10 * kSecond * kPicosecondsPerNs;
/// A rank that looks at the clock so often between two calls waits for a time.
constexpr uint32_t kLooksInARow = 32;
/// The most ranks that a program may spawn: others keep references to ranks, which may not move.
/// The memory of those that are not there is not touched.
constexpr uint32_t kMostSpawned = 1 << 16;
/// A rank that computes for less is taken to be in MPI all the time: it polls.
constexpr VirtualTime kShortAway = 5'000 * kPicosecondsPerNs;

/// A rank that has had no processor for longer (ns), and has given it up itself meanwhile, has
/// waited for something outside of MPI.
constexpr int64_t kLongSleep = 100'000;

/// How often the calling thread has given up the processor to wait for something.
int64_t waits_of_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/// The processor time of the calling thread, ns.
int64_t processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return to_ns(t);
}

}  // namespace

Simulator::Simulator(uint32_t ranks, PredictedMachine machine)
    : machine_(std::move(machine)),
      keeps_away_(!machine_.overlaps || is_buffer_bounded()),
      computes_(machine_.compute != ComputeModel::kNone),
      watches_calls_(computes_),
      ranks_(ranks),
      known_ranks_(ranks),
      initial_ranks_(ranks),
      nodes_(ranks),
      rank_ports_(ranks) {
  uint32_t nodes = 0;
  for (uint32_t i = 0; i < ranks; ++i) {
    nodes_[i] = machine_.node_of(i, ranks);
    nodes = std::max(nodes, nodes_[i] + 1);
  }
  always_buffered = std::min(machine_.inside.eager_bytes, machine_.between.eager_bytes);
  ranks_.reserve(ranks + size_t{kMostSpawned});
  node_ports_.resize(nodes);
  std::vector<uint32_t> ranks_of_nodes(nodes);
  for (const uint32_t node : nodes_) ++ranks_of_nodes[node];
  for (const uint32_t on_node : ranks_of_nodes)
    node_factors_.push_back(machine_.compute_factor * machine_.memory.stretch(on_node));
  if (machine_.explains) path_ = std::make_unique<CriticalPath>(ranks);
  may_overtake_ = machine_.contention == ContentionModel::kLinks ||
                  machine_.inside.pieces.size() + machine_.between.pieces.size() > 2;
  if (machine_.topology.kind != TopologyKind::kNone ||
      machine_.contention == ContentionModel::kLinks || machine_.files.moves())
    network_ = std::make_unique<TransferNetwork>(machine_, nodes);
  sends_ahead_ = !network_ && !path_;
  has_one_rank_a_node_ = nodes == ranks;
}

// ---- Clocks -------------------------------------------------------------------------------------

/// A spawned rank begins when its parent, or what wakes it, does. It fills the nodes after the
/// others.
void Simulator::add_rank() {
  const auto index = static_cast<uint32_t>(ranks_.size());
  FGMPI_CHECK(ranks_.size() < ranks_.capacity());
  VirtualTime begin = now_;
  if (comm::rank_state() && running_index() < index)
    raise_clock(&begin, ranks_[running_index()].clock);
  ranks_.emplace_back().clock = begin;
  ++known_ranks_;
  rank_ports_.emplace_back();
  nodes_.push_back(index / machine_.ranks_per_node);
  if (path_) path_->add_rank();
  if (nodes_.back() < node_ports_.size()) {
    has_one_rank_a_node_ = false;
    return;
  }
  node_ports_.resize(nodes_.back() + size_t{1});
  node_factors_.resize(node_ports_.size(), machine_.compute_factor);
}

/// What the rank has computed since it left its last call, ns: the time that has passed, without
/// what other programs have had of the processor meanwhile.
int64_t Simulator::measured_computing(const PredictedRank& rank) {
  const int64_t now = now_ns();
  int64_t passed = now - rank.left_ns;
  if (looked_at_ > rank.left_ns) {  // others have run since: it has waited outside of MPI
    waited_outside_ += looked_at_ - rank.left_ns;
    passed = now - looked_at_;
  }
  if (passed > kLongSegment) {
    const int64_t used = processor_ns();
    const int64_t stolen = (now - looked_at_) - (used - used_then_);
    passed -= std::clamp<int64_t>(stolen, 0, passed);
    if (stolen > kLongSleep && waits_of_thread() != waits_then_) waited_outside_ += stolen;
    looked_at_ = now;
    used_then_ = used;
  }
  return passed;
}

void Simulator::add_computing(PredictedRank* rank, uint64_t place) {
  if (rank->left_ns < 0 || !computes_) return;
  const auto index = static_cast<uint32_t>(rank - ranks_.data());
  int64_t passed = 0;
  if (machine_.compute != ComputeModel::kRepeated) {
    passed = measured_computing(*rank);
    if (machine_.keeps_times) times_->add(index, passed);
  } else if ((passed = times_->take(index)) < 0) {
    ++times_missing_;
    passed = kClockCost / kPicosecondsPerNs;  // time passes for a program that looks at the clock
  }
  const double factor = node_factors_[nodes_[index]];
  if (machine_.compute == ComputeModel::kTypical) {
    const int64_t typical = typical_.typical_of(index, rank->place, place, passed);
    corrected_ += from_ns(static_cast<double>(passed - typical) * factor);
    passed = typical;
  }
  const VirtualTime time = from_ns(static_cast<double>(passed) * factor);
  rank->clock += time;
  rank->times.computing += time;
}

/// Begins to measure what the rank computes.
void Simulator::leave_library(PredictedRank* rank) {
  rank->left_ns = 0;
  if (!computes_ || machine_.compute == ComputeModel::kRepeated) return;
  rank->left_ns = now_ns();
  if (rank->left_ns - looked_at_ < kLongSegment) return;
  waits_then_ = waits_of_thread();
  used_then_ = processor_ns();
  rank->left_ns = looked_at_ = now_ns();  // these looks are not a part of what it computes
}

void Simulator::enter_slowly(CallGroup group, uint64_t place) {
  PredictedRank& rank = running();
  if (rank.depth > 0) {  // a callback of the program calls MPI
    ++rank.depth;
    return;
  }
  if (observer_ && place) place = observer_->place(running_index());
  if (computes_) {
    const VirtualTime left = rank.clock;
    add_computing(&rank, place);
    record_away(&rank, left);
  }
  if (group == CallGroup::kFile) set_in_file(&rank, true);
  if (observer_) observer_->enter(running_index(), rank.clock / kPicosecondsPerNs);
  begin_call(&rank, group, place);
}

/// A program that calls on and on without waiting: others get their turn, as they would there.
void Simulator::give_turn(PredictedRank* rank) {
  if (!computes_) rank->clock += kCallsInARow * kClockCost;
  settle(running_index(), &kEnterSite);
}

void Simulator::record_away(PredictedRank* rank, VirtualTime from) const {
  if (!keeps_away_ || rank->clock - from < kShortAway) return;
  RareState& times = rank->rare();
  if (times.away_until != from) times.away_from = from;
  times.away_until = rank->clock;
}

void Simulator::leave_slowly(uint32_t index) {
  PredictedRank& rank = ranks_[index];
  if (rank.depth > 1) {
    --rank.depth;
    return;
  }
  for (uint32_t i = 0; i < rank.runs.size(); ++i)
    await_run(index, rank.runs[i].run, rank.runs[i].member);
  rank.runs.clear();
  if (const VirtualTime overhead = std::exchange(rank.found, 0)) {
    rank.clock += overhead;
    rank.times.overhead += overhead;
  }
  if (observer_)
    observer_->leave(index, rank.clock / kPicosecondsPerNs,
                     rank.times.overhead / kPicosecondsPerNs);
  if (rank.in_file) set_in_file(&rank, false);
  end_call(&rank);
  if (computes_) leave_library(&rank);
}

int64_t Simulator::rank_now_ns() {
  if (!comm::rank_state()) return -1;
  PredictedRank& rank = running();
  if (!rank.depth && rank.left_ns >= 0) {
    add_computing(&rank, 0);
    leave_library(&rank);
    if (rank.looks < UINT16_MAX) ++rank.looks;
    if (rank.looks == kLooksInARow || rank.vain >= kVainPolls) rank.by_clock = true;
    if (!computes_) rank.clock += time_of_look(&rank);
  }
  return rank.clock / kPicosecondsPerNs;
}

/// Time passes for a program that waits by looking at the clock, also where computing takes none.
/// The longer it has looked, the more at a time.
VirtualTime Simulator::time_of_look(PredictedRank* rank) {
  if (rank->looks < kLooksInARow) return kClockCost;
  VirtualTime& since = rank->rare().looked_since;
  if (rank->looks == kLooksInARow) since = rank->clock - kLooksInARow * kClockCost;
  return std::clamp((rank->clock - since) / kVainPart, kClockCost, kLongestVain);
}

int64_t Simulator::clock_ns() {
  return comm::rank_state() ? running().clock / kPicosecondsPerNs : -1;
}

void Simulator::pass_ns(int64_t ns) {
  if (!comm::rank_state()) return;
  PredictedRank& rank = running();
  if (!rank.depth && rank.left_ns >= 0) {
    add_computing(&rank, 0);
    leave_library(&rank);
  }
  const VirtualTime from = rank.clock;
  rank.clock += ns * kPicosecondsPerNs;
  record_away(&rank, from);
  const uint32_t vain = rank.vain;
  yield();           // a program that sleeps in a loop waits for others
  rank.vain = vain;  // it goes on polling, if it has polled before
}

void Simulator::yield() {
  enter(CallGroup::kOther);
  run_others("MPIX_Yield");
  leave();
}

uint64_t Simulator::draw_number() {
  PredictedRank& rank = running();
  return mix(running_index() + 1, ++rank.draws);
}

// ---- Events -------------------------------------------------------------------------------------

void Simulator::push_sent(VirtualTime at, PredictedTransfer* t) {
  PredictedTransfer* const event = new_transfer();
  event->from = t->from;
  event->sent = t;
  push_event(at, NextEvent::kSent, event);
}

void Simulator::happen_rarely(PredictedTransfer* t) {
  switch (t->event) {
    case NextEvent::kSend:
    case NextEvent::kReach:
      return;  // happen() has these
    case NextEvent::kArrive:
      return arrive(t);
    case NextEvent::kClear:
      return clear(t);
    case NextEvent::kSent: {
      PredictedTransfer* const sent = t->sent;
      free_transfer(t);
      return have_sent(sent);
    }
    case NextEvent::kFinish:
      return member_finished(t);
    case NextEvent::kWake:
      if (ranks_[t->from].wakes == t) wake(t->from, t->at);
      free_transfer(t);
  }
}

VirtualTime Simulator::next_time() {
  const VirtualTime event = events_.first_time();
  if (!network_ || !network_->has_shares()) return event;
  return std::min(event, network_->first(now_, event));
}

bool Simulator::all_parked() {
  in_event_ = true;
  for (;;) {
    const VirtualTime event = events_.first_time(), next = network_ ? next_time() : event;
    // Events at the same time belong to one look: ranks that they wake are at this time or later.
    if (next == kNever || (next > now_ && sched::anything_ready())) break;
    now_ = next;
    if (next < event)
      end_flow(network_->pop());
    else
      happen(events_.pop());
  }
  in_event_ = false;
  return sched::anything_ready();
}

void Simulator::wake(uint32_t index, VirtualTime at, const PathHop* hop) {
  PredictedRank& rank = ranks_[index];
  rank.touchable = false;
  rank.calls_in_a_row = 0;
  rank.wakes = nullptr;
  raise_by(index, &rank.clock, at, hop);
  sched::Proclet* const proclet = std::exchange(rank.parked, nullptr);
  FGMPI_CHECK(proclet && proclet->state == sched::ProcletState::kParked);
  sched::ready(proclet);
}

void Simulator::park_until(uint32_t index, VirtualTime latest, const sched::WaitSite* site) {
  PredictedRank& rank = ranks_[index];
  FGMPI_CHECK(!rank.parked);
  if (latest != kNever) {
    PredictedTransfer* const event = new_transfer();
    event->from = index;
    push_event(latest, NextEvent::kWake, event);
    rank.wakes = event;
  }
  rank.parked = sched::current();
  sched::park(site);
}

void Simulator::await_touch(uint32_t index, VirtualTime latest, const sched::WaitSite* site) {
  ranks_[index].touchable = true;
  park_until(index, latest, site);
}

void Simulator::settle(uint32_t index, const sched::WaitSite* site) {
  const VirtualTime clock = ranks_[index].clock;
  if (!sched::anything_ready() && next_time() > clock) return;
  park_until(index, clock, site);
}

void Simulator::poll_in_vain(uint32_t index, const sched::WaitSite* site, VirtualTime until) {
  PredictedRank& rank = ranks_[index];
  if (rank.vain == 0) rank.rare().vain_since = rank.clock;
  rank.clock += kPollCost;
  if (++rank.vain < kVainPolls) return;
  const VirtualTime part = (rank.clock - rank.rare().vain_since) / kVainPart;
  const VirtualTime most = rank.clock < kNever / 2 ? kLongestVain : kPollCost;
  const VirtualTime step = std::clamp(part, kPollCost, most);
  await_touch(index, std::min(rank.clock + step, std::max(until, rank.clock)), site);
}

void Simulator::run_others(const char* call) {
  const sched::WaitSite site{call, nullptr, true};
  const uint32_t index = running_index();
  ranks_[index].clock += kPollCost;
  settle(index, &site);
}

// ---- Ports --------------------------------------------------------------------------------------

PredictedTransfer* Simulator::add_transfer() {
  return path_ ? &explained_transfers_.emplace_back() : &transfers_.emplace_back();
}

void Simulator::begin_hop(PredictedTransfer* t, uint32_t rank, VirtualTime clock) {
  const PredictedRank& r = ranks_[rank];
  t->has_hop = true;
  *hop_of_transfer(t) = {rank, clock, r.times.computing, r.place};
}

PathHop* Simulator::known_hop_of(uint32_t index) {
  if (index >= hops_of_requests_.size()) hops_of_requests_.resize(2 * size_t{index} + 1);
  return &hops_of_requests_[index];
}

/// The bytes move with those of others that share links with them. A message that is shorter than
/// the gap of its port has left it before the port is free again.
void Simulator::begin_flow(PredictedTransfer* t, const LinkPiece& piece, uint64_t bytes) {
  t->at = now_ + occupancy(piece, bytes);
  network_->begin(now_, piece, bytes, nodes_[t->from], nodes_[t->to], t);
}

void Simulator::end_flow(PredictedTransfer* t) {
  if (t->stage == AccessStage::kFile) return end_access(t, t->from);
  const uint64_t bytes = bytes_under_way(*t);
  const LinkPiece& piece = link_of(*t).piece(bytes);
  const VirtualTime gap = occupancy(piece, bytes) - data_time(piece, bytes);
  contention_ += now_ - t->at;
  if (PathHop* const hop = hop_of_transfer(t)) {
    hop->waited += now_ - t->at;
    hop->latency += latency_of(*t, piece);
  }
  if (t->sends_data) push_sent(now_ - gap, t);
  push_event(now_ - gap + latency_of(*t, piece), NextEvent::kArrive, t);
}

void Simulator::leave_port(PredictedTransfer* t) {
  if (__builtin_expect(t->stage == AccessStage::kFile, 0))
    return network_->begin_file(now_, machine_.files, t, t->bytes);
  const uint64_t bytes = bytes_under_way(*t);
  const LinkPiece& piece = link_of(*t).piece(bytes);
  if (network_ && network_->shares_links() && !t->is_inside) return begin_flow(t, piece, bytes);
  if (is_message(*t) && !t->rendezvous && leaves_own_port(*t)) --ranks_[t->from].port_users;
  const VirtualTime start = occupy(&port_of(*t, t->from).out, occupancy(piece, bytes));
  if (PathHop* const hop = hop_of_transfer(t)) {
    hop->waited += start - now_;
    hop->latency += latency_of(*t, piece);
  }
  if (t->sends_data) push_sent(start + data_time(piece, bytes), t);
  push_event(start + latency_of(*t, piece), NextEvent::kReach, t);
}

void Simulator::reach_port(PredictedTransfer* t) {
  const uint64_t bytes = bytes_under_way(*t);
  const LinkPiece& piece = link_of(*t).piece(bytes);
  const VirtualTime taken = data_time(piece, bytes);
  const VirtualTime start = occupy(&port_of(*t, t->to).in, std::max(taken, piece.gap));
  const VirtualTime arrival = start + taken;
  if (PathHop* const hop = hop_of_transfer(t)) hop->waited += start - now_;
  // What arrives later cannot change what these do, so they need no event of their own.
  if (!t->sends_data && t->stage == AccessStage::kNone) {
    if (t->is_part && receives_one_a_round(t->run->shape.algorithm))
      return part_arrived(t, arrival);
    if (!t->is_part && completes_early(t, arrival)) return;
  }
  if (is_message(*t) && !t->sends_data && !t->has_sent) ++ranks_[t->to].arriving;
  push_event(arrival, NextEvent::kArrive, t);
}

void Simulator::arrive(PredictedTransfer* t) {
  if (t->stage != AccessStage::kNone) return access_arrived(t);
  if (t->is_part) return part_arrived(t, now_);
  if (is_buffer_bounded() && !t->rendezvous && !t->sends_data && !t->has_moved) {
    t->has_moved = true;
    if (const VirtualTime moved = time_with_receiver(*t); moved > now_) {
      push_event(moved, NextEvent::kArrive, t);
      return;
    }
  }
  if (t->sends_data || t->has_sent) return complete_receive(t, request_of(*t->receive), now_);
  if (network_ == nullptr || !network_->shares_links()) --ranks_[t->to].arriving;
  if (!may_overtake_) return deliver(t);
  t->waits = t->is_behind;
  while (t && !t->is_behind) {
    PredictedTransfer* const next = end_order(t);
    deliver(t);
    t = next;
  }
}

/// When the bytes of a short message that arrives now have come: while its receiver is away, no
/// more come than buffers hold.
VirtualTime Simulator::time_with_receiver(const PredictedTransfer& t) {
  const RareState& rank = ranks_[t.to].rare();
  const LinkPiece& piece = link_of(t).piece(t.bytes);
  const VirtualTime whole = data_time(piece, t.bytes), begun = now_ - whole;
  if (t.bytes <= machine_.buffered_bytes || rank.away_until <= begun || rank.away_from >= now_)
    return now_;
  const VirtualTime before = std::max<VirtualTime>(rank.away_from - begun, 0);
  const VirtualTime rest = whole - before - data_time(piece, machine_.buffered_bytes);
  return std::max(now_, rank.away_until + std::max<VirtualTime>(rest, 0));
}

/// The transfer is the latest of its sender to its receiver.
void Simulator::keep_order(PredictedTransfer* t) {
  PredictedTransfer*& latest = latest_[uint64_t{t->from} << 32 | t->to];
  if (latest) {
    latest->behind = t;
    t->is_behind = true;
  }
  latest = t;
}

/// The transfer is delivered. Returns the one behind it, if that waits for it.
PredictedTransfer* Simulator::end_order(PredictedTransfer* t) {
  PredictedTransfer* const next = std::exchange(t->behind, nullptr);
  if (!next) {
    latest_.erase(uint64_t{t->from} << 32 | t->to);
    return nullptr;
  }
  next->is_behind = false;
  return next->waits ? next : nullptr;
}

void Simulator::deliver(PredictedTransfer* t) {
  if (!t->message) return free_transfer(t);  // cancelled
  UnexpectedMessage* const message = t->message;
  remove_unmatched(t);
  t->arrived = true;
  message->kind = UnexpectedMessage::kHeldBack;
  message->addr = reinterpret_cast<uint64_t>(t);
  pt2pt::Endpoint* const at = pt2pt::g_engine.at(t->to);
  if (RecvOp* op = pt2pt::match_posted(at, message->envelope)) return match_held_back(message, op);
  pt2pt::push_unexpected(at, message);
  touch(t->to, hop_of_transfer(t));
}

/// The receiver of a rendezvous permits the sender to send the data.
void Simulator::permit(PredictedTransfer* t, VirtualTime at) {
  const VirtualTime latency = latency_of(*t, link_of(*t).piece(0));
  if (!machine_.overlaps && !t->is_part)
    if (const RareState& rank = ranks_[t->to].rare(); rank.away_from <= at)
      raise_clock(&at, rank.away_until);  // it permits when it is in a call again
  t->rendezvous = false;
  if (PathHop* const hop = hop_of_transfer(t)) {
    // The path goes through the receiver, where that has made the message wait.
    if (at > now_ || !in_event_) begin_hop(t, t->to, at);
    hop->latency += latency;
  }
  t->of_receiver = true;
  push_event_of(t->to, at + latency, NextEvent::kClear, t);
}

/// Permission to send has reached the sender.
void Simulator::clear(PredictedTransfer* t) {
  if (t->stage != AccessStage::kNone) return access_answered(t);
  const PredictedRank& rank = ranks_[t->from];
  // Without progress in the background the sender of a message has to be in a call of MPI.
  const bool waits = !t->is_part && !machine_.overlaps && rank.depth && rank.entered > now_;
  t->sends_data = true;
  push_event(waits ? rank.entered : now_, NextEvent::kSend, t);
}

/// The data of a rendezvous has left the sender's memory.
void Simulator::have_sent(PredictedTransfer* t) {
  if (t->is_part) return part_sent(t);
  auto* send = static_cast<SendOp*>(t->message);
  pt2pt::fill_from(t->receive, send->envelope, *send->buffer);
  t->has_sent = true;
  t->message = nullptr;
  Request* const request = request_of(*send);
  if (request && request->handle)
    finish_request(request->handle, now_, 0, hop_of_transfer(t));
  else
    raise_by(t->from, &ranks_[t->from].clock, now_, hop_of_transfer(t));
  pt2pt::complete_op(send);
  touch(t->from, hop_of_transfer(t));
}

void Simulator::fill_outcome(PredictionOutcome* out) const {
  out->machine = machine_.name;
  out->nodes = static_cast<uint32_t>(node_ports_.size());
  out->transfers = transfers_made_;
  out->events = events_.pushed();
  out->contention = contention_;
  out->corrected = corrected_;
  out->times_missing = times_missing_;
  out->waited_outside = waited_outside_ * kPicosecondsPerNs;
  if (machine_.compute == ComputeModel::kRepeated) out->times_left = times_->left();
  for (const auto& [key, count] : schedules_)
    out->schedules.push_back({key.first, key.second, count});
  out->ranks.clear();
  out->by_clock = 0;
  for (const PredictedRank& rank : ranks_) {
    out->by_clock += rank.by_clock;
    out->ranks.push_back({rank.times, rank.clock});
  }
  if (!path_) return;
  const auto last = std::max_element(
      ranks_.begin(), ranks_.end(),
      [](const PredictedRank& a, const PredictedRank& b) { return a.clock < b.clock; });
  out->path = path_->follow(static_cast<uint32_t>(last - ranks_.begin()), last->clock,
                            last->times.computing, last->place);
}

}  // namespace fgmpi::predict
