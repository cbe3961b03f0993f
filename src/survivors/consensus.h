// Consensus: agreement between processes of which some may end at any moment. All that decide,
// decide the same, also those that end right afterwards (uniform consensus). MPIX_Comm_agree,
// MPIX_Comm_shrink and the end of a job are built on it.
//
// One process coordinates: the first process of the group that is not lost, in an order that
// all know.
//
//   member                 coordinator
//   state  ------------->               the member's contribution, or what it has adopted last, and
//                                       from which coordinator
//          <-------------  proposal     when the states of all that are left have come: what the
//                                       latest coordinator had proposed, if any process has adopted
//                                       something, else all contributions joined
//   adopts; ack  ------->
//          <-------------  decision     when all that are left have acknowledged
//
// A process that finds the coordinator lost sends its state to the next one. The consensus is
// uniform for this reason: a coordinator decides only when all that are left have adopted its
// proposal, and the next one proposes what was adopted last, so every later coordinator can only
// propose the same. The detection of failures must ensure that every loss becomes known to all in
// the end, and that a process that was declared lost takes part no more.
//
// A process that has decided stores the decision, and sends it to a new coordinator when it finds
// the old one lost: processes to which the old one had not sent it wait there. The cost is O(P)
// messages at the coordinator, three times back and forth.
//
// This is the algorithm alone, without messages: a ConsensusSite sends them, and knows which
// processes are lost (agreement.h).
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "comm/context.h"

namespace fgmpi::survivors {

/// One bit for each process of an agreement, in its order.
class ProcessSet {
 public:
  explicit ProcessSet(size_t processes = 0) : words_((processes + 63) / 64) {}
  void add(size_t i) { words_[i / 64] |= uint64_t{1} << i % 64; }
  bool has(size_t i) const { return words_[i / 64] >> i % 64 & 1; }
  void unite(const ProcessSet& other);
  void intersect(const ProcessSet& other);
  bool contains(const ProcessSet& other) const;
  size_t count() const;
  std::vector<uint64_t>& words() { return words_; }
  const std::vector<uint64_t>& words() const { return words_; }

 private:
  std::vector<uint64_t> words_;
};

/// The value that processes agree on, and that each process contributes to.
struct ConsensusValue {
  int32_t flag = -1;  ///< joined by bitwise and
  ProcessSet lost;    ///< joined by union
  /// Losses that all ranks of the process have acknowledged; joined by intersection.
  ProcessSet acknowledged;
  comm::LeaderCandidate candidate;  ///< for a context id; joined by Candidate::before()
};

enum class ConsensusMessage : uint32_t { kState = 1, kProposal, kAck, kDecision };

/// What the algorithm needs from the process that it runs in.
class ConsensusSite {
 public:
  virtual ~ConsensusSite() = default;
  virtual uint32_t me() const = 0;
  virtual bool is_lost(uint32_t process) const = 0;
  /// Sends a message. `value`: nullptr with kAck. The message arrives unless one of the two
  /// processes is lost; messages of a pair keep their order.
  virtual void send(uint32_t to, ConsensusMessage kind, uint32_t epoch,
                    const ConsensusValue* value) = 0;
  /// Called once, when this process has decided.
  virtual void decided() = 0;
};

/// One agreement, at one process.
class Consensus {
 public:
  /// `passes_on`: a process that decides passes the decision to some others, since no process can
  /// be asked afterwards.
  Consensus(ConsensusSite* site, bool passes_on) : site_(site), passes_on_(passes_on) {}

  /// Begins this process's participation. `processes`: all participants, this one among them, in
  /// the same order everywhere.
  void begin(const std::vector<uint32_t>& processes, ConsensusValue mine);
  /// Processes a message. Returns false if it cannot belong to this agreement.
  bool on_message(uint32_t from, ConsensusMessage kind, uint32_t epoch, ConsensusValue value);
  /// Called when the site knows of another lost process.
  void on_lost(uint32_t process);
  bool has_decided() const { return decided_; }
  /// REQUIRES: has_decided().
  const ConsensusValue& decision() const { return decision_; }

 private:
  struct ProposalState {
    /// Index of the coordinator that has proposed the value, plus 1; 0: the value is
    /// a contribution.
    uint32_t epoch = 0;
    ConsensusValue value;
  };
  bool is_member(uint32_t process) const;
  uint32_t coordinator() const;
  uint32_t place_of_me() const;
  template <class F>
  void for_each_other(F&& f) const;
  template <class Set>
  bool has_all(const Set& set) const;
  void continue_epoch();
  void propose();
  void decide(ConsensusValue value);
  void pass_on();

  ConsensusSite* const site_;
  const bool passes_on_;
  std::vector<uint32_t> processes_;  ///< empty until begin()
  ProposalState state_;              ///< own contribution, or the value adopted last
  std::map<uint32_t, ProposalState> states_;
  std::set<uint32_t> acks_;
  uint32_t sent_to_coordinator_ = ~0u;  ///< the coordinator to which the state was sent
  bool proposed_ = false, decided_ = false;
  ConsensusValue decision_;
};

}  // namespace fgmpi::survivors
