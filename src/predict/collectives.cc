// Collectives on the predicted machine: each member goes through the rounds of its schedule.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coll/coll.h"
#include "comm/comm.h"
#include "comm/meeting.h"
#include "comm/topology.h"
#include "predict/simulator.h"
#include "pt2pt/sites.h"

namespace fgmpi::predict {

using coll::Args;
using coll::CallMode;
using coll::CollectiveBuffer;
using coll::CollectiveKind;

namespace {

/// Bytes that MPICH's members exchange to agree on a context id (a mask of 2,048 bits).
constexpr uint64_t kContextMaskBytes = 256;

bool is_neighbour(CollectiveKind kind) { return kind >= CollectiveKind::kNeighborAllgather; }

uint64_t size_of(const coll::Segment& segment) { return static_cast<uint64_t>(segment.bytes()); }

/// Fills in the bytes with each peer, those of the peers at the least distance first.
void fill_by_distance(const CollectiveBuffer& buffer, uint32_t n, uint32_t me, bool receives,
                      std::vector<RoundPart>* out) {
  for (uint32_t d = 1; d < n; ++d) {
    const uint32_t peer = receives ? (me + d) % n : (me + n - d) % n;
    if (const uint64_t bytes = size_of(buffer.segment(peer))) out->push_back({peer, bytes});
  }
}

void fill_neighbours(const comm::Comm* comm, const Args& args, MemberBytes* out) {
  std::vector<int32_t> sources, destinations;
  comm::neighbors_of(comm, &sources, &destinations);
  const bool same = args.kind == CollectiveKind::kNeighborAllgather ||
                    args.kind == CollectiveKind::kNeighborAllgatherv;
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i] >= 0)
      out->receives.push_back(
          {static_cast<uint32_t>(sources[i]), size_of(args.recv.segment(static_cast<int64_t>(i)))});
  for (size_t i = 0; i < destinations.size(); ++i)
    if (destinations[i] >= 0)
      out->sends.push_back(
          {static_cast<uint32_t>(destinations[i]),
           size_of(same ? args.send.whole() : args.send.segment(static_cast<int64_t>(i)))});
}

}  // namespace

/// Fills in what a run's members have in common, from the arguments of the first that arrives.
void Simulator::fill_shape(const comm::Comm* comm, uint8_t operation, const Args* args,
                           CollectiveRun* run) {
  ScheduledCollective& shape = run->shape;
  shape.members = static_cast<uint32_t>(comm->size());
  if (!args || comm->shared->inter) {
    const bool is_barrier = operation < comm::kFirstOther;
    shape.kind = is_barrier ? CollectiveKind::kBarrier : CollectiveKind::kAllreduce;
    shape.bytes = is_barrier ? 0 : kContextMaskBytes;
  } else {
    shape.kind = args->kind;
    shape.root = static_cast<uint32_t>(std::max(args->root, 0));
    const coll::Segment send = args->send.whole(), receive = args->recv.whole();
    switch (shape.kind) {
      case CollectiveKind::kBcast:
        shape.bytes = size_of(receive);
        break;
      case CollectiveKind::kScatter:
      case CollectiveKind::kAllgather:
        shape.bytes =
            size_of(args->in_place && shape.kind == CollectiveKind::kScatter ? send : receive);
        break;
      case CollectiveKind::kGather:
        shape.bytes = size_of(args->in_place ? receive : send);
        break;
      case CollectiveKind::kAllgatherv:
        shape.bytes = static_cast<uint64_t>(args->recv.bytes(0, comm->size())) / shape.members;
        break;
      case CollectiveKind::kReduceScatter:
        shape.bytes = static_cast<uint64_t>(args->recv.bytes(0, comm->size())) / shape.members;
        break;
      case CollectiveKind::kReduceScatterBlock:
        shape.bytes = size_of(receive);
        break;
      default:
        shape.bytes = size_of(send);
    }
  }
  shape.algorithm = choose_algorithm(shape.kind, shape.members, shape.bytes);
  run->members.resize(shape.members);
  for (uint32_t i = 0; i < shape.members; ++i)
    run->members[i].rank =
        static_cast<uint32_t>(comm->shared->map.world_of(static_cast<int32_t>(i)));
  run->unreleased = shape.members;
}

