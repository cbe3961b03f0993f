// Simulator: the clocks of all ranks, and what happens between them on the predicted machine.
//
// All ranks run in one process. Each has a virtual clock, which src/meter moves forward by what the
// rank computes between its calls. A rank runs on until it has to wait for another one: it may be
// far ahead of the others. What it sends becomes an event at the time of its clock. When no rank
// can run, the first event happens, then the next one, until ranks can run again:
//
//   no rank is ready, the first event is at t   =>   whatever ranks do later is at t or later
//
// since each of them waits for an event, and goes on at the time of that event. So events happen in
// the order of virtual time, though ranks run in another order, and what depends on the order
// between ranks (MPI_ANY_SOURCE, probes, tests, ports that several use) comes out as on the
// machine.
//
//   kSend          kReach             kArrive
//   sender's port  receiver's port    the message is given to the endpoint of its receiver
//   |-- gap, G --| |---- L ----|-- gap, G --|
//
// Within a node a rank has a port of its own, as it has where it is alone on its node: what leaves
// that needs no kSend, unless the rank has something under way that may use the port earlier.
//
// A long message sends its envelope so (a rendezvous). When a receive has matched it, permission
// comes back (kClear), and the data goes the same way. The library's own queues match messages and
// receives: a message is only held back until it would have arrived. Two messages and two receives
// that could match in two ways do so in the order of arrival and of posting, whichever of them the
// simulator comes by first. So a message goes straight to the buffer of a receive that no other
// message can match, and a copy is held back for the others alone (`unmatched`).
//
// The time of collectives is that of their schedules (schedule.h), each member of which is run here
// from its arrival on; the data is moved by the library when all members have arrived.
//
// Source: the rules of a conservative simulation: Chandy, Misra, "Distributed simulation", TSE
// 1979. Thread rule: one thread. all_parked() runs on the host stack.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/list.h"
#include "coll/early_exit_decider.h"
#include "comm/comm.h"
#include "comm/meeting_decider.h"
#include "predict/computed_times.h"
#include "predict/critical_path.h"
#include "predict/event_queue.h"
#include "predict/hooks.h"
#include "predict/outcome.h"
#include "predict/schedule.h"
#include "predict/transfer_network.h"
#include "predict/typical_times.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/requests.h"
#include "rma/access_decider.h"

namespace fgmpi::predict {

struct CollectiveRun;

/// After so many calls of a rank that never waits, others get their turn.
inline constexpr uint32_t kCallsInARow = 1024;

/// The least time of a call that polls: what its test takes on the predicted machine.
inline constexpr VirtualTime kPollCost = 50 * kPicosecondsPerNs;

/// What a transfer does for an access to a window or a file.
enum class AccessStage : uint8_t { kNone, kRequest, kReply, kLock, kGranted, kUnlock, kFile };
struct WindowLock;

/// The members between whom a message of a collective is.
struct CollectiveEnds {
  uint32_t sender, receiver;
};

/// What will happen to a transfer at its time.
enum class NextEvent : uint8_t {
  kSend,    ///< it is given to its sender's port
  kReach,   ///< its first byte reaches the receiver's port
  kArrive,  ///< its last byte has arrived
  kClear,   ///< the receiver's permission to send the data has reached the sender
  kSent,    ///< the last byte of another transfer has left the sender's memory
  kFinish,  ///< the schedule of a rank's collective has ended
  kWake,    ///< a rank looks again
};

/// A message on its way: of the program, or of a collective's schedule. It is also the event of
/// what happens to it next (event_queue.h). What happens besides has a transfer of its own: kSent,
/// kFinish, kWake.
struct PredictedTransfer {
  /// When its event happens. While its bytes share links: when they would have left their port if
  /// they had it alone. While it waits for its member's round: when it came.
  VirtualTime at = 0;
  /// The next event; the next free one; the next one that has come early.
  PredictedTransfer* next = nullptr;
  uint32_t from = 0, to = 0;  ///< ranks
  uint64_t bytes = 0;
  /// What it belongs to: a message of the program, a collective (is_part), a lock (stage), another
  /// transfer (kSent).
  union {
    pt2pt::UnexpectedMessage* message = nullptr;
    CollectiveRun* run;
    WindowLock* lock;
    PredictedTransfer* sent;
    uint64_t order_of_sends;  ///< among all messages, where the receive has been filled
  };
  union {
    pt2pt::RecvOp* receive = nullptr;  ///< the receive that the message has matched
    /// Before it has arrived: the next one of its sender to its receiver, where messages can
    /// overtake each other.
    PredictedTransfer* behind;
    CollectiveEnds ends;
    uint64_t reply;  ///< bytes of an access that come back
  };
  uint32_t number = 0;  ///< of its event, among those of the same rank
  NextEvent event : 4 = NextEvent::kSend;
  AccessStage stage : 4 = AccessStage::kNone;
  /// The message's own kind while it is kHeldBack.
  pt2pt::UnexpectedMessage::UnexpectedKind kind{};
  bool of_receiver : 1 = false;  ///< its event is one of its receiver
  bool is_part : 1 = false;
  bool is_inside : 1 = false;                       ///< both ranks are on one node
  bool returns : 1 = false, exclusive : 1 = false;  ///< of an access: a reply, a lock
  bool rendezvous : 1 = false;  ///< its envelope is on its way, or waits for a receive
  bool sends_data : 1 = false;  ///< the data of a rendezvous is on its way
  bool has_sent : 1 = false;    ///< the data is in the receive's buffer, the send is complete
  bool is_behind : 1 = false;  ///< an earlier message of its sender to its receiver has yet to come
  bool waits : 1 = false;      ///< its bytes have arrived, but it is behind
  bool arrived : 1 = false;    ///< the message is in the queue of its endpoint
  bool has_moved : 1 = false;  ///< all its bytes have come, also those that need its receiver
  bool has_hop : 1 = false;    ///< it is an ExplainedTransfer with a hop

