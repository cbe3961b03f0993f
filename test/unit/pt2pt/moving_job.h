// A job of ranks that move, in one process, for tests of forwarding.h: channels between its
// processes, and every choice of what happens next. A process is the protocol alone, or the real
// engine.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "pt2pt/forwarding.h"

namespace fgmpi::pt2pt::testing {

/// A step of a rank's program: a message to the rank of a program, or a move to a process.
struct Step {
  enum What : uint8_t { kSend, kMove } what;
  uint32_t to;
};
inline Step send_to(uint32_t program) { return {Step::kSend, program}; }
inline Step move_to(uint32_t process) { return {Step::kMove, process}; }

struct Program {
  uint32_t home;
  std::vector<Step> steps;
};

struct Case {
  const char* name;
  uint32_t processes;
  std::vector<Program> ranks;
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Each process is the home of so many ranks, with or without a program.
inline constexpr uint32_t kEach = 4;
inline uint32_t home_of_rank(uint32_t world) { return world / kEach; }
/// The local index of a rank in a process: its own at home, or one behind all own ranks.
inline uint32_t index_in(uint32_t process, uint32_t world) {
  return home_of_rank(world) == process ? world % kEach : kEach + world;
}
inline constexpr uint64_t kMovingCtx = 256;

/// What a channel holds. kAck answers the synchronous send `item.cookie`.
struct Frame {
  enum Type : uint8_t { kPlain, kItem, kNote, kAck } type;
  ItemLeg leg;
  MoveNote note;
  ForwardedItem item;
  uint32_t sender, world, argument;
};

class Job;

/// A process of the job.
class JobProcess {
 public:
  JobProcess(Job* job, uint32_t me) : job_(job), me_(me) {}
  virtual ~JobProcess() = default;
  virtual std::unique_ptr<JobProcess> copy(Job*) const { return nullptr; }
  virtual bool may_depart(uint32_t world) const = 0;
  virtual void depart(uint32_t world, uint32_t next) = 0;
  virtual void arrive(uint32_t world) = 0;
  /// Message `number` of the rank `from`, which is here, to the rank `to`.
  virtual void send(uint32_t from, uint32_t to, int32_t number) = 0;
  virtual bool receive_frame(uint32_t from, const Frame& frame) = 0;
  virtual bool has_message(uint32_t world) const = 0;
  /// The eldest message at the endpoint of a rank here.
  virtual ForwardedItem take_message(uint32_t world) = 0;
  virtual bool is_empty() const = 0;
  virtual void describe(std::string*) const {}

 protected:
  void push(uint32_t to, const Frame& frame) const;
  Job* job_;
  uint32_t me_;
};

/// The protocol alone, with queues that hold messages.
class ModelProcess final : public JobProcess, ForwardingSite {
 public:
  ModelProcess(Job* job, uint32_t me) : JobProcess(job, me), forwarding_(this, me, &moved_) {}
  ModelProcess(const ModelProcess& other, Job* job)
      : JobProcess(job, other.me_),
        moved_(other.moved_),
        forwarding_(other.forwarding_, this, &moved_),
        queues_(other.queues_) {}
  std::unique_ptr<JobProcess> copy(Job* job) const override {
    return std::make_unique<ModelProcess>(*this, job);
  }
  bool may_depart(uint32_t world) const override { return forwarding_.may_depart(world); }
  void depart(uint32_t world, uint32_t next) override {
    forwarding_.depart(world, next);
    EXPECT_FALSE(has_message(world));
  }
  void arrive(uint32_t world) override { forwarding_.arrive(world, index_in(me_, world)); }
  void send(uint32_t from, uint32_t to, int32_t number) override {
    ForwardedItem item;
    item.envelope = {kMovingCtx, static_cast<int32_t>(from), number};
    item.world = to;
    item.process = me_;
    item.target = (me_ + 1) * 2;  // this process returns the credit (moved_endpoints_test.cc)
    uint32_t local = 0;
    switch (forwarding_.choose_way(item.envelope, to, from, &local)) {
      case SendWay::kHere:
        return deliver(local, item);
      case SendWay::kToHome:
        return push(home_of(to), {Frame::kPlain, {}, {}, item, kNoRank, 0, 0});
      case SendWay::kForwarded:
        return forwarding_.send(item, from);
    }
  }
  bool receive_frame(uint32_t from, const Frame& f) override {
    if (f.type == Frame::kNote) return forwarding_.receive(from, f.note, f.world, f.argument);
    if (f.type == Frame::kItem) return forwarding_.receive(from, f.leg, f.item, f.sender);
    if (f.type == Frame::kAck) return false;
    if (forwarding_.diverts(f.item.world))
      forwarding_.receive_plain(f.item);
    else
      deliver(index_in(me_, f.item.world), f.item);
    return true;
  }
  bool has_message(uint32_t world) const override {
    const auto queue = queues_.find(index_in(me_, world));
    return queue != queues_.end() && !queue->second.empty();
  }
  ForwardedItem take_message(uint32_t world) override {
    ForwardedItem item;
    take_unexpected(index_in(me_, world), world, &item);
    return item;
  }
  bool is_empty() const override { return forwarding_.empty(); }
  void describe(std::string* out) const override {
    forwarding_.describe(out);
    for (uint32_t world = 0; world < kEach * 4; ++world)
      if (moved_.process_of(world) != kNoRank)
        *out += format("%u is at %u ", world, moved_.process_of(world));
    for (const auto& [local, queue] : queues_) {
      if (queue.empty()) continue;
      *out += format("queue %u", local);
      for (const auto& item : queue)
        *out += format(" %d.%d", item.envelope.source, item.envelope.tag);
    }
  }

