// Rounds of stops (stop.h): what each process knows of one, and what process 0 decides.
//
// Processes send each other messages of at most 1,000 bytes, which arrive in order, while MPI
// polls. So a round goes on while ranks wait in MPI, and in a process whose rank computes when it
// next comes to MPI.
//
// Thread rule: inside MPI; functions that ranks call may not switch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/process_memory.h"
#include "checkpoint/rank.h"

namespace fgmpi::checkpoint {

/// What a round is about in a process.
enum class RoundState : uint8_t {
  kOver,      ///< no rank is to stop
  kStopping,  ///< ranks pause at stop points
  kRest,      ///< all come to rest
};

/// How many collectives of one order have been begun, by the ranks that have its communicator or
/// persistent request.
struct CommCount {
  uint64_t key, least, most;
};

/// What a message of rounds says. Counts or words may follow its header.
enum class RoundMessageKind : uint32_t {
  kAsk,      ///< to process 0: somebody wants a stop
  kBegin,    ///< from process 0: a round begins
  kCounts,   ///< to process 0: collectives begun
  kTargets,  ///< from process 0: targets, or those that have risen
  kRaise,    ///< to process 0: a rank begins a collective beyond the target
  kStopped,  ///< to process 0: all ranks of the process are stopped
  kStuck,    ///< to process 0: ranks wait that are not stopped, and nothing in the process runs
  kRelease,  ///< from process 0: paused ranks make a call
  kRest,     ///< from process 0: all come to rest
  kGiveUp,   ///< from process 0: the program goes on
  kRefuse,   ///< to process 0: a rank cannot be stopped; the words say why
};

/// The header of a message.
struct RoundMessage {
  static constexpr size_t kMostBytes = 1000;

  RoundMessageKind kind = RoundMessageKind::kAsk;
  uint32_t round = 0;
  uint32_t version = 0;   ///< of the targets, and of releases
  int32_t rank = -1;      ///< kStuck, kRefuse: which rank the words are about
  uint32_t paused = 0;    ///< kStopped, kStuck: ranks that could be released,
  uint32_t harmless = 0;  ///< and those of them whose calls raise no target
  uint32_t last = 1;      ///< no further part of this message follows
  uint32_t bytes = 0;     ///< behind the header
};

/// A process's part in the current round.
class ProcessRound {
 public:
  /// Called once the rank knows its place in MPI_COMM_WORLD; again after a restart.
  void add(LayerRank* rank);
  void remove(LayerRank* rank);
  void handle(int from, const RoundMessage& message, const char* data);
  RoundState state() const { return state_; }
  bool is_behind(const LayerRank& rank) const;
  /// A rank begins what its call is about (LayerRank::next).
  void note_collective(LayerRank& rank);
  /// All ranks of the process wait in MPI: tells process 0 so.
  void tell_if_parked();
  void ask() {
    if (!leaves_ && !ranks_.empty()) send(RoundMessage{}, nullptr);
  }
  /// The rank has been at rest.
  void finish(const LayerRank& rank);

 private:
  void begin(uint32_t round);
  void send_counts();
  void send(RoundMessage message, const void* data);
  bool raises(LayerRank& rank, CommCount* raised) const;
  void add_targets(const RoundMessage& message, const char* data);
  void release(bool harmless_only);
  void end(RoundState state);

  ProcessVector<LayerRank*> ranks_;
  uint32_t local_ranks_ = 0;  ///< ranks that the process has when all have called MPI_Init
  bool leaves_ = false;       ///< a rank has begun to finalize
  RoundState state_ = RoundState::kOver;
  uint32_t version_ = 0;  ///< 0: targets are not known yet
  RoundMessage told_;     ///< what this process has said last
  ProcessMap<uint64_t, uint64_t> targets_;
};

/// What process 0 knows of the round.
class Coordinator {
 public:
  /// Releases before a round is given up. Programs of test/mpi need less than a tenth.
  static constexpr uint32_t kMostReleases = 2000;

  void handle(int from, const RoundMessage& message, const char* data);
  /// Rank 0 has been at rest.
  void finish() { busy_ = false; }
  void set_processes(int processes) { processes_ = static_cast<size_t>(processes); }
  void set_talks(bool talks) { talks_ = talks; }
  uint64_t given_up() const { return given_up_; }

 private:
  void begin();
  void add_counts(const RoundMessage& message, const char* data);
  void raise(const CommCount& raised);
  void decide();
  void give_up(const std::string& reason);
  void broadcast(RoundMessage message, const void* data);
  void broadcast_targets(const std::vector<CommCount>& targets);

  size_t processes_ = 0;
  bool busy_ = false, talks_ = true;
  bool closed_ = false;  ///< ranks have begun to finalize
  uint32_t round_ = 0, version_ = 0, releases_ = 0;
  size_t missing_ = 0;  ///< processes whose counts have not come
  ProcessMap<uint64_t, CommCount> counts_;
  /// What each process has told for this version.
  ProcessVector<RoundMessage> told_;
  RoundMessage stuck_;
  ProcessString stuck_call_;
  uint64_t given_up_ = 0;
};

extern ProcessRound g_process_round;
extern Coordinator g_coordinator;

}  // namespace fgmpi::checkpoint
