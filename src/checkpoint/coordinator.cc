// What process 0 decides in a round of stops. The rules are in stop.h.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "checkpoint/rounds.h"
#include "checkpoint/tool_extensions.h"

namespace fgmpi::checkpoint {
namespace {
using Kind = RoundMessageKind;
}

void Coordinator::broadcast(RoundMessage message, const void* data) {
  message.round = round_;
  message.version = version_;
  char bytes[RoundMessage::kMostBytes];
  std::memcpy(bytes, &message, sizeof message);
  if (message.bytes > 0) std::memcpy(bytes + sizeof message, data, message.bytes);
  // This process comes last: it answers at once, so that another broadcast may follow.
  for (size_t p = processes_; p-- > 0;)
    MPIX_Tool_notify(static_cast<int>(p), bytes, static_cast<int>(sizeof message + message.bytes));
}

void Coordinator::begin() {
  if (busy_ || closed_ || processes_ == 0) return;
  busy_ = true;
  ++round_;
  version_ = releases_ = 0;
  missing_ = processes_;
  counts_.clear();
  told_.assign(processes_, {});
  broadcast({.kind = Kind::kBegin}, nullptr);
}

void Coordinator::add_counts(const RoundMessage& message, const char* data) {
  for (size_t i = 0; i < message.bytes / sizeof(CommCount); ++i) {
    CommCount count;
    std::memcpy(&count, data + i * sizeof count, sizeof count);
    CommCount& all = counts_.try_emplace(count.key, count).first->second;
    all.least = std::min(all.least, count.least);
    all.most = std::max(all.most, count.most);
  }
  if (!message.last || --missing_ > 0) return;
  // Counts that are equal are targets, too: not all members may have the communicator or persistent
  // request yet, and those that will make it are behind then.
  std::vector<CommCount> targets;
  for (const auto& [key, count] : counts_)
    if (count.most > 0) targets.push_back(count);
  broadcast_targets(targets);
}

void Coordinator::broadcast_targets(const std::vector<CommCount>& targets) {
  constexpr size_t kMost = (RoundMessage::kMostBytes - sizeof(RoundMessage)) / sizeof(CommCount);
  ++version_;
  told_.assign(processes_, {});
  for (size_t at = 0; at == 0 || at < targets.size(); at += kMost) {
    const size_t n = std::min(kMost, targets.size() - at);
    broadcast({.kind = Kind::kTargets,
               .last = at + n == targets.size(),
               .bytes = static_cast<uint32_t>(n * sizeof(CommCount))},
              targets.data() + at);
  }
}

void Coordinator::raise(const CommCount& raised) {
  const auto [at, is_new] = counts_.try_emplace(raised.key, raised);
  if (!is_new && at->second.most >= raised.most) return;  // another member was first
  at->second.most = raised.most;
  broadcast_targets({at->second});
}

/// Called when a process has stopped or is stuck. Once all are: what comes next?
void Coordinator::decide() {
  uint32_t stopped = 0, paused = 0, harmless = 0;
  for (const RoundMessage& told : told_) {
    if (told.version != version_) return;
    stopped += told.kind == Kind::kStopped;
    paused += told.paused;
    harmless += told.harmless;
  }
  if (stopped == processes_) return broadcast({.kind = Kind::kRest}, nullptr);
  if (paused == 0) return;  // something else will end a wait, or nothing ever does
  if (++releases_ > kMostReleases)
    return give_up("rank " + std::to_string(stuck_.rank) + " waits in " + stuck_call_.c_str());
  ++version_;
  told_.assign(processes_, {});
  broadcast({.kind = Kind::kRelease, .paused = paused, .harmless = harmless}, nullptr);
}

void Coordinator::give_up(const std::string& reason) {
  busy_ = false;
  ++given_up_;
  if (talks_)
    dprintf(STDERR_FILENO, "fgmpi-checkpoint: no checkpoint is taken: %s\n", reason.c_str());
  broadcast({.kind = Kind::kGiveUp}, nullptr);
}

void Coordinator::handle(int from, const RoundMessage& message, const char* data) {
  if (message.kind == Kind::kAsk) return begin();
  if (!busy_ || message.round != round_) return;
  switch (message.kind) {
    case Kind::kCounts:
      return add_counts(message, data);
    case Kind::kRaise: {
      CommCount raised;
      std::memcpy(&raised, data, sizeof raised);
      return raise(raised);
    }
    case Kind::kStuck:
      stuck_ = message;
      stuck_call_.assign(data, message.bytes);
      [[fallthrough]];
    case Kind::kStopped:
      told_[static_cast<size_t>(from)] = message;
      return decide();
    case Kind::kRefuse:
      closed_ |= message.rank < 0;
      return give_up((message.rank < 0 ? "" : "rank " + std::to_string(message.rank) + ": ") +
                     std::string(data, message.bytes));
    default:
      return;
  }
}

}  // namespace fgmpi::checkpoint
