// Tests the consensus with simulated processes in random interleavings. Processes end at every
// step: at each message that they would send, several processes one after the other. The others
// learn of an end at any time, before or after they receive the process's messages.
#include "survivors/consensus.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <random>

namespace fgmpi::survivors {
namespace {

struct Message {
  ConsensusMessage kind;
  uint32_t epoch;
  ConsensusValue value;
};

class World;

class Process final : public ConsensusSite {
 public:
  Process(World* world, uint32_t me, bool passes_on)
      : consensus(this, passes_on), world_(world), me_(me) {}
  uint32_t me() const override { return me_; }
  bool is_lost(uint32_t process) const override { return known_lost.count(process) > 0; }
  void send(uint32_t to, ConsensusMessage kind, uint32_t epoch,
            const ConsensusValue* value) override;
  void decided() override { EXPECT_EQ(decisions++, 0); }

  Consensus consensus;
  std::set<uint32_t> known_lost;
  int sends_left = -1;  ///< messages after which the process ends; -1: it does not end
  bool ended = false, begun = false;
  int decisions = 0;

 private:
  World* world_;
  uint32_t me_;
};

class World {
 public:
  World(uint32_t n, unsigned seed, bool passes_on = false) : random(seed), links(n * n) {
    for (uint32_t p = 0; p < n; ++p) {
      processes.push_back(std::make_unique<Process>(this, p, passes_on));
      order.push_back(p);
    }
  }
  uint32_t size() const { return static_cast<uint32_t>(processes.size()); }
  std::deque<Message>& link(uint32_t from, uint32_t to) { return links[from * size() + to]; }
  uint32_t pick(size_t n) { return static_cast<uint32_t>(random() % n); }

  static ConsensusValue contribution(uint32_t n, uint32_t p) {
    ConsensusValue value;
    value.flag = ~(1 << p);
    value.lost = value.acknowledged = ProcessSet(n);
    value.candidate = {100 - p, p, 7};
    return value;
  }

  struct Event {
    enum Kind { kBegin, kDeliver, kLearn } kind;
    uint32_t at, from;
  };
  std::vector<Event> possible() {
    std::vector<Event> events;
    for (uint32_t p = 0; p < size(); ++p) {
      if (processes[p]->ended) continue;
      if (!processes[p]->begun) events.push_back({Event::kBegin, p, p});
      for (uint32_t q = 0; q < size(); ++q) {
        if (!link(q, p).empty()) events.push_back({Event::kDeliver, p, q});
        if (processes[q]->ended && !processes[p]->known_lost.count(q))
          events.push_back({Event::kLearn, p, q});
      }
    }
    return events;
  }
  void run() {
    for (std::vector<Event> events = possible(); !events.empty(); events = possible()) {
      const Event e = events[pick(events.size())];
      Process& p = *processes[e.at];
      if (e.kind == Event::kBegin) {
        p.begun = true;
        p.consensus.begin(order, contribution(size(), e.at));
      } else if (e.kind == Event::kDeliver) {
        Message m = std::move(link(e.from, e.at).front());
        link(e.from, e.at).pop_front();
        EXPECT_TRUE(p.consensus.on_message(e.from, m.kind, m.epoch, std::move(m.value)));
      } else {
        p.known_lost.insert(e.from);
        p.consensus.on_lost(e.from);
      }
    }
  }
  /// Checks that all remaining processes have decided, and that all decisions ever made are equal.
  void check() {
    std::optional<int32_t> flag;
    for (auto& p : processes) {
      if (!p->ended) {
        EXPECT_EQ(p->decisions, 1) << "process " << p->me() << " waits";
      }
      if (p->decisions == 0) continue;
      const ConsensusValue& decision = p->consensus.decision();
      EXPECT_EQ(flag.value_or(decision.flag), decision.flag) << "process " << p->me();
      flag = decision.flag;
      EXPECT_EQ(first_candidate.value_or(decision.candidate.world), decision.candidate.world);
      first_candidate = decision.candidate.world;
    }
  }

  std::mt19937 random;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<uint32_t> order;
  std::vector<std::deque<Message>> links;
  std::optional<uint32_t> first_candidate;
};

void Process::send(uint32_t to, ConsensusMessage kind, uint32_t epoch,
                   const ConsensusValue* value) {
  if (sends_left == 0) ended = true;
  if (ended) return;
  if (sends_left > 0) --sends_left;
  world_->link(me_, to).push_back({kind, epoch, value ? *value : ConsensusValue()});
}

TEST(Consensus, JoinsAllContributions) {
  for (uint32_t n : {2u, 3u, 8u}) {
    World world(n, n);
    world.run();
    world.check();
    const ConsensusValue& decision = world.processes[0]->consensus.decision();
    EXPECT_EQ(decision.flag, ~((1 << n) - 1));
    EXPECT_EQ(decision.candidate.world, n - 1);  // the candidate that leads least
    EXPECT_EQ(decision.lost.count(), 0u);
  }
}

TEST(Consensus, OneEndsAtEveryStep) {
  for (uint32_t n : {2u, 3u, 5u})
    for (uint32_t victim = 0; victim < n; ++victim)
      for (int step = 0; step <= 3 * static_cast<int>(n); ++step)
        for (unsigned seed = 0; seed < 20; ++seed) {
          World world(n, seed * 7919 + static_cast<unsigned>(step), seed % 2);
          world.processes[victim]->sends_left = step;
          world.run();
          world.check();
          ASSERT_FALSE(HasFailure()) << n << " processes, " << victim << " ends before message "
                                     << step << ", seed " << seed;
        }
}

TEST(Consensus, CoordinatorsEndOneAfterTheOther) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    const uint32_t n = 3 + seed % 5;
    World world(n, seed);
    for (uint32_t victim = 0; victim + 1 < n; ++victim)
      if (world.pick(4) > 0)
        world.processes[victim]->sends_left = static_cast<int>(world.pick(3 * n));
    world.run();
    world.check();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(ProcessSet, IsASet) {
  ProcessSet a(130), b(130);
  a.add(0);
  a.add(64);
  a.add(129);
  b.add(64);
  EXPECT_TRUE(a.contains(b));
  EXPECT_FALSE(b.contains(a));
  EXPECT_EQ(a.count(), 3u);
  b.add(5);
  a.unite(b);
  EXPECT_EQ(a.count(), 4u);
  b.intersect(a);
  EXPECT_EQ(b.count(), 2u);
  EXPECT_TRUE(b.has(5) && b.has(64) && !b.has(129));
}

}  // namespace
}  // namespace fgmpi::survivors
