// Matcher: delivers the messages of an execution under exploration.
//
// Messages to ranks wait here, receives wait in their endpoints. When no rank can run any more,
// everything that has only one possible partner is matched first: receives that name their source.
// The rest are choices: wildcard receives and probes with messages of one or several sources. The
// Chooser selects one, the ranks run on, and so forth. As nothing is decided before all ranks stand
// still, the choices at a point are all that are possible there: deferring a match never removes a
// possibility.
//
//   A receive r posted by rank d may match message m of stream (communicator, source) to d when
//     r covers m; r covers no message before m in its stream;
//     no receive before r covers m                                  (MPI-4.0 section 3.5)
//
// A call that polls (MPI_Test, MPI_Iprobe) parks its rank too. Whether it succeeds is a choice,
// because MPI requires only that it does so eventually. Another choice is which complete requests
// MPI_Waitany and MPI_Waitsome return. For loops of such calls see polls.cc.
//
// A standard send waits for its match unless it is buffered, and a member of a rooted collective
// waits for the others unless it leaves early. These alternatives need not be tried where they
// change nothing: kBuffer and kLeave are chosen only where nothing else can happen, or where a race
// shows that a later action of the rank may then come earlier.
//
// The matcher tracks which events had to happen before others, through messages and the waits that
// they end. Where this is unknown it claims less: too few such relations lead to more exploration,
// too many would lose executions.
//
// Source of the deferral: Vakkalanka, Gopalakrishnan, Kirby, "Dynamic Verification of MPI Programs
// with Reductions in Presence of Split Operations and Relaxed Orderings", CAV 2008.
// Thread rule: one thread. all_parked() runs on the host stack.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "coll/early_exit_decider.h"
#include "comm/meeting_decider.h"
#include "dynamic/connection_decider.h"
#include "explore/access.h"
#include "explore/choice.h"
#include "explore/locks.h"
#include "pt2pt/message_decider.h"
#include "rma/access_decider.h"

namespace fgmpi::explore {

/// Selects choices, and receives what the explorer must learn about an execution.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// The index of one of the choices. There is at least one; their order is the same in
  /// each repetition.
  virtual size_t choose(const std::vector<Choice>& choices) = 0;
  /// Reports the events that had to happen before the latest event.
  virtual void report_past(const EventSet& past) = 0;
  virtual void report_race(const Race& race) = 0;
  /// Reports that a message of the rank with index `sender` (-1: unknown) is received or found by a
  /// probe, by a choice or not.
  virtual void report_match(int32_t sender, const Choice& match) = 0;
  /// Reports that some possibilities are not among the choices.
  virtual void report_limit(Limit limit) = 0;
  /// Ends this execution, because others show everything that it leads to.
  [[noreturn]] virtual void end_redundant() = 0;
};

/// The subject of a rank's polling calls, from its first such call until the rank has done
/// something else (a Stretch). Choices about it have as their operation | stretch 32 | number of
/// the PolledSubject 16 | resolved 16 |, which is the same in every order of other ranks.
struct PolledSubject {
  pt2pt::Wanted wanted = pt2pt::Wanted::kAll;
  pt2pt::Envelope pattern{};
  bool of_messages = false, take = false;
  const void* object = nullptr;  ///< look(): its arguments, as the next two
  uint64_t part = 0;
  bool (*is)(const void*, uint64_t) = nullptr;
  std::vector<const pt2pt::Request*> requests;  ///< nullptr: an inactive entry
  /// The handles of `requests`. Some of the requests may have been freed at a later look.
  std::vector<uint32_t> handles;
  uint16_t resolved = 0;  ///< choices made about it so far
  bool could = false;     ///< it could have succeeded when it last failed

  bool is_at_same(const PolledSubject& other) const {
    return of_messages == other.of_messages && take == other.take && wanted == other.wanted &&
           pattern == other.pattern && requests == other.requests && object == other.object &&
           part == other.part && is == other.is;
  }
};