/// Fills in the bytes of one member where members differ.
void Simulator::fill_member(const comm::Comm* comm, const Args* args, CollectiveRun* run) {
  const auto me = static_cast<uint32_t>(comm->rank);
  MemberBytes& own = run->members[me].own;
  const uint32_t n = run->shape.members, root = run->shape.root;
  switch (run->shape.kind) {
    case CollectiveKind::kAlltoallv:
    case CollectiveKind::kAlltoallw:
      fill_by_distance(args->recv, n, me, true, &own.receives);
      return fill_by_distance(args->in_place ? args->recv : args->send, n, me, false, &own.sends);
    case CollectiveKind::kGatherv:
      if (me == root) return fill_by_distance(args->recv, n, me, true, &own.receives);
      if (size_of(args->send.whole())) own.sends.push_back({root, size_of(args->send.whole())});
      return;
    case CollectiveKind::kScatterv:
      if (me == root) return fill_by_distance(args->send, n, me, false, &own.sends);
      if (size_of(args->recv.whole())) own.receives.push_back({root, size_of(args->recv.whole())});
      return;
    default:
      if (is_neighbour(run->shape.kind)) fill_neighbours(comm, *args, &own);
  }
}

void Simulator::record_arrival(const comm::Comm* comm, const comm::Meeting* meeting,
                               uint8_t operation, const comm::Arrival* arrival) {
  const Args* args = std::exchange(arguments_, nullptr);
  if (!comm::rank_state() || comm->size() < 2) return;
  // A request's arguments are its arrival, those of a blocking collective have been announced.
  if (arrival && operation < comm::kFirstOther) args = static_cast<const Args*>(arrival);
  CollectiveRun*& run = open_runs_[meeting];
  if (meeting->arrived == 1) {
    run = new CollectiveRun;
    fill_shape(comm, operation, args, run);
  }
  const auto me = static_cast<uint32_t>(comm->rank);
  CollectiveRun* const joined = run;
  if (meeting->full) open_runs_.erase(meeting);
  CollectiveMember& member = joined->members[me];
  PredictedRank& rank = running();
  member.arrived = true;
  member.clock = rank.clock;
  if (args) fill_member(comm, args, joined);
  const bool blocks =
      operation < comm::kFirstOther && operation % 4 == static_cast<uint8_t>(CallMode::kBlocking);
  if (arrival && arrival->request && !blocks) {
    runs_of_requests_[arrival->request] = {joined, me};
  } else if (sched::current()->kind == sched::ProcletKind::kRank) {
    rank.runs.push_back({joined, me});
  } else {
    member.detached = true;  // nobody waits: a helper makes a communicator, say
  }
  advance(joined, me);
}

// ---- Rounds -------------------------------------------------------------------------------------

/// Takes a message that has come before its round. Returns false where it has yet to come, or its
/// data has.
bool Simulator::take_early(CollectiveRun* run, uint32_t number, const RoundPart& part) {
  CollectiveMember& member = run->members[number];
  for (auto it = member.early.begin(); it != member.early.end(); ++it) {
    if (it->from != part.peer) continue;
    const CollectiveMember::EarlyPart early = *it;
    member.early.erase(it);
    raise_clock(&member.clock, early.at);
    if (early.envelope) {
      permit(early.envelope, member.clock);
      return false;
    }
    member.clock += receive_overhead(run, part.peer, number, part.bytes);
    return true;
  }
  return false;
}

VirtualTime Simulator::receive_overhead(const CollectiveRun* run, uint32_t from, uint32_t to,
                                        uint64_t bytes) const {
  const uint32_t a = ranks_[run->members[from].rank].node, b = ranks_[run->members[to].rank].node;
  return machine_.link(a, b).piece(bytes).receive_overhead;
}

