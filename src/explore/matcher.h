// Matcher: delivers the messages of an execution under exploration.
//
// Messages to ranks wait here, receives in their endpoints. When no rank can run any more, first everything is matched that
// has one partner only: a receive that names its source. What is left are choices: wildcard receives and probes with a
// message of one or several sources. One choice is made (Chooser), the ranks run on, and so forth. As nothing was decided
// before all ranks stood still, the choices at a point are all that are possible there: deferring a match never takes
// a possibility away.
//
//   message m of stream (communicator, source) to rank d, receive r posted by d; r may take m when
//     r covers m; no message before m in its stream is covered by r; no receive before r covers m   (MPI-4.0 section 3.5)
//
// Which events had to happen before something is followed through messages and the waits that they end. Where that is not
// known, less is claimed: too few such relations lead to more exploration, too many would lead to less than there is.
//
// Source of the deferral: Vakkalanka, Gopalakrishnan, Kirby, "Dynamic Verification of MPI Programs with Reductions in Presence
// of Split Operations and Relaxed Orderings", CAV 2008.
// Thread rule: one thread. all_parked() runs on the host stack.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explore/choice.h"
#include "pt2pt/decider.h"

namespace fgmpi::explore {

/// Decides.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// The index of one of the choices, of which there is at least one, in an order that is the same each time.
  virtual size_t choose(const std::vector<Choice>& choices) = 0;
  /// What had to happen before the event that has been chosen last.
  virtual void tell_past(const EventSet& past) = 0;
  virtual void tell_race(const Race& race) = 0;
};

class Matcher final : public pt2pt::Decider {
 public:
  Matcher(uint32_t ranks, Chooser* chooser) : boxes_(ranks), chooser_(chooser) {}

  bool decides(uint64_t ctx) const override;
  void hold(uint32_t local, pt2pt::Unexpected* message) override;
  bool withdraw(uint32_t local, pt2pt::SendOp* message) override;
  void forget(pt2pt::RecvOp* op) override;
  bool all_parked() override;
  void poll() override;
  pt2pt::Unexpected* probe(uint32_t local, const pt2pt::Envelope& pattern, bool take,
                           const char* call) override;

 private:
  struct Held {
    pt2pt::Unexpected* message;
    uint32_t number;  ///< in its stream
    EventSet past;    ///< of its sending
  };
  /// A receive, from the first time that all ranks stood still after it was posted.
  struct Known {
    uint32_t number;
    EventSet past;
  };
  struct Probe {
    pt2pt::Envelope pattern;
    uint32_t number;
    bool take;
    sched::Proclet* proclet;
    pt2pt::Unexpected* found = nullptr;
  };
  struct Event {
    uint32_t event;
    Choice choice;
  };
  using Stream = std::pair<uint64_t, int32_t>;  ///< context, source
  /// What waits at a rank.
  struct Box {
    std::vector<Held> held;  ///< those of a stream in their order
    std::unordered_map<pt2pt::RecvOp*, Known> known;
    std::vector<Probe*> probes;
    uint32_t receives = 0, probes_made = 0;
    std::map<Stream, uint32_t> sent;                          ///< messages so far
    std::vector<Event> events;                                ///< of this rank's operations
    std::set<std::tuple<uint32_t, uint64_t, int32_t>> raced;  ///< event and stream: told already
    EventSet past;  ///< what had to happen before the rank came to where it is
  };

  Box& box_of(size_t local) {
    if (local >= boxes_.size()) boxes_.resize(local + 1);
    return boxes_[local];
  }
  void know_receives(uint32_t local);
  void match_determined(uint32_t local);
  void add_choices(uint32_t local, std::vector<Choice>* out) const;
  template <class F>
  void for_each_candidate(uint32_t local, const pt2pt::Envelope& pattern,
                          const pt2pt::Posted* before, F&& f) const;
  void find_races(uint32_t local, const pt2pt::Envelope& message, const EventSet& past);
  Choice choice_of(uint32_t local, const pt2pt::Envelope& pattern, uint32_t operation,
                   Choice::Kind kind, const Held& held) const;
  void match(uint32_t local, pt2pt::RecvOp* op, size_t held, const EventSet& past);
  void see(uint32_t local, Probe* probe, size_t held, const EventSet& past);
  void take(const Choice& choice);

  std::deque<Box> boxes_;  ///< of ranks by index; spawned ones come behind
  Chooser* chooser_;
  uint32_t events_ = 0;
};

}  // namespace fgmpi::explore
