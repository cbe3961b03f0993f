// Collectives on the predicted machine: each member goes through the rounds of its schedule.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "ch4-av-rankmap/av.h"
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

static_assert(static_cast<int>(CollectiveKind::kBcast) == 1 &&
                  static_cast<int>(CollectiveKind::kAlltoall) == 8 &&
                  static_cast<int>(CollectiveKind::kAllreduce) == 12 &&
                  static_cast<int>(CollectiveKind::kLast) == kCommunicator,
              "collective_rules.cc has the names of collectives by these numbers");

/// Bytes that MPICH's members exchange to agree on a context id (a mask of 2,048 bits).
constexpr uint64_t kContextMaskBytes = 256;

bool is_neighbour(CollectiveKind kind) { return kind >= CollectiveKind::kNeighborAllgather; }

/// Do members exchange other numbers of bytes than each other?
bool has_own_bytes(CollectiveKind kind) {
  return kind == CollectiveKind::kAlltoallv || kind == CollectiveKind::kAlltoallw ||
         kind == CollectiveKind::kGatherv || kind == CollectiveKind::kScatterv ||
         is_neighbour(kind);
}

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
  bool makes_communicator = false;
  if (!args || comm->shared->inter) {
    const bool is_barrier = operation < comm::kFirstOther;
    shape.kind = is_barrier ? CollectiveKind::kBarrier : CollectiveKind::kAllreduce;
    shape.bytes = is_barrier ? 0 : kContextMaskBytes;
    makes_communicator = !is_barrier;
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
  shape.algorithm = makes_communicator ? choose_for_communicator(machine_.collectives)
                                       : choose_algorithm(machine_.collectives, shape.kind,
                                                          shape.members, shape.bytes);
  const uint8_t kind = makes_communicator ? kCommunicator : static_cast<uint8_t>(shape.kind);
  ++schedules_[{kind, shape.algorithm}];
  run->members.resize(shape.members);
  for (uint32_t i = 0; i < shape.members; ++i) {
    uint32_t& rank = run->members[i].rank;
    rank = static_cast<uint32_t>(comm->shared->map.world_of(static_cast<int32_t>(i)));
    if (__builtin_expect(rank >= initial_ranks_, 0)) rank = g_av.local_of(rank);  // it was spawned
    know_rank(rank);
  }
  run->unreleased = shape.members;
}