  uint64_t order() const { return uint64_t{of_receiver ? to : from} << 32 | number; }
};
static_assert(sizeof(PredictedTransfer) == 56, "memory budget: several a rank are on their way");

/// A transfer where the critical path is kept: all of them are so then.
struct ExplainedTransfer : PredictedTransfer {
  PathHop hop;
};
/// The transfer's part of the critical path; nullptr: it has none.
inline PathHop* hop_of_transfer(PredictedTransfer* t) {
  return __builtin_expect(t->has_hop, 0) ? &static_cast<ExplainedTransfer*>(t)->hop : nullptr;
}

/// The peers whose messages a member's round still waits for: mostly one.
class AwaitedPeers {
 public:
  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }
  void add(uint32_t peer) {
    if (count_ >= kInside) {
      if (!more_) more_ = std::make_unique<std::vector<uint32_t>>();
      more_->resize(std::max<size_t>(more_->size(), count_ + 1 - kInside));
    }
    at(count_++) = peer;
  }
  /// Returns false where the peer is not among them.
  bool remove(uint32_t peer) {
    for (uint32_t i = 0; i < count_; ++i)
      if (at(i) == peer) {
        at(i) = at(--count_);
        return true;
      }
    return false;
  }

 private:
  static constexpr uint32_t kInside = 1;
  uint32_t& at(uint32_t i) { return i < kInside ? inside_ : (*more_)[i - kInside]; }
  uint32_t count_ = 0, inside_ = 0;
  std::unique_ptr<std::vector<uint32_t>> more_;
};

/// Messages that have come for later rounds of a member, in their order: a ring.
class EarlyTransfers {
 public:
  void add(PredictedTransfer* t) {
    t->next = last_ ? last_->next : t;
    if (last_) last_->next = t;
    last_ = t;
  }
  /// Removes the first one from this member and returns it; nullptr: there is none.
  PredictedTransfer* take(uint32_t sender) {
    PredictedTransfer* before = last_;
    if (!before) return nullptr;
    while (before->next->ends.sender != sender)
      if ((before = before->next) == last_) return nullptr;
    PredictedTransfer* const t = before->next;
    before->next = t->next;
    if (t == last_) last_ = t == before ? nullptr : before;
    return t;
  }

 private:
  PredictedTransfer* last_ = nullptr;
};

/// One member of a collective on the predicted machine.
struct CollectiveMember {
  VirtualTime clock = 0;
  uint32_t rank = 0;
  uint32_t round = 0;
  uint32_t moving = 0;  ///< rendezvous of this round whose data has yet to leave or to come
  bool arrived = false, finished = false;
  bool detached = false;  ///< no call waits for its end
  uint64_t combined = 0;
  std::unique_ptr<MemberBytes> own;  ///< where members differ
  AwaitedPeers awaited;
  EarlyTransfers early;  ///< envelopes of rendezvous, or whole messages
};
static_assert(sizeof(CollectiveMember) <= 64, "memory budget: of a predicted rank");

