// Consensus: agreement between processes of which some may end at any moment: all that decide,
// decide the same, also those that end right afterwards (uniform consensus). What MPIX_Comm_agree,
// MPIX_Comm_shrink and the end of a job are made of.
//
// One process coordinates: the first of the group, in an order that all know, that is not lost.
//
//   member                 coordinator
//   state  ------------->               its contribution, or what it has adopted last, and from which coordinator
//          <-------------  proposal     when the states of all that are left have come: what the latest coordinator had
//                                       proposed, if anybody has adopted something, else all contributions joined
//   adopts; ack  ------->
//          <-------------  decision     when all that are left have acknowledged
//
// A process that finds the coordinator lost sends its state to the next one. Why that is uniform: a
// coordinator decides only when all that are left have adopted its proposal, and the next one
// proposes what was adopted last; so whoever comes later can only propose the same. What is needed
// of the detection of failures: every loss becomes known to all in the end, and a process that is
// called lost takes part no more.
//
// Who has decided keeps the decision, and sends it to a new coordinator when it finds the old one
// lost: processes that the old one had not told wait there. Costs O(P) messages at the coordinator,
// three times back and forth.
//
// The algorithm alone, without messages: a ConsensusSite sends them, and says who is lost
// (agreement.h).
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

/// What is agreed on, and what each process contributes to it.
struct Value {
  int32_t flag = -1;  ///< joined by bitwise and
  ProcessSet lost;    ///< joined by union
  /// Losses that all ranks here have acknowledged; joined by intersection.
  ProcessSet acknowledged;
  comm::Candidate candidate;  ///< for a context id; joined by Candidate::before()
};

enum class ConsensusMessage : uint32_t { kState = 1, kProposal, kAck, kDecision };

/// What the algorithm asks of the process that it runs in.
class ConsensusSite {
 public:
  virtual ~ConsensusSite() = default;
  virtual uint32_t me() const = 0;
  virtual bool is_lost(uint32_t process) const = 0;
  /// `value`: nullptr with kAck. The message arrives unless one of the two is lost; messages of a
  /// pair keep their order.
  virtual void send(uint32_t to, ConsensusMessage kind, uint32_t epoch, const Value* value) = 0;
  /// Called once.
  virtual void decided() = 0;
};

/// One agreement, at one process.
class Consensus {
 public:
  /// `passes_on`: who decides tells some others, since nobody can be asked afterwards.
  Consensus(ConsensusSite* site, bool passes_on) : site_(site), passes_on_(passes_on) {}

  /// This process takes part. `processes`: all that do, this one among them, in the same order
  /// everywhere.
  void begin(const std::vector<uint32_t>& processes, Value mine);
  /// False: it cannot be of this agreement.
  bool on_message(uint32_t from, ConsensusMessage kind, uint32_t epoch, Value value);
  /// The site knows another lost process.
  void on_lost(uint32_t process);
  bool has_decided() const { return decided_; }
  /// REQUIRES: has_decided().
  const Value& decision() const { return decision_; }

 private:
  struct State {
    /// Place of the coordinator that has proposed the value + 1; 0: a contribution.
    uint32_t epoch = 0;
    Value value;
  };
  bool is_member(uint32_t process) const;
  uint32_t coordinator() const;
  uint32_t place_of_me() const;
  template <class F>
  void for_each_other(F&& f) const;
  template <class Set>
  bool has_all(const Set& set) const;
  void go_on();
  void propose();
  void decide(Value value);
  void pass_on();

  ConsensusSite* const site_;
  const bool passes_on_;
  std::vector<uint32_t> processes_;  ///< empty until begin()
  State state_;                      ///< own contribution, or what was adopted
  std::map<uint32_t, State> states_;
  std::set<uint32_t> acks_;
  uint32_t told_ = ~0u;  ///< the coordinator that has been sent the state
  bool proposed_ = false, decided_ = false;
  Value decision_;
};

}  // namespace fgmpi::survivors
