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

inline void JobProcess::push(uint32_t, const Frame&) const {}

}  // namespace fgmpi::pt2pt::testing
