// Rounds of stops: what a process knows and says. The rules are in stop.h.
#include "checkpoint/rounds.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "checkpoint/stop.h"
#include "checkpoint/tool_extensions.h"

namespace fgmpi::checkpoint {

uint32_t g_round = 0;
ProcessRound g_process_round;
Coordinator g_coordinator;

namespace {

using Kind = RoundMessageKind;

/// Calls visit(key, count) for each communicator, window and file on which the rank can begin
/// collectives with others, and each communicator that it has freed lately.
template <class Visit>
void for_each_count(const LayerRank& rank, Visit&& visit) {
  const auto visit_both = [&](uint64_t key, const BegunCollectives& begun) {
    visit(key, begun.blocking);
    visit(mix(key, kNonblockingOrder), begun.nonblocking);
  };
  visit_both(kWorldKey, rank.world_begun);
  rank.comms.for_each(
      [&](MPI_Comm, const VirtualComm* comm) { visit_both(comm->key, comm->begun); });
  rank.requests.for_each([&](MPI_Request, const VirtualRequest* request) {
    if (request->key != 0) visit(request->key, request->starts);
  });
  const auto visit_shared = [&](int, const SharedObject* object) {
    if (object->size > 1) visit(number_of(object->key), object->collectives);
  };
  rank.files.for_each(visit_shared);
  rank.windows.for_each(visit_shared);
  for (uint64_t key : rank.freed_keys) visit(key, kFreedCount);
}

/// Why the rank cannot come to rest now; null where it may.
const char* refusal_of(const LayerRank& rank) {
  if (rank.other_jobs) return "it has communicated with another job";
  return nullptr;
}

}  // namespace

void ProcessRound::add(LayerRank* rank) {
  if (ranks_.empty()) {
    const int process = MPIX_Tool_process(rank->world_rank);
    int size = 0;
    g_next.MPI_Comm_size(MPI_COMM_WORLD, &size);
    g_coordinator.set_processes(MPIX_Tool_process(size - 1) + 1);
    local_ranks_ = 0;
    for (int i = 0; i < size; ++i) local_ranks_ += MPIX_Tool_process(i) == process;
  }
  ranks_.push_back(rank);
  // A rank that begins while others stop is to stop, too.
  rank->round = state_ == RoundState::kOver ? g_round : g_round - 1;
}

void ProcessRound::remove(LayerRank* rank) {
  const auto at = std::find(ranks_.begin(), ranks_.end(), rank);
  if (at == ranks_.end()) return;
  *at = ranks_.back();
  ranks_.pop_back();
  leaves_ = true;
  if (state_ == RoundState::kStopping) send_counts();
}

void ProcessRound::send(RoundMessage message, const void* data) {
  message.round = message.kind == Kind::kAsk ? 0 : g_round;
  char bytes[RoundMessage::kMostBytes];
  std::memcpy(bytes, &message, sizeof message);
  if (message.bytes > 0) std::memcpy(bytes + sizeof message, data, message.bytes);
  MPIX_Tool_notify(0, bytes, static_cast<int>(sizeof message + message.bytes));
}

void ProcessRound::begin(uint32_t round) {
  g_round = round;
  state_ = RoundState::kStopping;
  version_ = 0;
  told_ = {};
  targets_.clear();
  send_counts();
}

/// Sends the counts of all ranks of the process, or why there is no use in going on.
void ProcessRound::send_counts() {
  const auto refuse = [&](int rank, const char* reason) {
    RoundMessage message{.kind = Kind::kRefuse, .rank = rank};
    message.bytes = static_cast<uint32_t>(std::strlen(reason));
    send(message, reason);
  };
  if (leaves_) return refuse(-1, "ranks have begun to finalize");
  for (const LayerRank* rank : ranks_)
    if (const char* reason = refusal_of(*rank)) return refuse(rank->world_rank, reason);
  std::map<uint64_t, CommCount> counts;
  for (const LayerRank* rank : ranks_)
    for_each_count(*rank, [&](uint64_t key, uint64_t count) {
      CommCount& c = counts.try_emplace(key, CommCount{key, count, count}).first->second;
      c.least = std::min(c.least, count);
      c.most = std::max(c.most, count);
    });
  constexpr size_t kMost = (RoundMessage::kMostBytes - sizeof(RoundMessage)) / sizeof(CommCount);
  std::vector<CommCount> part;
  const auto send_part = [&](bool last) {
    RoundMessage message{.kind = Kind::kCounts, .last = last};
    message.bytes = static_cast<uint32_t>(part.size() * sizeof(CommCount));
    send(message, part.data());
    part.clear();
  };
  for (const auto& [key, count] : counts) {
    if (part.size() == kMost) send_part(false);
    part.push_back(count);
  }
  send_part(true);
}

bool ProcessRound::is_behind(const LayerRank& rank) const {
  if (targets_.empty()) return false;
  bool behind = false;
  for_each_count(rank, [&](uint64_t key, uint64_t count) {
    const auto found = targets_.find(key);
    behind |= found != targets_.end() && count < found->second;
  });
  return behind;
}

/// Would the call begin a collective beyond the target, or beyond what all have begun?
bool ProcessRound::raises(LayerRank& rank, CommCount* raised) const {
  using Begins = NextCollective::Begins;
  if (rank.next.kind == Begins::kNone) return false;
  if (const SharedObject* object = rank.next.object) {
    *raised = {number_of(object->key), object->collectives + 1, object->collectives + 1};
    const auto target = targets_.find(raised->key);
    return object->size > 1 && (target == targets_.end() || target->second < raised->most);
  }
  uint64_t key = 0, weight = 0, next = kFreedCount;
  const BegunCollectives* begun = begun_on(rank, rank.next.comm, &key, &weight);
  if (!begun || weight == 0) return false;
  if (rank.next.request) key = rank.next.request->key;
  if (rank.next.kind == Begins::kBlocking) next = begun->blocking + 1;
  if (rank.next.kind == Begins::kNonblocking) {
    key = mix(key, kNonblockingOrder);
    next = begun->nonblocking + 1;
  }
  if (rank.next.kind == Begins::kStart) next = rank.next.request->starts + 1;
  *raised = {key, next, next};
  const auto target = targets_.find(key);
  return target == targets_.end() || target->second < next;
}

void ProcessRound::note_collective(LayerRank& rank) {
  CommCount raised{};
  if (state_ != RoundState::kStopping || !raises(rank, &raised)) return;
  targets_[raised.key] = raised.most;
  send({.kind = Kind::kRaise, .bytes = sizeof raised}, &raised);
}

void ProcessRound::tell_if_parked() {
  if (state_ != RoundState::kStopping || version_ == 0) return;
  RoundMessage message{.kind = Kind::kStopped, .version = version_};
  const LayerRank* running = nullptr;
  for (LayerRank* rank : ranks_) {
    CommCount raised{};
    const bool paused = rank->place == LayerRank::Place::kPauses;
    message.paused += paused;
    message.harmless += paused && !raises(*rank, &raised);
    if (rank->place == LayerRank::Place::kRuns || is_behind(*rank)) running = rank;
  }
  if (running || ranks_.size() < local_ranks_) message.kind = Kind::kStuck;
  if (message.kind == told_.kind && message.version == told_.version &&
      message.paused == told_.paused && message.harmless == told_.harmless)
    return;
  told_ = message;
  const char* call = running && running->call ? running->call : "";
  message.rank = running ? running->world_rank : -1;
  message.bytes = static_cast<uint32_t>(std::strlen(call));
  send(message, call);
}

void ProcessRound::add_targets(const RoundMessage& message, const char* data) {
  for (size_t i = 0; i < message.bytes / sizeof(CommCount); ++i) {
    CommCount count;
    std::memcpy(&count, data + i * sizeof count, sizeof count);
    uint64_t& target = targets_[count.key];
    target = std::max(target, count.most);
  }
  if (!message.last) return;
  version_ = message.version;
  for (const LayerRank* rank : ranks_)
    if (rank->place == LayerRank::Place::kPauses && is_behind(*rank))
      MPIX_Tool_interrupt(rank->wait);
}

void ProcessRound::release(bool harmless_only) {
  for (LayerRank* rank : ranks_) {
    CommCount raised{};
    if (rank->place != LayerRank::Place::kPauses) continue;
    if (harmless_only && raises(*rank, &raised)) continue;
    rank->released = true;
    MPIX_Tool_interrupt(rank->wait);
  }
}

/// The round is over, or all ranks come to rest.
void ProcessRound::end(RoundState state) {
  state_ = state;
  for (LayerRank* rank : ranks_) {
    if (state == RoundState::kOver) {
      rank->round = g_round;
      // A paused rank makes its call even if the next round begins before it runs.
      rank->released = rank->place == LayerRank::Place::kPauses;
    }
    if (rank->place == LayerRank::Place::kPauses ||
        (rank->place == LayerRank::Place::kWaits && state == RoundState::kRest))
      MPIX_Tool_interrupt(rank->wait);
  }
}

void ProcessRound::finish(const LayerRank& rank) {
  if (rank.world_rank == 0) g_coordinator.finish();
}

void ProcessRound::handle(int from, const RoundMessage& message, const char* data) {
  switch (message.kind) {
    case Kind::kBegin:
      return begin(message.round);
    case Kind::kTargets:
    case Kind::kRelease:
    case Kind::kRest:
    case Kind::kGiveUp:
      break;
    default:
      return g_coordinator.handle(from, message, data);
  }
  if (message.round != g_round || state_ != RoundState::kStopping) return;
  if (message.kind == Kind::kTargets) return add_targets(message, data);
  if (message.kind == Kind::kRest) return end(RoundState::kRest);
  if (message.kind == Kind::kGiveUp) return end(RoundState::kOver);
  version_ = message.version;
  release(message.harmless > 0);
}

}  // namespace fgmpi::checkpoint