struct CollectiveRun {
  ScheduledCollective shape;
  uint32_t unreleased = 0;  ///< members that may still look at it
  std::vector<CollectiveMember> members;
};

/// A member of a run.
struct MemberRef {
  CollectiveRun* run;
  uint32_t member;
};

/// The collectives that a rank's present call waits for, in order: mostly one.
class AwaitedRuns {
 public:
  AwaitedRuns() = default;
  AwaitedRuns(const AwaitedRuns&) = delete;
  AwaitedRuns& operator=(const AwaitedRuns&) = delete;
  AwaitedRuns(AwaitedRuns&& other) noexcept
      : run_(other.run_), member_(other.member_), count_(std::exchange(other.count_, 0)) {}
  ~AwaitedRuns() { clear(); }
  uint32_t size() const { return count_; }
  void clear() {
    if (count_ > 1) delete all_;
    count_ = 0;
  }
  void add(MemberRef ref) {
    if (count_ == 0) {
      run_ = ref.run;
      member_ = ref.member;
    } else {
      if (count_ == 1) all_ = new std::vector<MemberRef>{{run_, member_}};
      all_->push_back(ref);
    }
    ++count_;
  }
  MemberRef operator[](uint32_t i) const {
    return count_ > 1 ? (*all_)[i] : MemberRef{run_, member_};
  }

 private:
  union {
    CollectiveRun* run_ = nullptr;
    std::vector<MemberRef>* all_;  ///< where there are several
  };
  uint32_t member_ = 0, count_ = 0;
};

inline void raise_clock(VirtualTime* clock, VirtualTime at) {
  if (*clock < at) *clock = at;
}

/// The lock of a target's memory in a window.
struct WindowLock {
  uint32_t local = 0;  ///< the target
  uint32_t holders = 0;
  bool exclusive = false;
  std::deque<PredictedTransfer*> waiting;
};

/// `at` of a request that is complete when all accesses of its rank are.
inline constexpr VirtualTime kAwaitsAccesses = -1;

/// What the simulator keeps of a request.
struct RequestTimes {
  /// When it was posted; once it is complete when that was, without the overhead.
  VirtualTime at = 0;
  VirtualTime overhead = 0;  ///< of the receiver, when it collects the request
};

/// The times of requests, by the index of their handles. Memory is touched where there are some.
class TimesByIndex {
 public:
  /// Indices below have times.
  uint32_t known() const { return known_; }
  /// REQUIRES: index < known().
  RequestTimes& known_at(uint32_t index) { return times_[index]; }
  RequestTimes& at(uint32_t index) {
    if (__builtin_expect(index >= known_, 0)) grow(index);
    return times_[index];
  }

 private:
  [[gnu::noinline]] void grow(uint32_t index);
  std::vector<RequestTimes> times_;
  uint32_t known_ = 0;  ///< their number
};