 private:
  uint32_t home_of(uint32_t world) const override { return home_of_rank(world); }
  uint32_t index_at_home(uint32_t world) const override { return index_in(me_, world); }
  void send_item(uint32_t process, ItemLeg leg, const ForwardedItem& item,
                 uint32_t sender) override {
    push(process, {Frame::kItem, leg, {}, item, sender, 0, 0});
  }
  void send_note(uint32_t process, MoveNote note, uint32_t world, uint32_t argument) override {
    push(process, {Frame::kNote, {}, note, {}, kNoRank, world, argument});
  }
  void deliver(uint32_t local, const ForwardedItem& item) override {
    EXPECT_EQ(local, index_in(me_, item.world));
    EXPECT_EQ(item.kind, ForwardedItem::kMessage);
    queues_[local].push_back(item);
  }
  bool take_unexpected(uint32_t local, uint32_t, ForwardedItem* out) override {
    auto& queue = queues_[local];
    if (queue.empty()) return false;
    *out = queue.front();
    queue.pop_front();
    return true;
  }

  MovedRanks moved_;
  Forwarding forwarding_;
  std::map<uint32_t, std::deque<ForwardedItem>> queues_;  ///< by local index
};

/// The whole job at one moment.
class Job {
 public:
  using MakeProcess = std::function<std::unique_ptr<JobProcess>(Job*, uint32_t process)>;
  explicit Job(const Case& c, const MakeProcess& make = nullptr)
      : case_(c), channels_(c.processes * c.processes) {
    for (uint32_t p = 0; p < c.processes; ++p) {
      processes_.push_back(make ? make(this, p) : nullptr);
      if (!processes_.back()) processes_.back() = std::make_unique<ModelProcess>(this, p);
    }
    std::vector<uint32_t> ranks(c.processes);
    for (const Program& program : c.ranks) {
      const uint32_t home = program.home;
      EXPECT_LT(ranks[home], kEach);
      ranks_.push_back({home * kEach + ranks[home]++, home, home, 0});
    }
    sent_.resize(ranks_.size() * ranks_.size());
    received_ = sent_;
  }
  Job(const Job& other)
      : case_(other.case_),
        ranks_(other.ranks_),
        channels_(other.channels_),
        sent_(other.sent_),
        received_(other.received_) {
    for (const auto& process : other.processes_) processes_.push_back(process->copy(this));
  }