class Matcher final : public pt2pt::MessageDecider,
                      public comm::MeetingDecider,
                      public coll::EarlyExitDecider,
                      public rma::AccessDecider,
                      public dynamic::ConnectionDecider {
 public:
  Matcher(uint32_t ranks, Chooser* chooser) : boxes_(ranks), chooser_(chooser) {}

  // pt2pt::MessageDecider
  bool decides(uint64_t ctx) const override;
  void add_message(uint32_t local, pt2pt::UnexpectedMessage* message) override;
  bool withdraw_send(uint32_t local, pt2pt::SendOp* message) override;
  void forget_receive(pt2pt::RecvOp* op) override;
  bool all_parked() override;
  void run_others(const char* call) override;
  pt2pt::UnexpectedMessage* probe(uint32_t local, const pt2pt::Envelope& pattern, bool take,
                                  bool waits, const char* call) override;
  bool complete(pt2pt::Request* const* list, size_t count, pt2pt::Wanted wanted, bool waits,
                const char* call, std::vector<uint32_t>* chosen) override;
  bool decide_test(const void* object, uint64_t part, bool (*is)(const void*, uint64_t),
                   const char* call) override;
  // comm::MeetingDecider
  void record_arrival(const comm::Comm* comm, const comm::Meeting* meeting, uint8_t operation,
                      const comm::Arrival* arrival) override;
  uint64_t draw_number() override;
  // coll::EarlyExitDecider
  void begin_early_exit_wait(coll::EarlyExitWait* wait) override;
  void end_early_exit_wait(coll::EarlyExitWait* wait) override;
  // rma::AccessDecider
  void await_access(const rma::MemoryAccess& access, const sched::WaitSite* site) override;
  void record_unlock(uint64_t window, int32_t target, bool exclusive) override;
  void record_notice_sent(const rma::WindowNotice& notice) override;
  void record_notice_received(const rma::WindowNotice& notice) override;
  // dynamic::ConnectionDecider
  void await_connection(const dynamic::ConnectionAccess& access,
                        const sched::WaitSite* site) override;
  void record_connection_source(comm::ContextId id) override;
  void record_connection_target(comm::ContextId id) override;
  void record_undecided() override;

 private:
  struct HeldMessage {
    pt2pt::UnexpectedMessage* message;
    uint32_t number;  ///< in its stream
    int32_t sender;   ///< index of the sending rank; -1: unknown
    uint32_t send;    ///< number among the sender's messages
    EventSet past;    ///< of the send
    /// The events for which the send waited only because ranks before it did not continue early;
    /// may contain more.
    EventSet soft;
    bool seen = false;  ///< found by a probe: later probes that cover it cannot fail
  };
  /// A receive, numbered at the first point where all ranks stood still after it was posted.
  struct NumberedReceive {
    uint32_t number;
    EventSet past;
  };
  /// A rank that is parked in a probe or test, or in MPI_Waitany or MPI_Waitsome.
  struct Poll {
    Poll(const char* call, bool waits) : call(call), waits(waits), proclet(sched::current()) {}
    const char* call;
    bool waits;
    sched::Proclet* proclet;
    pt2pt::Request* const* list = nullptr;  ///< nullptr: it polls for messages, or calls `is`
    const void* object = nullptr;
    uint64_t part = 0;
    bool (*is)(const void*, uint64_t) = nullptr;
    size_t count = 0;
    pt2pt::Wanted wanted = pt2pt::Wanted::kAll;
    pt2pt::Envelope pattern{};
    bool take = false;
    bool of_nothing = false;  ///< it only yields
    uint64_t operation = 0;
    size_t look = 0;        ///< index in Stretch::looks
    bool again = false;     ///< it has failed in this stretch
    bool sure = false;      ///< it cannot fail
    uint64_t released = 0;  ///< Matcher::releases_ when its rank was last released without an event
    bool hit = false;
    pt2pt::UnexpectedMessage* found = nullptr;
    std::vector<uint32_t> chosen;
  };
  struct MatchEvent {
    uint32_t event;
    Choice choice;
    std::vector<const pt2pt::Request*> missed;  ///< a test: the requests that were not complete
  };
  /// The subjects that a rank has polled without success since it last did something else.
  struct Stretch {
    uint32_t number = 0;
    std::vector<PolledSubject> looks;
    bool repeats = false;  ///< kRepeat was chosen
    uint32_t repeated = 0;
    uint64_t switches = 0, rests = 0, acts = 0, receives = 0;  ///< when the last look failed
    bool open = false;                                         ///< the last look has failed
    uint64_t released = 0;
  };
  struct Received {
    int32_t tag;
    uint32_t receive;  ///< number of the matching receive
  };
  using Stream = std::pair<uint64_t, int32_t>;  ///< context, source
  /// A notification between ranks: window or context id, from, to, kind of notification.
  using Edge = std::tuple<uint64_t, int32_t, int32_t, uint8_t>;
  /// A rooted collective that a rank may leave early.
  struct OpenEarlyExit {
    coll::EarlyExitWait* wait;
    uint64_t number;
    const comm::Meeting* meeting;
  };
  /// A member of a collective in which not all have arrived yet.
  struct ArrivedMember {
    uint32_t local;
    int32_t rank;                   ///< in the communicator
    const pt2pt::Request* request;  ///< nullptr: a blocking call
    EventSet past, soft;            ///< on arrival
    bool left = false;
  };
  /// A rank that is parked until its access is chosen.
  struct Turn {
    const DecidedAccess* access;
    const sched::WaitSite* site;
    sched::Proclet* proclet;
    uint64_t number;
    uint64_t released;  ///< Matcher::releases_ when its rank was last released without an event
    uint64_t reported_at = 0;  ///< Locks::changes() at the last report_lock_waits()
  };
  /// An access that a rank has made since it last did something else, with its result.
  struct RepeatedAccess {
    DecidedAccess access;
    std::vector<char> bytes;
    bool changed = false;  ///< the access changed the memory the last time
    uint64_t version = 0;  ///< lock: Memory::version then
  };
  /// Successive accesses of a rank; a loop of them repeats itself.
  struct AccessRun {
    std::vector<RepeatedAccess> seen;
    uint64_t deeds = 0;  ///< Box::deeds when it began
    size_t last = 0;     ///< index in `seen`, if `open`
    bool open = false;   ///< the result of the last access has not been read yet
    std::vector<char> before;
    bool repeats = false;  ///< was chosen: it continues as long as nothing changes
    uint32_t repeated = 0;
    uint64_t released = 0;
  };
  /// One member's memory in a window.
  struct Memory {
    uint64_t version = 0;  ///< number of changes by accesses
    uint32_t shared = 0;   ///< shared locks that are held
    bool exclusive = false;
    EventSet unlocked, unlocked_exclusive;  ///< pasts of the ranks that released locks
    Locks locks;                            ///< the locks that events have acquired
  };
  struct CollectiveGathering {
    int32_t root = -1;  ///< rooted collective in which members may leave early
    bool from_root = false;
    std::vector<ArrivedMember> members;
  };
  /// The state of a rank.
  struct Box {
    std::vector<HeldMessage> held;  ///< messages, in the order of their streams
    std::unordered_map<pt2pt::RecvOp*, NumberedReceive> known;
    std::vector<Poll*> polls;
    Stretch stretch;
    /// Pasts of complete requests.
    std::unordered_map<const pt2pt::Request*, EventSet> completions;
    uint32_t receives = 0, probes_made = 0, sends = 0;
    std::map<Stream, uint32_t> sent;                   ///< messages so far
    std::map<Stream, std::vector<Received>> received;  ///< in their order
    std::vector<MatchEvent> events;                    ///< of this rank's operations
    /// Races that were reported, as event, stream and buffering.
    std::set<std::tuple<uint32_t, uint64_t, int32_t, bool>> raced;
    EventSet past;  ///< events that had to happen before the rank's present state
    EventSet soft;  ///< events for which it also waited because ranks did not continue early
    std::vector<OpenEarlyExit> early_exits;
    uint64_t early_exits_made = 0;
    std::vector<Turn*> turns;
    uint64_t draws = 0;
    uint64_t turns_made = 0, deeds = 0;  ///< deeds: actions other than accesses
    AccessRun run;
    std::vector<MatchEvent> accesses;  ///< events of accesses
  };

  Box& box_of(size_t local) {
    if (local >= boxes_.size()) boxes_.resize(local + 1);
    return boxes_[local];
  }
  void number_receives(uint32_t local);
  void match_determined(uint32_t local);
  void add_choices(uint32_t local, std::vector<Choice>* out) const;
  template <class F>
  void for_each_candidate(uint32_t local, const pt2pt::Envelope& pattern,
                          const pt2pt::PostedReceive* before, F&& f) const;
  bool comes_behind(const Box& box, const pt2pt::Envelope& message, const Choice& event) const;
  bool has_candidate(uint32_t local, const pt2pt::Envelope& pattern) const;
  bool has_seen(uint32_t local, const pt2pt::Envelope& pattern) const;
  void find_races(uint32_t local, const pt2pt::Envelope& message, const EventSet& past,
                  const EventSet& soft);
  Choice choice_of(uint32_t local, const pt2pt::Envelope& pattern, uint64_t operation,
                   Choice::ChoiceKind kind, const HeldMessage& held) const;
  void match(uint32_t local, pt2pt::RecvOp* op, size_t held, const EventSet& past);
  void see(uint32_t local, Poll* poll, size_t held, const EventSet& past);
  void execute_choice(const Choice& choice);
  void execute_match(const Choice& choice);
  void add_buffers(uint32_t local, std::vector<Choice>* out) const;
  void execute_buffering(const Choice& choice);
  void buffer_send(HeldMessage* held);
  HeldMessage* held_of(const pt2pt::SendOp* op);
  bool choose_early();
  // together.cc
  void release_gathering(CollectiveGathering* gathering);
  void add_leaves(uint32_t local, std::vector<Choice>* out) const;
  void execute_leave(const Choice& choice);
  // memory.cc
  void await_turn(const DecidedAccess& access, const sched::WaitSite* site);
  void record_edge_source(const Edge& edge);
  void record_edge_target(const Edge& edge);
  Memory& memory_of(const DecidedAccess& access);
  bool is_possible(const DecidedAccess& access) const;
  const RepeatedAccess* seen_before(const AccessRun& run, const DecidedAccess& access) const;
  bool is_repeated(const Box& box, const DecidedAccess& access) const;
  void end_access(Box* box);
  void begin_access(Box* box, const DecidedAccess& access);
  void add_accesses(uint32_t local, bool repeated, std::vector<Choice>* out) const;
  static Choice choice_of(uint32_t local, const Turn& turn, bool repeated);
  void execute_access(const Choice& choice);
  void report_conflicts(const Box& box, const Choice& choice, uint32_t event) const;
  void report_lock_waits();
  void release_turn(Box* box, Turn* turn);
  // polls.cc
  bool goes_on(const Box& box) const;
  bool begin_subject(Box* box, Poll* poll);
  void park(Box* box, Poll* poll, const sched::WaitSite* site);
  bool can_succeed(uint32_t local, const PolledSubject& look) const;
  bool may_fail_again(uint32_t local, const Poll& poll) const;
  void add_sets(uint32_t local, const Poll& poll, const std::vector<uint32_t>& complete,
                std::vector<Choice>* out) const;
  void add_successes(uint32_t local, std::vector<Choice>* out) const;
  void add_failures(uint32_t local, std::vector<Choice>* out) const;
  void add_repeats(uint32_t local, std::vector<Choice>* out) const;
  void execute_poll(const Choice& choice);
  static bool returns(const Poll& poll, const Choice& choice, uint32_t i);
  void record_completion(uint32_t local, const pt2pt::Request* request, const EventSet& past,
                         const EventSet& soft);
  void forget_request(uint32_t local, const pt2pt::Request* request);
  bool retry_one_poll();
  void release(uint32_t local, Poll* poll, bool hit);
  [[noreturn]] void report_endless() const;

  std::deque<Box> boxes_;  ///< by index of the rank; spawned ranks come last
  Chooser* chooser_;
  uint32_t events_ = 0;
  uint64_t acts_ = 0;      ///< number of ranks' messages, probes and cancellations
  uint64_t releases_ = 0;  ///< number of polls released without an event
  uint64_t barren_ = 0;    ///< number of these since the last event
  int64_t barren_since_ = 0;
  std::unordered_map<const comm::Meeting*, CollectiveGathering> gatherings_;
  std::map<std::pair<uint64_t, int32_t>, Memory> memories_;  ///< by window and rank
  std::map<Edge, std::pair<EventSet, EventSet>> edges_;  ///< pasts and soft pasts of their sources
  uint64_t refused_acts_ = ~uint64_t{0}, refused_events_ = 0;  ///< at the last kNoBuffer
  uint64_t barren_acts_ = 0;
};

}  // namespace fgmpi::explore