class Simulator final : public pt2pt::MessageDecider,
                        public comm::MeetingDecider,
                        public coll::EarlyExitDecider,
                        public rma::AccessDecider {
 public:
  Simulator(uint32_t ranks, PredictedMachine machine);

  // Called by src/meter (hooks.h).
  void enter(CallGroup group, uint64_t place = 0) {
    if (!comm::rank_state()) return;
    const uint32_t index = running_index();
    if (__builtin_expect(index >= known_ranks_, 0)) return enter_slowly(group, place);
    PredictedRank& rank = ranks_[index];
    if (__builtin_expect(rank.depth | watches_calls_, 0) || group == CallGroup::kFile)
      return enter_slowly(group, place);
    begin_call(&rank, group, place);
  }
  void leave() {
    if (!comm::rank_state()) return;
    const uint32_t index = running_index();
    leave_call(index, &ranks_[index]);
  }
  void record_posted(MPI_Request request) {
    if (comm::rank_state()) record_posted_by(&running(), static_cast<uint32_t>(request), false);
  }
  void leave_receive(MPI_Request request) {
    if (!comm::rank_state()) return;
    const uint32_t index = running_index();
    PredictedRank& rank = ranks_[index];
    record_posted_by(&rank, static_cast<uint32_t>(request), true);
    leave_call(index, &rank);
  }
  int begin_wait(int count, const MPI_Request* requests, uint32_t* waited);
  void end_wait(int count, uint32_t* waited);
  void await_accesses();
  void access_file(int64_t bytes, const MPI_Request* request);
  void open_file();
  /// From now on the answers of targets use ports, too.
  void begin_windows() { sends_ahead_ = false; }
  int64_t rank_now_ns();
  int64_t clock_ns();
  /// The times that ranks compute: filled, or taken from (computed_times.h). REQUIRES: it stays.
  void use_times(ComputedTimes* times) { times_ = times; }
  void observe(const ClockObserver* observer) {
    observer_ = observer;
    watches_calls_ = computes_ || observer;
  }
  void pass_ns(int64_t ns);
  void yield();

  // pt2pt::MessageDecider
  bool decides(uint64_t ctx) const override;
  void add_message(uint32_t local, pt2pt::UnexpectedMessage* message) override;
  bool buffers(uint32_t local, uint64_t bytes) const override;
  bool send_to_posted(uint32_t local, const pt2pt::Envelope& envelope, const void* data,
                      uint64_t bytes) override;
  bool withdraw_receive(pt2pt::RecvOp* op) override;
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
  bool waits_for_outside() const override { return in_files_ > 0; }
  void match_held_back(pt2pt::UnexpectedMessage* message, pt2pt::RecvOp* op) override;
  // comm::MeetingDecider
  void record_arrival(const comm::Comm* comm, const comm::Meeting* meeting, uint8_t operation,
                      const comm::Arrival* arrival) override;
  uint64_t draw_number() override;
  // coll::EarlyExitDecider
  void begin_early_exit_wait(coll::EarlyExitWait* wait) override;
  void end_early_exit_wait(coll::EarlyExitWait* wait) override;
  void begin_blocking_collective(const coll::Args& args) override { arguments_ = &args; }

  // rma::AccessDecider
  void await_access(const rma::MemoryAccess& access, const sched::WaitSite* site) override;
  void record_unlock(uint64_t window, int32_t target, bool exclusive) override;
  void record_notice_sent(const rma::WindowNotice& notice) override;
  void record_notice_received(const rma::WindowNotice& notice) override;

  /// The clocks and sums of all ranks, for mpiexec.
  void fill_outcome(PredictionOutcome* out) const;

 private:
  static uint64_t key_of_wait(uint32_t rank, uint32_t request) {
    return uint64_t{rank} << 32 | request;
  }
  /// What most ranks never need.
  struct RareState {
    /// The latest time for which it computed or slept, and so no message moved by itself. Kept
    /// where keeps_away_ is set.
    VirtualTime away_from = 0, away_until = 0;
    VirtualTime vain_since = 0;    ///< it has polled in vain since then
    VirtualTime looked_since = 0;  ///< it has looked at the clock alone since then
    VirtualTime accessed = 0;      ///< when its latest access was complete
    coll::EarlyExitWait* early_exit = nullptr;
  };
  struct PredictedRank {
    VirtualTime clock = 0;
    VirtualTime entered = 0;  ///< its clock when it entered its present call
    int64_t left_ns = -1;     ///< real time when it left its last call; -1: not yet
    uint64_t place = 0;       ///< of its latest call, where places are needed
    uint32_t events = 0, draws = 0;
    uint32_t arriving = 0;  ///< messages for it whose kArrive is to come
    /// What may yet use its own port at a time of its own: collectives, and messages that wait for
    /// kSend.
    uint32_t port_users = 0;
    const PredictedTransfer* wakes = nullptr;  ///< the event that wakes it
    sched::Proclet* parked = nullptr;          ///< by the simulator, until kWake or a touch
    uint32_t vain = 0;                         ///< polls in vain
    uint32_t accesses = 0;                     ///< to windows and files, not complete yet
    uint16_t looks = 0;                        ///< at the clock, since its latest call
    uint16_t calls_in_a_row = 0;               ///< since it last waited for an event
    uint16_t depth = 0;  ///< calls of MPI that it is in: more than one where a callback calls MPI
    CallGroup group = CallGroup::kOther;
    bool touchable = false;   ///< parked until something happens to it
    bool by_clock = false;    ///< it has looked at the clock until a time has come
    bool in_file = false;     ///< it is one of in_files_
    bool awaits_all = false;  ///< its present call waits for its accesses
    AwaitedRuns runs;         ///< the collectives that its present call waits for
    /// Messages that are under way to it and that no receive has matched, those of each sender in
    /// their order.
    List<pt2pt::Arrived> unmatched;
    /// A receive that its present call posts has found its message: the overhead of that, which
    /// the rank has yet to pay.
    VirtualTime found = 0;
    std::unique_ptr<RareState> rare_state;
    RankSums times;

    RareState& rare() {
      if (!rare_state) rare_state = std::make_unique<RareState>();
      return *rare_state;
    }
  };
  static_assert(sizeof(PredictedRank) <= 192, "memory budget: of a predicted rank's 512 bytes");
  struct NodePort {
    VirtualTime out = 0, in = 0;  ///< free from then on
  };

  PredictedRank& running() {
    const uint32_t index = running_index();
    know_rank(index);
    return ranks_[index];
  }
  /// Ranks up to this one have clocks: also those that the program has spawned in this process.
  void know_rank(uint32_t index) {
    while (__builtin_expect(index >= known_ranks_, 0)) add_rank();
  }
  void add_rank();
  void begin_call(PredictedRank* rank, CallGroup group, uint64_t place) {
    if (group != CallGroup::kCompletion) rank->vain = 0;
    rank->depth = 1;
    rank->group = group;
    rank->place = place;
    rank->looks = 0;
    rank->entered = rank->clock;
    ++rank->times.calls;
    if (__builtin_expect(++rank->calls_in_a_row >= kCallsInARow, 0)) give_turn(rank);
  }
  [[gnu::always_inline]] void leave_call(uint32_t index, PredictedRank* rank) {
    if (__builtin_expect(rank->depth > 1 || rank->runs.size() || rank->found || rank->in_file, 0) ||
        watches_calls_)
      return leave_slowly(index);
    end_call(rank);
  }
  [[gnu::always_inline]] void record_posted_by(PredictedRank* rank, uint32_t handle, bool is_new) {
    if (__builtin_expect(handle == pt2pt::kSentHandle, 0)) return;
    RequestTimes& times = times_of(handle);
    if (is_new) times = {0, std::exchange(rank->found, 0)};
    raise_clock(&times.at, rank->clock);
    if (!rank->unmatched.empty()) match_posted_receive(handle);
  }
  static void end_call(PredictedRank* rank) {
    const VirtualTime passed = rank->clock - rank->entered;
    if (rank->group == CallGroup::kMessage || rank->group == CallGroup::kCompletion)
      rank->times.messages += passed;
    else
      (rank->group == CallGroup::kCollective ? rank->times.collectives : rank->times.other) +=
          passed;
    rank->depth = 0;
    rank->left_ns = 0;
  }
  void enter_slowly(CallGroup group, uint64_t place);
  void leave_slowly(uint32_t rank);
  void give_turn(PredictedRank* rank);
  static VirtualTime time_of_look(PredictedRank* rank);
  int64_t measured_computing(const PredictedRank& rank);
  /// `place`: the call that ends the computing; 0: a look at the clock.
  void add_computing(PredictedRank* rank, uint64_t place);
  void leave_library(PredictedRank* rank);
  /// The rank has computed or slept from `from` to its clock.
  void record_away(PredictedRank* rank, VirtualTime from) const;
  static uint32_t running_index() { return comm::rank_state()->local; }
  /// Real accesses to files that the rank waits for hold back events: it has its old clock then.
  void set_in_file(PredictedRank* rank, bool in_file) {
    in_files_ += in_file - rank->in_file;
    rank->in_file = in_file;
  }
  /// The event is one of the transfer's sender. REQUIRES: the transfer has none to come.
  [[gnu::always_inline]] void push_event(VirtualTime at, NextEvent kind, PredictedTransfer* t) {
    t->of_receiver = false;
    push_event_of(t->from, at, kind, t);
  }
  [[gnu::always_inline]] void push_event_of(uint32_t rank, VirtualTime at, NextEvent kind,
                                            PredictedTransfer* t) {
    t->at = std::max(at, now_);
    t->event = kind;
    t->number = ranks_[rank].events++;
    events_.push(t);
  }
  /// The transfer's data has left its sender's memory at this time.
  void push_sent(VirtualTime at, PredictedTransfer* t);
  [[gnu::always_inline]] void happen(PredictedTransfer* t) {
    if (t->event == NextEvent::kSend) return leave_port(t);
    if (t->event == NextEvent::kReach) return reach_port(t);
    happen_rarely(t);
  }
  void happen_rarely(PredictedTransfer* t);
  /// When the next event happens, or the bytes of the next transfer have moved.
  VirtualTime next_time();
  /// Parks until another event of the rank's, or until kWake at `latest`. May switch.
  void park_until(uint32_t rank, VirtualTime latest, const sched::WaitSite* site);
  /// Parks the running rank until all that happens up to its clock has happened. May switch.
  void settle(uint32_t rank, const sched::WaitSite* site);
  /// Parks until something happens to the rank, or at `latest`. May switch.
  void await_touch(uint32_t rank, VirtualTime latest, const sched::WaitSite* site);
  /// `hop`: what came, for the critical path.
  void touch(uint32_t rank, const PathHop* hop = nullptr) {
    if (ranks_[rank].touchable) wake(rank, now_, hop);
  }
  void wake(uint32_t rank, VirtualTime at, const PathHop* hop = nullptr);
  /// The rank's clock, or that of its member of a collective, is at `at` or later because of the
  /// hop.
  void raise_by(uint32_t rank, VirtualTime* clock, VirtualTime at, const PathHop* hop) {
    if (*clock >= at) return;
    *clock = at;
    if (hop) path_->record(rank, at, ranks_[rank].times.computing, ranks_[rank].place, *hop);
  }
  void begin_hop(PredictedTransfer* t, uint32_t rank, VirtualTime clock);
  /// The hop of the request with this index; nullptr: the path is not kept.
  PathHop* hop_of(uint32_t index) {
    return __builtin_expect(path_ != nullptr, 0) ? known_hop_of(index) : nullptr;
  }
  PathHop* known_hop_of(uint32_t index);
  /// A look in vain: lets time pass, at most to `until`. May switch.
  void poll_in_vain(uint32_t rank, const sched::WaitSite* site, VirtualTime until = kNever);

  // Messages of the program (messages.cc).
  /// Begins a message of the running rank, whose clock passes by what it does for it.
  PredictedTransfer* begin_message(uint32_t to, uint64_t bytes);
  void send_message(PredictedTransfer* t);
  /// The eldest posted receive that covers a message; nullptr: there is none, or it may take
  /// another message.
  pt2pt::RecvOp* find_certain_receive(pt2pt::Endpoint* at, const pt2pt::Envelope& message);
  void match_posted_receive(uint32_t handle);
  std::vector<PredictedTransfer*> find_filled();
  void remove_unmatched(PredictedTransfer* t) { ranks_[t->to].unmatched.remove(t->message); }

  // Transfers.
  PredictedTransfer* new_transfer() {
    if (__builtin_expect(!free_, 0)) return add_transfer();
    PredictedTransfer* t = std::exchange(free_, free_->next);
    *t = PredictedTransfer();
    return t;
  }
  PredictedTransfer* add_transfer();
  void free_transfer(PredictedTransfer* t) {
    t->next = free_;
    free_ = t;
  }
  /// Fills in between whom the transfer is.
  void set_ends(PredictedTransfer* t, uint32_t from, uint32_t to) {
    know_rank(to);
    t->from = from;
    t->to = to;
    t->is_inside = nodes_[from] == nodes_[to];
  }
  const LinkClass& link_of(const PredictedTransfer& t) const {
    return t.is_inside ? machine_.inside : machine_.between;
  }
  /// The port of one of the transfer's ends. Ranks of a node share its port to other nodes. Within
  /// a node each rank copies by itself.
  NodePort& port_of(const PredictedTransfer& t, uint32_t rank) {
    return t.is_inside ? rank_ports_[rank] : node_ports_[nodes_[rank]];
  }
  uint64_t bytes_under_way(const PredictedTransfer& t) const { return t.rendezvous ? 0 : t.bytes; }
  /// The transfer waits until a port is free, then keeps it busy. Returns when it begins.
  VirtualTime occupy(VirtualTime* free_from, VirtualTime time) {
    return occupy(free_from, time, now_);
  }
  VirtualTime occupy(VirtualTime* free_from, VirtualTime time, VirtualTime now) {
    const VirtualTime start = std::max(now, *free_from);
    contention_ += start - now;
    *free_from = start + time;
    return start;
  }
  /// Within a node the class of links is all there is to the latency.
  VirtualTime latency_of(const PredictedTransfer& t, const LinkPiece& piece) const {
    if (__builtin_expect(!network_, 1)) return piece.latency;
    return piece.latency + network_->latency(nodes_[t.from], nodes_[t.to]);
  }
  void leave_port(PredictedTransfer* t);
  /// Is it a message of the program?
  static bool is_message(const PredictedTransfer& t) {
    return !t.is_part && t.stage == AccessStage::kNone;
  }
  /// Is the port that it leaves its sender's alone?
  bool leaves_own_port(const PredictedTransfer& t) const {
    return t.is_inside || has_one_rank_a_node_;
  }
  void begin_flow(PredictedTransfer* t, const LinkPiece& piece, uint64_t bytes);
  void end_flow(PredictedTransfer* t);
  void reach_port(PredictedTransfer* t);
  bool completes_early(PredictedTransfer* t, VirtualTime arrival);
  void arrive(PredictedTransfer* t);
  bool is_buffer_bounded() const { return machine_.buffered_bytes != UINT64_MAX; }
  VirtualTime time_with_receiver(const PredictedTransfer& t);
  void keep_order(PredictedTransfer* t);
  PredictedTransfer* end_order(PredictedTransfer* t);
  void deliver(PredictedTransfer* t);
  void permit(PredictedTransfer* t, VirtualTime at);
  void clear(PredictedTransfer* t);
  void have_sent(PredictedTransfer* t);
  /// `request`: that of the receive, if it has one.
  void complete_receive(PredictedTransfer* t, pt2pt::Request* request, VirtualTime at);
  /// A send or a receive of the request is complete at `at`. Another half of it may be, too.
  void finish_request(uint32_t handle, VirtualTime at, VirtualTime overhead, const PathHop* hop) {
    RequestTimes& times = times_of(handle);
    times.overhead += overhead;
    if (times.at >= at) return;
    times.at = at;
    if (__builtin_expect(hop != nullptr, 0)) *hop_of(handle & pt2pt::kIndexMask) = *hop;
  }
  /// The rank collects a complete request: its clock is behind the completion, and behind what the
  /// receiver does for it.
  void collect(uint32_t index, RequestTimes* times, PathHop* hop) {
    PredictedRank& rank = ranks_[index];
    raise_by(index, &rank.clock, times->at, hop);
    rank.clock += times->overhead;
    rank.times.overhead += times->overhead;
    *times = RequestTimes();
  }
  void collect_watched(uint32_t index, int count, const uint32_t* waited);
  void begin_special_wait(PredictedRank* rank, uint32_t request);
  /// Where the rank waits for the request of a collective: what it has yet to wait for.
  MemberRef take_awaited_run(uint32_t rank, uint32_t request);
  bool is_over(const pt2pt::Request* request, VirtualTime clock, VirtualTime* until);
  void take_request(uint32_t rank, pt2pt::Request* request);
  RequestTimes& times_of(uint32_t handle) { return requests_.at(handle & pt2pt::kIndexMask); }

  // Accesses (accesses.cc).
  PredictedTransfer* new_access(uint32_t from, uint32_t to, AccessStage stage);
  void access_arrived(PredictedTransfer* t);
  void end_access(PredictedTransfer* t, uint32_t rank);
  void access_answered(PredictedTransfer* t);
  /// Parks until the running rank has the lock. May switch.
  void await_lock(const rma::MemoryAccess& access, const sched::WaitSite* site);
  void ask_lock(PredictedTransfer* t);
  void end_lock(PredictedTransfer* t);
  void grant_locks(WindowLock* lock);

  // Collectives (collectives.cc).
  void advance(CollectiveRun* run, uint32_t member);
  bool take_early(CollectiveRun* run, uint32_t member, const RoundPart& part);
  void part_arrived(PredictedTransfer* t, VirtualTime at);
  void part_sent(PredictedTransfer* t);
  void end_round(CollectiveMember* member);
  void go_on(CollectiveRun* run, uint32_t member);
  void member_finished(PredictedTransfer* end);
  CollectiveRun* new_run();
  /// Returns the run of a meeting that the running rank has joined.
  CollectiveRun* run_of(const comm::Comm* comm, const comm::Meeting* meeting, uint8_t operation,
                        const coll::Args* args);
  void release_run(CollectiveRun* run);
  void fill_shape(const comm::Comm* comm, uint8_t operation, const coll::Args* args,
                  CollectiveRun* run);
  static void fill_member(const comm::Comm* comm, const coll::Args* args, CollectiveRun* run);
  void await_run(uint32_t rank, CollectiveRun* run, uint32_t member);

  const PredictedMachine machine_;
  /// Can a message overtake an earlier one of the same sender to the same receiver on the links?
  bool may_overtake_ = false;
  /// Where it can: the latest of each sender to each receiver that is on its way.
  std::unordered_map<uint64_t, PredictedTransfer*> latest_;
  /// A message whose sender's port nobody else uses leaves it at once: no event orders it.
  bool sends_ahead_ = false;
  bool has_one_rank_a_node_ = false;
  const bool keeps_away_;  ///< messages wait where their ranks compute
  const bool computes_;    ///< computing takes time
  /// Calls need more at their beginning and end: computing takes time, or there is an observer.
  bool watches_calls_;
  std::vector<PredictedRank> ranks_;
  uint32_t known_ranks_;          ///< their number
  const uint32_t initial_ranks_;  ///< before the program spawns any
  std::vector<uint32_t> nodes_;   ///< of each rank
  /// Virtual time of computing for each second that is measured, of the ranks of each node.
  std::vector<double> node_factors_;
  std::vector<NodePort> node_ports_, rank_ports_;
  /// nullptr: all ways are the same, and transfers wait for ports.
  std::unique_ptr<TransferNetwork> network_;
  TypicalTimes typical_;
  VirtualTime corrected_ = 0;              ///< computing that was measured, but did not count
  std::unique_ptr<CriticalPath> path_;     ///< nullptr: not kept
  std::vector<PathHop> hops_of_requests_;  ///< by index, where it is kept
  EventQueue<PredictedTransfer> events_;
  VirtualTime now_ = 0;
  TimesByIndex requests_;
  std::deque<PredictedTransfer> transfers_;
  std::deque<ExplainedTransfer> explained_transfers_;  ///< in place of them
  PredictedTransfer* free_ = nullptr;
  std::unordered_map<const comm::Meeting*, CollectiveRun*> open_runs_;
  /// The meeting that was joined last, and its run; nullptr: it is full.
  const comm::Meeting* joined_meeting_ = nullptr;
  CollectiveRun* joined_run_ = nullptr;
  std::vector<std::unique_ptr<CollectiveRun>> free_runs_;
  std::unordered_map<const pt2pt::Request*, MemberRef> runs_of_requests_;
  /// Those of them that ranks wait for, by rank and index: their requests may be gone already.
  std::unordered_map<uint64_t, MemberRef> awaited_runs_;
  ScheduleRound round_;  ///< reused
  /// How many collectives had each algorithm.
  std::map<std::pair<uint8_t, ScheduleAlgorithm>, uint64_t> schedules_;
  /// When the processor time was last read, and what it was (real time, ns).
  int64_t looked_at_ = 0, used_then_ = 0;
  int64_t waits_then_ = 0;      ///< how often the process had waited when a rank was left last
  int64_t waited_outside_ = 0;  ///< ns that ranks have waited for something outside of MPI
  const ClockObserver* observer_ = nullptr;
  ComputedTimes* times_ = nullptr;
  uint64_t times_missing_ = 0;
  bool in_event_ = false;                  ///< an event happens, no rank runs
  const coll::Args* arguments_ = nullptr;  ///< of the running rank's next arrival
  std::map<std::pair<uint64_t, int32_t>, WindowLock> window_locks_;
  /// When a notice between members of a window arrives: window, from, to, kind.
  std::map<std::tuple<uint64_t, int32_t, int32_t, int>, VirtualTime> notices_;
  bool has_file_requests_ = false;  ///< there have been requests of accesses to files
  uint32_t in_files_ = 0;           ///< ranks in calls that access files, or that wait for accesses
  uint64_t transfers_made_ = 0;
  VirtualTime contention_ = 0;
};

}  // namespace fgmpi::predict