  void push(uint32_t from, uint32_t to, const Frame& frame) {
    EXPECT_NE(from, to);
    channels_[from * case_.processes + to].push_back(frame);
  }
  /// What may happen now: a frame arrives, a rank makes a step, a rank receives a message.
  std::vector<uint32_t> choices() const {
    std::vector<uint32_t> out;
    for (uint32_t c = 0; c < channels_.size(); ++c)
      if (!channels_[c].empty()) out.push_back(c);
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      const RankState& rank = ranks_[r];
      if (may_step(r)) out.push_back(kSteps + r);
      if (rank.at == rank.goes_to && processes_[rank.at]->has_message(rank.world))
        out.push_back(kReceives + r);
    }
    return out;
  }
  /// Lets it happen. False: an error, described in *why.
  bool choose(uint32_t choice, std::string* why) {
    if (choice >= kReceives) return receive(choice - kReceives, why);
    if (choice >= kSteps) return step(choice - kSteps), true;
    const Frame frame = channels_[choice].front();
    channels_[choice].pop_front();
    const uint32_t from = choice / case_.processes, to = choice % case_.processes;
    if (processes_[to]->receive_frame(from, frame)) return true;
    *why = format("process %u refused a frame of %u", to, from);
    return false;
  }
  /// Is everything over and received?
  bool is_complete(std::string* why) const {
    for (uint32_t r = 0; r < ranks_.size(); ++r)
      if (ranks_[r].next != case_.ranks[r].steps.size())
        return *why = format("rank %u cannot go on", r), false;
    if (sent_ != received_) return *why = "a message is lost", false;
    for (const auto& process : processes_)
      if (!process->is_empty()) return *why = "an item is kept for ever", false;
    return true;
  }
  std::string describe() const {
    std::string out;
    for (uint32_t p = 0; p < processes_.size(); ++p) {
      out += format("process %u\n", p);
      processes_[p]->describe(&out);
    }
    for (const auto& channel : channels_) {
      out += "\nchannel";
      for (const Frame& f : channel)
        out += format(" %u.%u.%u.%u.%d.%d.%u.%u.%u.%u.%u.%u", f.type, static_cast<unsigned>(f.leg),
                      static_cast<unsigned>(f.note), f.item.kind, f.item.envelope.source,
                      f.item.envelope.tag, f.item.world, f.item.process, f.item.target, f.sender,
                      f.world, f.argument);
    }
    out += "\n";
    for (const RankState& r : ranks_) out += format("%u>%u:%zu ", r.at, r.goes_to, r.next);
    for (size_t i = 0; i < sent_.size(); ++i) out += format("%d.%d ", sent_[i], received_[i]);
    return out;
  }

 private:
  static constexpr uint32_t kSteps = 1000, kReceives = 2000;
  struct RankState {
    uint32_t world, at, goes_to;
    size_t next;
  };

  bool may_step(uint32_t r) const {
    const RankState& rank = ranks_[r];
    if (rank.at != rank.goes_to) return true;
    if (rank.next == case_.ranks[r].steps.size()) return false;
    return case_.ranks[r].steps[rank.next].what == Step::kSend ||
           processes_[rank.at]->may_depart(rank.world);
  }
  void step(uint32_t r) {
    RankState& rank = ranks_[r];
    if (rank.at != rank.goes_to) {
      rank.at = rank.goes_to;
      return processes_[rank.at]->arrive(rank.world);
    }
    const Step& s = case_.ranks[r].steps[rank.next++];
    if (s.what == Step::kSend)
      return processes_[rank.at]->send(rank.world, ranks_[s.to].world,
                                       sent_[r * ranks_.size() + s.to]++);
    processes_[rank.at]->depart(rank.world, s.to);
    rank.goes_to = s.to;
  }
  bool receive(uint32_t r, std::string* why) {
    const RankState& rank = ranks_[r];
    const ForwardedItem item = processes_[rank.at]->take_message(rank.world);
    size_t from = 0;
    while (static_cast<int32_t>(ranks_[from].world) != item.envelope.source) ++from;
    int& received = received_[from * ranks_.size() + r];
    // The answer to a synchronous send comes at once: its order with other frames does not matter.
    const Frame ack{Frame::kAck, {}, {}, item, kNoRank, 0, 0};
    if (item.cookie && !processes_[item.process]->receive_frame(rank.at, ack))
      return *why = format("process %u refused an answer", item.process), false;
    if (item.envelope.tag == received++) return true;
    *why = format("rank %u received message %d of rank %zu where %d is due", r, item.envelope.tag,
                  from, received - 1);
    return false;
  }

