// Tests the detection of deadlocks with several simulated processes, in random interleavings. Links
// have any speed, frames wait for lack of room, and processes wake up late.
#include "pt2pt/termination.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>

namespace fgmpi::pt2pt {
namespace {

struct SimulatedFrame {
  bool notice;
  uint64_t word;
  std::string data;
};

/// Frames from one process to another, in order. Those beyond `room` are deferred at the sender.
struct Link {
  std::deque<SimulatedFrame> under_way, deferred;
  size_t room = 1;
  int slowness = 1;  ///< on average, one of this many polls receives a frame
};

class World;

/// A process: its counts, its detection, and a program that, after its start, only reacts to
/// messages.
class SimulatedProcess final : public DetectionSite {
 public:
  SimulatedProcess(World* world, uint32_t me, uint32_t processes)
      : detection(this, me, processes, &watched), world_(world), me_(me) {}

  TrafficCounts counts() const override { return {sent, received, switches}; }
  int64_t now_ns() const override;
  const std::vector<uint32_t>& lost() const override { return known; }
  void send(uint32_t to, uint64_t word, const void* data, size_t bytes) override;
  std::string local_report() const override { return "process " + std::to_string(me_) + "\n"; }
  bool others() const override { return connected; }
  Verdict judge(const std::vector<std::string>& parts, bool others) override;
  void give_way() override;
  void refused() override { ++refusals; }

  void hand_over(uint32_t to, SimulatedFrame frame);
  bool push();
  bool anything_deferred() const;
  void poll();
  void work();
  void step();
  bool is_known_lost(uint32_t p) const {
    return std::find(known.begin(), known.end(), p) != known.end();
  }

  bool watched = false;
  Detection detection;
  uint64_t sent = 0, received = 0, switches = 0;
  int to_do = 0;           ///< pieces of work; 0: passive
  bool connected = false;  ///< with another job
  int refusals = 0;
  int ways_given = 0;
  bool alive = true;
  std::vector<uint32_t> known;  ///< lost processes of which this one has learned

 private:
  World* world_;
  uint32_t me_;
};

class World {
 public:
  World(uint32_t seed, uint32_t processes, int messages) : messages_left(messages), random(seed) {
    links.resize(processes, std::vector<Link>(processes));
    for (auto& row : links)
      for (Link& link : row) {
        link.room = 1 + draw(3);
        link.slowness = draw(3) == 0 ? 60 : 1 + static_cast<int>(draw(4));
      }
    for (uint32_t p = 0; p < processes; ++p) {
      all.push_back(std::make_unique<SimulatedProcess>(this, p, processes));
      all[p]->to_do = 1 + static_cast<int>(draw(5));
    }
  }
  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random() % below); }
  uint32_t size() const { return static_cast<uint32_t>(all.size()); }

  /// True in a deadlock: all processes are passive and no frame of the program is on its way.
  bool dead() const {
    for (const auto& process : all)
      if (process->alive && process->to_do > 0) return false;
    for (uint32_t from = 0; from < size(); ++from)
      for (uint32_t to = 0; to < size(); ++to) {
        const Link& link = links[from][to];
        if (!all[from]->alive || !all[to]->alive) continue;
        for (const auto* frames : {&link.under_way, &link.deferred})
          for (const SimulatedFrame& frame : *frames)
            if (!frame.notice) return false;
      }
    return true;
  }
  void step() {
    now += 1'000'000;
    SimulatedProcess& one = *all[draw(size())];
    if (one.alive) one.step();
  }
  /// Ends the process. Frames that it has given to links still arrive.
  void kill(uint32_t process) {
    all[process]->alive = false;
    for (Link& link : links[process]) link.deferred.clear();
  }
  /// Lets a process learn of a loss, if no frame of the lost process is on its way to it any more.
  void spread_the_news() {
    SimulatedProcess& one = *all[draw(size())];
    const uint32_t lost = draw(size());
    if (!one.alive || all[lost]->alive || !links[lost][me_of(one)].under_way.empty()) return;
    if (std::find(one.known.begin(), one.known.end(), lost) != one.known.end()) return;
    one.known.push_back(lost);
    links[me_of(one)][lost] = Link();
    // Waits for the lost process end with an error, and the program goes on or does not.
    if (draw(2) == 0) ++one.to_do, ++one.switches;
    one.detection.on_loss();
  }
  uint32_t me_of(const SimulatedProcess& one) const {
    uint32_t p = 0;
    while (all[p].get() != &one) ++p;
    return p;
  }

  int messages_left;
  int64_t now = 0;
  int reports = 0;
  int ways = 0;                          ///< times that a limit gives way before none can
  std::vector<std::vector<Link>> links;  ///< [from][to]
  std::vector<std::unique_ptr<SimulatedProcess>> all;
  std::mt19937 random;
};

int64_t SimulatedProcess::now_ns() const { return world_->now; }