/// Fills in the bytes of one member where members differ.
void Simulator::fill_member(const comm::Comm* comm, const Args* args, CollectiveRun* run) {
  const auto me = static_cast<uint32_t>(comm->rank);
  std::unique_ptr<MemberBytes>& bytes = run->members[me].own;
  if (!bytes) bytes = std::make_unique<MemberBytes>();
  MemberBytes& own = *bytes;
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

CollectiveRun* Simulator::new_run() {
  if (free_runs_.empty()) return new CollectiveRun;
  CollectiveRun* const run = free_runs_.back().release();
  free_runs_.pop_back();
  return run;
}

CollectiveRun* Simulator::run_of(const comm::Comm* comm, const comm::Meeting* meeting,
                                 uint8_t operation, const Args* args) {
  if (joined_meeting_ != meeting || meeting->arrived == 1) {
    joined_meeting_ = meeting;
    CollectiveRun*& run = open_runs_[meeting];
    if (meeting->arrived == 1) {
      run = new_run();
      fill_shape(comm, operation, args, run);
    }
    joined_run_ = run;
  }
  if (meeting->full) {
    open_runs_.erase(meeting);
    joined_meeting_ = nullptr;
  }
  return joined_run_;
}

void Simulator::record_arrival(const comm::Comm* comm, const comm::Meeting* meeting,
                               uint8_t operation, const comm::Arrival* arrival) {
  const Args* args = std::exchange(arguments_, nullptr);
  if (!comm::rank_state() || comm->size() < 2) return;
  // Members in processes that the program has spawned have no clocks.
  if (!comm->shared->inter && comm->shared->members != static_cast<uint32_t>(comm->size())) return;
  // A request's arguments are its arrival, those of a blocking collective have been announced.
  if (arrival && operation < comm::kFirstOther) args = static_cast<const Args*>(arrival);
  CollectiveRun* const joined = run_of(comm, meeting, operation, args);
  const auto me = static_cast<uint32_t>(comm->rank);
  CollectiveMember& member = joined->members[me];
  PredictedRank& rank = running();
  member.arrived = true;
  ++rank.port_users;
  member.clock = rank.clock;
  if (args && has_own_bytes(joined->shape.kind)) fill_member(comm, args, joined);
  const bool blocks =
      operation < comm::kFirstOther && operation % 4 == static_cast<uint8_t>(CallMode::kBlocking);
  if (arrival && arrival->request && !blocks) {
    runs_of_requests_[arrival->request] = {joined, me};
  } else if (sched::current()->kind == sched::ProcletKind::kRank) {
    rank.runs.add({joined, me});
  } else {
    member.detached = true;  // nobody waits: a helper makes a communicator, say
  }
  advance(joined, me);
}

// ---- Rounds -------------------------------------------------------------------------------------

/// Takes a message, or the envelope of one, that has come before its round. Returns false where it
/// has yet to come.
bool Simulator::take_early(CollectiveRun* run, uint32_t number, const RoundPart& part) {
  CollectiveMember& member = run->members[number];
  PredictedTransfer* const t = member.early.take(part.peer);
  if (!t) return false;
  raise_by(member.rank, &member.clock, t->at, hop_of_transfer(t));
  if (t->rendezvous) {
    ++member.moving;
    permit(t, member.clock);
    return true;
  }
  member.clock += link_of(*t).piece(part.bytes).receive_overhead;
  free_transfer(t);
  return true;
}

/// Begins rounds until one has to wait. The events of its messages are at its clock or later.
void Simulator::advance(CollectiveRun* run, uint32_t number) {
  CollectiveMember& member = run->members[number];
  static const MemberBytes kSameForAll;
  const MemberBytes& own = member.own ? *member.own : kSameForAll;
  while (fill_round(run->shape, own, number, member.round, &round_)) {
    for (const RoundPart& part : round_.sends) {
      PredictedTransfer* const t = new_transfer();
      t->is_part = true;
      t->run = run;
      t->ends.sender = number;
      t->ends.receiver = part.peer;
      set_ends(t, member.rank, run->members[part.peer].rank);
      t->bytes = part.bytes;
      const LinkClass& link = link_of(*t);
      member.clock += link.piece(t->bytes).send_overhead;
      t->rendezvous = t->bytes > link.eager_bytes;
      if (t->rendezvous) ++member.moving;
      ++transfers_made_;
      if (path_) begin_hop(t, member.rank, member.clock);
      push_event(member.clock, NextEvent::kSend, t);
    }
    member.awaited.clear();
    for (const RoundPart& part : round_.receives)
      if (!take_early(run, number, part)) member.awaited.add(part.peer);
    member.combined = round_.combined;
    if (!member.awaited.empty() || member.moving) return;
    end_round(&member);
  }
  PredictedTransfer* const end = new_transfer();  // carries the member to its event
  end->from = member.rank;
  end->run = run;
  end->ends.receiver = number;
  push_event(member.clock, NextEvent::kFinish, end);
}

void Simulator::end_round(CollectiveMember* member) {
  member->clock += from_ns(static_cast<double>(member->combined) * machine_.reduce_per_byte / 1000);
  ++member->round;
}

/// Goes on with a member that may have nothing left to wait for in its round.
void Simulator::go_on(CollectiveRun* run, uint32_t number) {
  CollectiveMember& member = run->members[number];
  if (!member.awaited.empty() || member.moving) return;
  end_round(&member);
  advance(run, number);
}

void Simulator::part_arrived(PredictedTransfer* t, VirtualTime at) {
  CollectiveRun* const run = t->run;
  const uint32_t number = t->ends.receiver;
  CollectiveMember& member = run->members[number];
  if (t->sends_data) {
    --member.moving;
  } else if (!member.arrived || !member.awaited.remove(t->ends.sender)) {
    t->at = at;
    return member.early.add(t);
  }
  if (t->rendezvous) {
    ++member.moving;
    return permit(t, std::max(at, member.clock));
  }
  raise_by(member.rank, &member.clock, at, hop_of_transfer(t));
  member.clock += link_of(*t).piece(t->bytes).receive_overhead;
  free_transfer(t);
  go_on(run, number);
}

void Simulator::part_sent(PredictedTransfer* t) {
  CollectiveMember& member = t->run->members[t->ends.sender];
  --member.moving;
  raise_by(member.rank, &member.clock, now_, hop_of_transfer(t));
  go_on(t->run, t->ends.sender);
}

// ---- The end ------------------------------------------------------------------------------------

/// A member's schedule has ended.
void Simulator::member_finished(PredictedTransfer* end) {
  CollectiveRun* const run = end->run;
  CollectiveMember& member = run->members[end->ends.receiver];
  free_transfer(end);
  member.finished = true;
  const uint32_t index = member.rank;
  PredictedRank& rank = ranks_[index];
  --rank.port_users;
  coll::EarlyExitWait* const wait = rank.rare_state ? rank.rare_state->early_exit : nullptr;
  if (wait && rank.runs.size() && rank.runs[rank.runs.size() - 1].run == run &&
      !wait->request->complete() && wait->request->waiter && wait->may_leave()) {
    wait->left = true;
    rank.rare().early_exit = nullptr;
    sched::Proclet* const proclet = std::exchange(wait->request->waiter, nullptr)->proclet;
    FGMPI_CHECK(proclet->state == sched::ProcletState::kParked);
    sched::ready(proclet);
    return;
  }
  touch(index);
  if (member.detached) release_run(run);
}

void Simulator::begin_early_exit_wait(coll::EarlyExitWait* wait) {
  running().rare().early_exit = wait;
}
void Simulator::end_early_exit_wait(coll::EarlyExitWait*) { running().rare().early_exit = nullptr; }

void Simulator::await_run(uint32_t index, CollectiveRun* run, uint32_t number) {
  const sched::WaitSite site{"collective", nullptr, true};
  while (!run->members[number].finished) await_touch(index, kNever, &site);
  raise_clock(&ranks_[index].clock, run->members[number].clock);
  raise_clock(&ranks_[index].clock, now_);
  release_run(run);
}

void Simulator::release_run(CollectiveRun* run) {
  if (--run->unreleased > 0) return;
  run->members.clear();
  free_runs_.emplace_back(run);
}

}  // namespace fgmpi::predict