  const Case& case_;
  std::vector<std::unique_ptr<JobProcess>> processes_;
  std::vector<RankState> ranks_;
  std::vector<std::deque<Frame>> channels_;
  std::vector<int> sent_, received_;  ///< by pair of programs
};

inline void JobProcess::push(uint32_t to, const Frame& frame) const { job_->push(me_, to, frame); }

using Path = std::vector<uint32_t>;

/// Calls visit(path) for a path to each choice of each state of the model that can be met;
/// path.back() is the choice. Returns the number of ends, and stops at an error, which it reports.
template <class F>
size_t explore(const Case& c, F&& visit) {
  std::unordered_set<std::string> met;
  std::vector<std::pair<Job, Path>> open;
  open.emplace_back(Job(c), Path());
  size_t ends = 0;
  while (!open.empty()) {
    auto [job, path] = std::move(open.back());
    open.pop_back();
    const auto choices = job.choices();
    std::string why;
    if (choices.empty()) {
      ++ends;
      if (!job.is_complete(&why)) ADD_FAILURE() << c.name << ": " << why << "\n" << job.describe();
    }
    for (uint32_t choice : choices) {
      Job next(job);
      Path longer(path);
      longer.push_back(choice);
      if (!next.choose(choice, &why)) ADD_FAILURE() << c.name << ": " << why << job.describe();
      if (::testing::Test::HasFailure()) return ends;
      visit(longer);
      if (met.insert(next.describe()).second) open.emplace_back(std::move(next), std::move(longer));
    }
  }
  return ends;
}

inline const Case kCases[] = {
    {"a collocated sender", 2, {{0, {move_to(1)}}, {0, {send_to(0), send_to(0), send_to(0)}}}},
    {"a sender where the rank goes",
     2,
     {{0, {move_to(1)}}, {1, {send_to(0), send_to(0), send_to(0), send_to(0)}}}},
    {"there and back",
     2,
     {{0, {move_to(1), move_to(0)}}, {1, {send_to(0), send_to(0), send_to(0)}}}},
    {"there and back, a collocated sender",
     2,
     {{0, {move_to(1), move_to(0)}}, {0, {send_to(0), send_to(0), send_to(0)}}}},
    {"there and back, a third process",
     3,
     {{0, {move_to(1), move_to(0)}}, {2, {send_to(0), send_to(0), send_to(0)}}}},
    {"on to a third process",
     3,
     {{0, {move_to(1), move_to(2)}}, {2, {send_to(0), send_to(0), send_to(0)}}}},
    {"there, back and there",
     2,
     {{0, {move_to(1), move_to(0), move_to(1)}}, {1, {send_to(0), send_to(0), send_to(0)}}}},
    {"round three processes",
     3,
     {{0, {move_to(1), move_to(2), move_to(0)}}, {1, {send_to(0), send_to(0), send_to(0)}}}},
    {"to a place that it has left",
     3,
     {{0, {move_to(1), move_to(2), move_to(1)}}, {2, {send_to(0), send_to(0), send_to(0)}}}},
    {"a sender that moves", 3, {{0, {}}, {1, {send_to(0), move_to(2), send_to(0), send_to(0)}}}},
    {"a sender that moves to the receiver",
     2,
     {{0, {}}, {1, {send_to(0), move_to(0), send_to(0), send_to(0)}}}},
    {"a sender that moves away from the receiver",
     2,
     {{0, {}}, {0, {send_to(0), move_to(1), send_to(0), send_to(0)}}}},
    {"a sender that comes back",
     2,
     {{0, {}}, {0, {move_to(1), send_to(0), send_to(0), move_to(0), send_to(0)}}}},
    {"a sender that goes on",
     3,
     {{0, {}}, {1, {move_to(2), send_to(0), send_to(0), move_to(0), send_to(0), send_to(0)}}}},
    {"both move to one process",
     3,
     {{0, {move_to(2)}}, {1, {send_to(0), move_to(2), send_to(0), send_to(0)}}}},
    {"both exchange their places",
     2,
     {{0, {move_to(1)}}, {1, {send_to(0), move_to(0), send_to(0), send_to(0)}}}},
    {"both go and come back",
     2,
     {{0, {move_to(1), move_to(0)}},
      {1, {move_to(0), send_to(0), send_to(0), move_to(1), send_to(0)}}}},
    {"two senders",
     3,
     {{0, {move_to(1)}}, {1, {send_to(0), send_to(0)}}, {2, {send_to(0), send_to(0)}}}},
    {"both send and move",
     2,
     {{0, {send_to(1), move_to(1), send_to(1)}}, {1, {send_to(0), move_to(0), send_to(0)}}}},
    {"a rank that sends to itself",
     2,
     {{0, {send_to(0), move_to(1), send_to(0), move_to(0), send_to(0)}}}},
};

}  // namespace fgmpi::pt2pt::testing