void SimulatedProcess::send(uint32_t to, uint64_t word, const void* data, size_t bytes) {
  hand_over(to, {true, word, std::string(static_cast<const char*>(data), bytes)});
}

void SimulatedProcess::hand_over(uint32_t to, SimulatedFrame frame) {
  if (is_known_lost(to)) return;
  Link& link = world_->links[me_][to];
  link.deferred.push_back(std::move(frame));
  // As in a transport, there may be no room: then the frame waits for the next poll.
  if (link.deferred.size() > 1 || link.under_way.size() >= link.room || world_->draw(3) == 0)
    return;
  link.under_way.push_back(std::move(link.deferred.front()));
  link.deferred.pop_front();
  ++sent;
}

bool SimulatedProcess::push() {
  bool moved = false;
  for (uint32_t to = 0; to < world_->size(); ++to) {
    Link& link = world_->links[me_][to];
    if (is_known_lost(to)) link.deferred.clear();
    while (!link.deferred.empty() && link.under_way.size() < link.room && world_->draw(3) != 0) {
      link.under_way.push_back(std::move(link.deferred.front()));
      link.deferred.pop_front();
      ++sent;
      moved = true;
    }
  }
  return moved;
}

bool SimulatedProcess::anything_deferred() const {
  for (const Link& link : world_->links[me_])
    if (!link.deferred.empty()) return true;
  return false;
}

void SimulatedProcess::poll() {
  for (uint32_t from = 0; from < world_->size(); ++from) {
    Link& link = world_->links[from][me_];
    if (link.under_way.empty() || world_->draw(static_cast<uint32_t>(link.slowness)) != 0) continue;
    SimulatedFrame frame = std::move(link.under_way.front());
    link.under_way.pop_front();
    ++received;
    if (frame.notice)
      detection.on_notice(from, frame.word, frame.data.data(), frame.data.size());
    else
      to_do += 1 + static_cast<int>(world_->draw(2));
  }
  push();
}

void SimulatedProcess::work() {
  ++switches;
  --to_do;
  if (world_->messages_left == 0 || world_->size() == 1) return;
  --world_->messages_left;
  uint32_t to = world_->draw(world_->size() - 1);
  hand_over(to + (to >= me_), {false, 0, "message"});
}

void SimulatedProcess::step() {
  poll();
  if (watched) (void)detection.due();
  if (to_do > 0) return work();
  if (!anything_deferred()) detection.on_passive();
}

Verdict SimulatedProcess::judge(const std::vector<std::string>& texts, bool others) {
  if (others) return Verdict::kCheckAgain;
  for (const auto& process : world_->all)
    EXPECT_FALSE(process->connected) << "a deadlock is reported while another job is connected";
  EXPECT_TRUE(world_->dead()) << "a deadlock is reported while something can still move";
  EXPECT_EQ(texts.size(), world_->size());
  for (uint32_t p = 0; p < texts.size(); ++p)
    EXPECT_EQ(texts[p], is_known_lost(p) ? "" : world_->all[p]->local_report());
  if (world_->ways > 0) {
    --world_->ways;
    return Verdict::kGivesWay;
  }
  ++world_->reports;
  return Verdict::kJobEnds;
}

void SimulatedProcess::give_way() {
  ++ways_given;
  to_do += static_cast<int>(world_->draw(3));
  ++switches;  // the frames that are received now let a rank run
}

/// Runs until all processes have learned of the deadlock. At first, messages keep the program
/// running.
void run(uint32_t seed, uint32_t processes, int messages) {
  World world(seed, processes, messages);
  const int ways = world.ways = static_cast<int>(seed % 3);
  auto all_know = [&] {
    for (const auto& process : world.all)
      if (!process->detection.over()) return false;
    return true;
  };
  constexpr int kMostSteps = 400'000;
  int steps = 0;
  while (!all_know() && ++steps < kMostSteps) world.step();
  EXPECT_LT(steps, kMostSteps) << "the deadlock is not found";
  EXPECT_EQ(world.reports, 1);
  for (const auto& process : world.all) EXPECT_EQ(process->ways_given, ways);
}

TEST(Detection, FindsEveryDeadlockAndNoOther) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed, 2 + seed % 4, static_cast<int>(seed % 7) * 40);
    if (testing::Test::HasFailure()) return;
  }
}

/// Processes are killed at any moment, the one that asks the questions included. The others learn
/// of it one by one. The detection must find the deadlock of the remaining processes, and report no
/// other state as a deadlock.
TEST(Detection, GoesOnWhenProcessesAreLost) {
  for (uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const uint32_t processes = 2 + seed % 5;
    World world(seed, processes, static_cast<int>(seed % 7) * 40);
    const int ways = world.ways = static_cast<int>(seed % 2);
    uint32_t kills = 1 + world.draw(processes - 1);
    auto all_know = [&] {
      for (const auto& process : world.all)
        if (process->alive && !process->detection.over()) return false;
      return true;
    };
    constexpr int kMostSteps = 1'000'000;
    int steps = 0;
    while (!all_know() && ++steps < kMostSteps) {
      world.step();
      const uint32_t victim = world.draw(processes);
      if (kills > 0 && world.reports == 0 && world.draw(3000) == 0 && world.all[victim]->alive)
        world.kill(victim), --kills;
      if (world.draw(200) == 0) world.spread_the_news();
    }
    EXPECT_LT(steps, kMostSteps) << "the deadlock is not found";
    EXPECT_EQ(world.reports, 1);
    EXPECT_EQ(world.ways, 0) << "of " << ways;
    if (testing::Test::HasFailure()) return;
  }
}