/// Begins rounds until one has to wait. The events of its messages are at its clock or later.
void Simulator::advance(CollectiveRun* run, uint32_t number) {
  CollectiveMember& member = run->members[number];
  while (fill_round(run->shape, member.own, number, member.round, &round_)) {
    for (const RoundPart& part : round_.sends) {
      PredictedTransfer* const t = new_transfer();
      t->run = run;
      t->sender = number;
      t->receiver = part.peer;
      t->from = member.rank;
      t->to = run->members[part.peer].rank;
      t->bytes = part.bytes;
      const LinkClass& link = link_of(*t);
      member.clock += link.piece(t->bytes).send_overhead;
      t->rendezvous = t->bytes > link.eager_bytes;
      if (t->rendezvous) ++member.unsent;
      ++transfers_made_;
      push_event(member.clock, Event::kSend, t->from, t);
    }
    member.awaited.clear();
    for (const RoundPart& part : round_.receives)
      if (!take_early(run, number, part)) member.awaited.push_back(part.peer);
    member.combined = round_.combined;
    if (!member.awaited.empty() || member.unsent) return;
    end_round(&member);
  }
  PredictedTransfer* const end = new_transfer();  // carries the member to its event
  end->run = run;
  end->receiver = number;
  push_event(member.clock, Event::kFinish, member.rank, end);
}

void Simulator::end_round(CollectiveMember* member) {
  member->clock += from_ns(static_cast<double>(member->combined) * machine_.reduce_per_byte / 1000);
  ++member->round;
}

/// Goes on with a member that may have nothing left to wait for in its round.
void Simulator::go_on(CollectiveRun* run, uint32_t number) {
  CollectiveMember& member = run->members[number];
  if (!member.awaited.empty() || member.unsent) return;
  end_round(&member);
  advance(run, number);
}

void Simulator::part_arrived(PredictedTransfer* t) {
  CollectiveRun* const run = t->run;
  const uint32_t number = t->receiver;
  CollectiveMember& member = run->members[number];
  const auto awaited = std::find(member.awaited.begin(), member.awaited.end(), t->sender);
  const bool is_awaited = member.arrived && awaited != member.awaited.end();
  if (t->rendezvous) {
    if (!is_awaited) return member.early.push_back({t->sender, now_, t});
    return permit(t, std::max(now_, member.clock));
  }
  if (!is_awaited && !t->sends_data) {
    member.early.push_back({t->sender, now_, nullptr});
    return free_transfer(t);
  }
  if (is_awaited) member.awaited.erase(awaited);
  raise_clock(&member.clock, now_);
  member.clock += receive_overhead(run, t->sender, number, t->bytes);
  free_transfer(t);
  go_on(run, number);
}

void Simulator::part_sent(PredictedTransfer* t) {
  CollectiveMember& member = t->run->members[t->sender];
  --member.unsent;
  raise_clock(&member.clock, now_);
  go_on(t->run, t->sender);
}

// ---- The end ------------------------------------------------------------------------------------

/// A member's schedule has ended.
void Simulator::member_finished(PredictedTransfer* end) {
  CollectiveRun* const run = end->run;
  CollectiveMember& member = run->members[end->receiver];
  free_transfer(end);
  member.finished = true;
  const uint32_t index = member.rank;
  PredictedRank& rank = ranks_[index];
  coll::EarlyExitWait* const wait = rank.early_exit;
  if (wait && !rank.runs.empty() && rank.runs.back().run == run && !wait->request->complete() &&
      wait->request->waiter && wait->may_leave()) {
    wait->left = true;
    rank.early_exit = nullptr;
    sched::Proclet* const proclet = std::exchange(wait->request->waiter, nullptr)->proclet;
    FGMPI_CHECK(proclet->state == sched::ProcletState::kParked);
    sched::ready(proclet);
    return;
  }
  touch(index);
  if (member.detached) release_run(run);
}

void Simulator::begin_early_exit_wait(coll::EarlyExitWait* wait) { running().early_exit = wait; }
void Simulator::end_early_exit_wait(coll::EarlyExitWait*) { running().early_exit = nullptr; }

void Simulator::await_run(uint32_t index, CollectiveRun* run, uint32_t number) {
  const sched::WaitSite site{"collective", nullptr, true};
  while (!run->members[number].finished) await_touch(index, kNever, &site);
  raise_clock(&ranks_[index].clock, run->members[number].clock);
  raise_clock(&ranks_[index].clock, now_);
  release_run(run);
}

void Simulator::release_run(CollectiveRun* run) {
  if (--run->unreleased == 0) delete run;
}

}  // namespace fgmpi::predict