/// A message from process 1 to process 2 is on its way during both waves of questions, while the
/// question to process 3 waits for room at process 0 in both.
TEST(Detection, CountsNoFrameThatIsDeferred) {
  World world(1, 4, 0);
  for (auto& row : world.links)
    for (Link& link : row) link.room = 100, link.slowness = 1;
  for (auto& process : world.all) process->to_do = 0;
  Link& slow = world.links[1][2];
  slow.under_way.push_back({false, 0, "message"});
  slow.slowness = 1 << 30;
  world.all[1]->sent = 1;
  Link& full = world.links[0][3];
  for (int i = 0; i < 20'000; ++i) {
    // There is room again only after process 0 has received the answers of the others.
    full.room = i % 500 < 400 ? 0 : 100;
    world.step();
    ASSERT_EQ(world.reports, 0) << "in step " << i;
  }
  slow.slowness = 1;
  for (int i = 0; i < 200'000 && world.reports == 0; ++i) world.step();
  EXPECT_EQ(world.reports, 1);
}

/// A message is on its way for longer than both waves, after a loss, which makes sums of counts
/// useless.
TEST(Detection, WaitsForWhatIsUnderWayAfterALoss) {
  for (uint32_t lost : {0u, 3u}) {
    World world(1, 4, 0);
    for (auto& row : world.links)
      for (Link& link : row) link.room = 100, link.slowness = 1;
    for (auto& process : world.all) process->to_do = 0;
    world.kill(lost);
    for (auto& process : world.all) process->known = {lost};
    Link& slow = world.links[1][2];
    slow.under_way.push_back({false, 0, "message"});
    slow.slowness = 1 << 30;
    for (int i = 0; i < 20'000; ++i) {
      world.step();
      ASSERT_EQ(world.reports, 0) << "in step " << i;
    }
    slow.slowness = 1;
    for (int i = 0; i < 200'000 && world.reports == 0; ++i) world.step();
    EXPECT_EQ(world.reports, 1);
  }
}

/// Processes are connected with other jobs at times, and messages of these wake them: no deadlock
/// is reported meanwhile.
TEST(Detection, WaitsForOtherJobs) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, 3, 20);
    for (int i = 0; i < 100'000; ++i) {
      SimulatedProcess& one = *world.all[world.draw(3)];
      // A process that only waits does not connect; the other job may leave at any time.
      if (world.draw(400) == 0 && (one.connected || one.to_do > 0))
        one.connected = !one.connected, ++one.switches;
      if (one.connected && world.draw(200) == 0) ++one.to_do, ++one.switches;
      world.step();
      if (world.reports > 0) break;
    }
    for (auto& process : world.all)
      process->switches += process->connected, process->connected = false;
    for (int i = 0; i < 400'000 && world.reports == 0; ++i) world.step();
    EXPECT_EQ(world.reports, 1);
    if (testing::Test::HasFailure()) return;
  }
}

/// Notices that no process of this build sends arrive at any time, at any process. The detection
/// drops them and still finds the deadlock; the report has nothing of them.
TEST(Detection, NoticesThatCannotBeAreDropped) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    World world(seed, 4, 60);
    int forged = 0;
    for (int i = 0; i < 400'000 && world.reports == 0; ++i) {
      world.step();
      if (world.draw(50) != 0) continue;
      // The notices are answers and questions of a wrong length, unknown words, and parts of a
      // report that process 0 has not asked for or sends itself. No notice is a valid part of
      // another process's report: the detection would use it.
      const uint64_t word = world.draw(10);
      std::string data(world.draw(40), 'x');
      if (word == 6) continue;                                      // the end of the job
      if ((word == 1 || word == 8) && data.size() == 16) continue;  // a question, a mark
      if (word == 2 && data.size() == 32) continue;                 // an answer
      if (word == 3) continue;                                      // the call for reports
      if (word == 7) continue;                                      // a limit gives way
      const bool part = word == 4 || word == 5;
      auto& target = *world.all[world.draw(4)];
      target.detection.on_notice(part ? 0 : world.draw(4), word, data.data(), data.size());
      // The detection has received the notice, and subtracts its own frames from the counts.
      ++target.received;
      ++forged;
      EXPECT_GT(target.refusals, 0);
    }
    EXPECT_EQ(world.reports, 1) << "seed " << seed << ", " << forged << " forged";
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace fgmpi::pt2pt
