// Compares the tree of choices with an explorer that tries everything, on random programs of sends,
// receives, probes that do not wait, and accesses to windows with and without locks.
#include "readers/exploration/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "explore/locks.h"
#include "explore/witness.h"
#include "readers/exploration/fuzz.h"

namespace fgmpi::explore {
namespace {

constexpr int32_t kAny = -2, kAnyTag = -1, kNever = -3;

/// An access of a rank to a window; kNone: the operation is no access.
enum class Access { kNone, kGet, kPut, kAdd, kMax, kFetchAndAdd, kCompareAndSwap, kLock, kUnlock };

/// One operation of a rank. Receives block; `looks` marks a probe that does not wait.
struct Operation {
  bool sends = false, looks = false;
  uint32_t peer = 0;               ///< destination of a send, target of an access
  int32_t source = kAny, tag = 0;  ///< source of a receive; tag of a send or receive
  Access access = Access::kNone;   ///< the access to the memory of `peer`
  uint32_t detail = 0;             ///< index in that memory; kLock, kUnlock: 1 if exclusive
  int32_t aborts = kNever;         ///< receive: a message of this source ends the execution
};
using Program = std::vector<std::vector<Operation>>;

/// The memory of a rank in the window.
struct Memory {
  std::array<int, 2> places{};
  int shared = 0;
  bool exclusive = false;
  EventSet unlocked, unlocked_exclusive;
  Locks locks;

  bool can_lock(bool exclusively) const { return !exclusive && !(exclusively && shared > 0); }
  void lock(bool exclusively) {
    exclusive = exclusively;
    shared += !exclusively;
  }
  void unlock(bool exclusively, const EventSet& past) {
    unlocked.add(past);
    if (exclusively) unlocked_exclusive.add(past);
    shared -= !exclusively;
    exclusive = false;
  }
  /// Performs an access; returns the value that the rank receives.
  int access(const Operation& op, int value) {
    int& place = places.at(op.detail);
    const int found = place;
    switch (op.access) {
      case Access::kGet:
        return found;
      case Access::kPut:
        place = value;
        return 0;
      case Access::kAdd:
        place += value;
        return 0;
      case Access::kMax:
        place = std::max(place, value);
        return 0;
      case Access::kFetchAndAdd:
        place += value;
        return found;
      case Access::kCompareAndSwap:
        place = found == 0 ? value : found;
        return found;
      default:
        return 0;
    }
  }
};

/// An execution, simulated as Matcher does it, with at most one blocking receive a rank.
class AccessRun {
 public:
  explicit AccessRun(const Program& program)
      : program_(program), ranks_(program.size()), memories_(program.size()) {
    go_on();
  }

  std::vector<Choice> choices() const {
    std::vector<Choice> all;
    if (aborted()) return all;
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      if (!done(r) && accesses(r) && is_possible(r)) all.push_back(access_of(r));
      if (done(r) || accesses(r) || (wanted(r).source != kAny && !wanted(r).looks)) continue;
      for (size_t i : candidates(r)) all.push_back(choice_of(r, i));
    }
    for (uint32_t r = 0; r < ranks_.size(); ++r)
      if (!done(r) && wanted(r).looks) all.push_back(miss_of(r));
    return all;
  }
  /// Makes a choice. Returns the events that had to happen before it, and adds its races to *races.
  EventSet take(const Choice& c, std::vector<Race>* races) {
    Rank& rank = ranks_[c.rank];
    EventSet past = rank.past;
    size_t i = 0;
    if (c.kind == Choice::kAccess) return execute_access(c, races);
    if (c.kind != Choice::kMiss) {
      while (!choice_of(c.rank, i).same_message(c)) ++i;
      past.add(rank.box[i].past);
    }
    rank.past = past;
    rank.past.add(events_);
    rank.events.push_back({events_++, c});
    result_[{c.rank, static_cast<uint32_t>(rank.at)}] = {c.source, c.number, events_ - 1};
    if (c.kind == Choice::kMatch) {
      receive(c.rank, i);
    } else {
      ++rank.looks;
      ++rank.at;
    }
    go_on_with(races);
    return past;
  }
  bool aborted() const { return aborter_ != kNobody; }
  /// The result of the execution as text. That of an aborted execution has the rank that aborted,
  /// and the events that had to happen before; other events are chance.
  std::string result() const {
    std::string text;
    if (aborted())
      text = std::to_string(aborter_) + "." + std::to_string(ranks_[aborter_].at) + "! ";
    for (const auto& [receive, message] : result_)
      if (!aborted() || ranks_[aborter_].past.has(message.event))
        text += std::to_string(receive.first) + "." + std::to_string(receive.second) + "<" +
                std::to_string(message.source) + "." + std::to_string(message.number) + " ";
    if (aborted()) return text;
    for (const std::string& seen : seen_) text += seen;
    for (const Memory& memory : memories_)
      for (int place : memory.places) text += " " + std::to_string(place);
    return text;
  }

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};
  struct Taken {
    int32_t source;
    uint32_t number, event;
  };
  struct Message {
    int32_t source, tag;
    uint32_t number;
    EventSet past;
  };
  struct Rank {
    size_t at = 0;
    uint32_t receives = 0, looks = 0;
    std::vector<Message> box;
    std::map<int32_t, uint32_t> sent;
    std::vector<std::pair<uint32_t, Choice>> events;
    EventSet past;
    std::vector<std::pair<uint32_t, Choice>> accesses;
  };
  bool accesses(uint32_t r) const { return wanted(r).access != Access::kNone; }
  bool is_possible(uint32_t r) const {
    const Operation& op = wanted(r);
    return op.access != Access::kLock || memories_[op.peer].can_lock(op.detail);
  }
  Choice access_of(uint32_t r) const {
    constexpr int32_t kRead = 0, kWrite = 1, kFold = 2, kLock = 3;
    const Operation& op = wanted(r);
    Choice c{Choice::kAccess,
             r,
             ranks_[r].accesses.size(),
             0,
             Choice::kNoSource,
             0,
             static_cast<int32_t>(op.peer),
             kWrite,
             9,
             1};
    if (op.access == Access::kGet) c.tag = kRead;
    if (op.access == Access::kAdd || op.access == Access::kMax) c.tag = kFold;
    if (op.access == Access::kLock) c.tag = kLock;
    if (c.tag == kFold) c.wanted_tag = static_cast<int32_t>(op.access);
    if (c.tag == kLock)
      c.wanted_tag = static_cast<int32_t>(op.detail);
    else
      c.at = op.detail;
    return c;
  }
  /// Adds a race with the last conflicting access of each other rank, unless that access had to
  /// happen before.
  void report_conflicts(const Choice& c, uint32_t by, std::vector<Race>* races) const {
    const EventSet& own = ranks_[c.rank].past;
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      if (r == c.rank) continue;
      const auto& all = ranks_[r].accesses;
      const auto last = std::find_if(all.rbegin(), all.rend(),
                                     [&](const auto& e) { return conflict(e.second, c); });
      if (last != all.rend() && !own.has(last->first))
        races->push_back({last->first, own, false, by});
    }
  }
  void tell_wait(uint32_t r, std::vector<Race>* races) const {
    const EventSet& own = ranks_[r].past;
    const EventSet without = memories_[wanted(r).peer].locks.in_the_way(r, wanted(r).detail != 0);
    if (without.first() != SIZE_MAX && !own.meets(without))
      races->push_back(
          {static_cast<uint32_t>(without.first()), own, false, Race::kWaiter + r, without});
  }
  EventSet execute_access(const Choice& c, std::vector<Race>* races) {
    Rank& rank = ranks_[c.rank];
    const Operation op = wanted(c.rank);
    EventSet past = rank.past;
    Memory& memory = memories_[op.peer];
    if (op.access == Access::kLock)
      past.add(op.detail ? memory.unlocked : memory.unlocked_exclusive);
    report_conflicts(c, events_, races);
    std::string seen = " " + std::to_string(c.rank) + "." + std::to_string(c.operation) + ":";
    for (uint32_t r = 0; r < ranks_.size(); ++r)
      for (const auto& [event, other] : ranks_[r].accesses)
        if (r != c.rank && conflict(other, c))
          seen += std::to_string(r) + "." + std::to_string(other.operation) + ",";
    const int value = static_cast<int>(c.rank * 8 + c.operation + 1);
    if (op.access == Access::kLock) {
      memory.locks.got(c.rank, events_, op.detail != 0);
      memory.lock(op.detail);
    } else {
      seen += "=" + std::to_string(memory.access(op, value));
    }
    seen_.insert(std::move(seen));
    rank.past = past;
    rank.past.add(events_);
    rank.accesses.push_back({events_++, c});
    ++rank.at;
    go_on_with(races);
    return past;
  }
  void go_on_with(std::vector<Race>* races) {
    races_ = races;
    go_on();
    races_ = nullptr;
    for (uint32_t r = 0; r < ranks_.size(); ++r)
      if (!done(r) && accesses(r) && !is_possible(r)) tell_wait(r, races);
  }
  bool done(uint32_t r) const { return ranks_[r].at == program_[r].size(); }
  const Operation& wanted(uint32_t r) const { return program_[r][ranks_[r].at]; }
  std::vector<size_t> candidates(uint32_t r) const {
    std::vector<size_t> found;
    std::set<int32_t> seen;
    for (size_t i = 0; i < ranks_[r].box.size(); ++i) {
      const Message& m = ranks_[r].box[i];
      const Operation& op = wanted(r);
      if ((op.source != kAny && op.source != m.source) || (op.tag != kAnyTag && op.tag != m.tag))
        continue;
      if (seen.insert(m.source).second) found.push_back(i);
    }
    return found;
  }
  Choice choice_of(uint32_t r, size_t i) const {
    const Message& m = ranks_[r].box.at(i);
    const bool looks = wanted(r).looks;
    return {looks ? Choice::kSee : Choice::kMatch,
            r,
            looks ? ranks_[r].looks : ranks_[r].receives,
            m.number,
            wanted(r).source,
            wanted(r).tag,
            m.source,
            m.tag,
            0,
            0};
  }
  Choice miss_of(uint32_t r) const {
    const Operation& op = wanted(r);
    return {Choice::kMiss, r, ranks_[r].looks, 0, op.source, op.tag, Choice::kNoSource, 0, 0, 0};
  }
  void receive(uint32_t r, size_t i) {
    if (wanted(r).aborts == ranks_[r].box[i].source) aborter_ = r;
    ranks_[r].box.erase(ranks_[r].box.begin() + static_cast<ptrdiff_t>(i));
    ++ranks_[r].receives;
    ++ranks_[r].at;
  }
  void send(uint32_t r, const Operation& op) {
    Rank& to = ranks_[op.peer];
    const auto source = static_cast<int32_t>(r);
    for (const auto& [event, c] : to.events)
      if ((c.wanted_tag == kAnyTag || c.wanted_tag == op.tag) && c.source != source &&
          (c.wanted_source == kAny || c.wanted_source == source) && !ranks_[r].past.has(event) &&
          races_)
        races_->push_back({event, ranks_[r].past});
    to.box.push_back({source, op.tag, to.sent[source]++, ranks_[r].past});
  }
  /// Runs all operations that need no choice.
  void go_on() {
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t r = 0; r < ranks_.size(); ++r)
        while (!done(r) && !aborted()) {
          const Operation op = wanted(r);
          if (op.sends) {
            send(r, op);
            ++ranks_[r].at;
          } else if (op.access == Access::kUnlock) {
            memories_[op.peer].unlock(op.detail, ranks_[r].past);
            memories_[op.peer].locks.given_back(r, ranks_[r].past);
            ++ranks_[r].at;
          } else if (!op.looks && !accesses(r) && op.source != kAny && !candidates(r).empty()) {
            const size_t i = candidates(r)[0];
            ranks_[r].past.add(ranks_[r].box[i].past);
            receive(r, i);
          } else {
            break;
          }
          moved = true;
        }
    }
  }

  const Program& program_;
  std::vector<Rank> ranks_;
  std::vector<Memory> memories_;
  std::set<std::string> seen_;  ///< for each access, the events before it and the value it found
  uint32_t events_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, Taken> result_;
  uint32_t aborter_ = kNobody;  ///< the rank that has ended the execution
  std::vector<Race>* races_ = nullptr;
};

void try_everything(const Program& program, const std::vector<Choice>& so_far,
                    std::set<std::string>* results) {
  AccessRun run(program);
  std::vector<Race> ignored;
  for (const Choice& c : so_far) run.take(c, &ignored);
  const std::vector<Choice> choices = run.choices();
  if (choices.empty()) results->insert(run.result());
  for (const Choice& c : choices) {
    std::vector<Choice> more = so_far;
    more.push_back(c);
    try_everything(program, more, results);
  }
}

/// Saves and loads the tree, while one execution that it wants has not ended.
std::unique_ptr<ChoiceTree> reloaded(ChoiceTree* tree) {
  Bytes bytes;
  tree->save({tree->next()}, &bytes);
  for (size_t cut : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    FieldReader in(bytes.data(), cut);
    EXPECT_FALSE(ChoiceTree().load(&in));
  }
  auto other = std::make_unique<ChoiceTree>();
  FieldReader in(bytes.data(), bytes.size());
  EXPECT_TRUE(other->load(&in));
  return other;
}

/// Runs all executions that the tree wants, `at_once` at a time; returns the results of those that
/// have ended. `reloads`: the tree is saved and loaded in between.
std::multiset<std::string> explore_by_tree(const Program& program, size_t at_once,
                                           bool reloads = false) {
  std::multiset<std::string> results;
  auto current = std::make_unique<ChoiceTree>();
  while (current->has_next()) {
    if (reloads) current = reloaded(current.get());
    ChoiceTree& tree = *current;
    std::vector<NodeRef> targets;
    while (targets.size() < at_once && tree.has_next()) targets.push_back(tree.next());
    for (const NodeRef& target : targets) {
      AccessRun run(program);
      Path path = path_to(target);
      size_t at = 0;
      std::vector<Race> races;
      for (;;) {
        const bool is_new = at + 1 == path.size();
        if (is_new)
          for (const Race& race : races) tree.add_race(path, race);
        races.clear();
        const std::vector<Choice> choices = run.choices();
        if (choices.empty()) {
          results.insert(run.result());
          tree.end(path, run.aborted());
          break;
        }
        if (is_new) {
          NodeRef next = tree.reach(path.back(), choices);
          if (!next) break;
          path.push_back(next);
        }
        EXPECT_EQ(path[at]->choices, choices);
        ++at;
        const EventSet past = run.take(path[at]->event(), &races);
        if (at + 1 == path.size()) tree.set_past(path, past);
      }
    }
  }
  return results;
}

Program random_program(RandomSequence& random, bool looks) {
  Program program(2 + random.next() % 3);
  const size_t ranks = program.size();
  for (uint32_t r = 0; r < ranks; ++r)
    for (size_t n = random.next() % 4; n > 0; --n) {
      Operation op;
      op.tag = static_cast<int32_t>(random.next() % 2);
      op.sends = random.next() % 2;
      op.peer = static_cast<uint32_t>(random.next() % ranks);
      if (!op.sends && random.next() % 4 == 0)
        op.source = static_cast<int32_t>(random.next() % ranks);
      if (!op.sends && random.next() % 2) op.tag = kAnyTag;
      op.looks = !op.sends && looks && random.next() % 2;
      program[r].push_back(op);
    }
  return program;
}

/// An access to one of two numbers in the memory of one of two ranks.
Operation random_access(RandomSequence& random) {
  constexpr Access kKinds[] = {Access::kGet, Access::kPut,         Access::kAdd,
                               Access::kMax, Access::kFetchAndAdd, Access::kCompareAndSwap};
  Operation op;
  op.access = kKinds[random.next() % std::size(kKinds)];
  op.peer = static_cast<uint32_t>(random.next() % 2);
  op.detail = static_cast<uint32_t>(random.next() % 2);
  return op;
}

/// Adds accesses. `locks`: some of them are within locks, which a rank may never release.
void add_accesses(RandomSequence& random, bool locks, std::vector<Operation>* rank) {
  for (size_t n = random.next() % 3; n > 0; --n) {
    auto place = [&] {
      return rank->begin() + static_cast<ptrdiff_t>(random.next() % (rank->size() + 1));
    };
    const Operation op = random_access(random);
    auto at = rank->insert(place(), op);
    if (!locks || random.next() % 2) continue;
    Operation lock;
    lock.access = Access::kLock;
    lock.peer = op.peer;
    lock.detail = static_cast<uint32_t>(random.next() % 2);
    at = rank->insert(at, lock) + 2;
    lock.access = Access::kUnlock;
    if (random.next() % 8) rank->insert(at, lock);
  }
}

/// True where the rank has at most one lock of a memory at a time, as MPI demands.
bool locks_once(const std::vector<Operation>& rank) {
  std::set<uint32_t> held;
  for (const Operation& op : rank) {
    if (op.access == Access::kLock && !held.insert(op.peer).second) return false;
    if (op.access == Access::kUnlock) held.erase(op.peer);
  }
  return true;
}

/// Explores a program by the tree and by trying everything, and compares the results. Every fourth
/// tree is saved and loaded. *several counts the programs with several results.
void compare(const Program& program, int number, int* several) {
  std::set<std::string> all;
  try_everything(program, {}, &all);
  *several += all.size() > 1;
  for (size_t at_once : {1, 3}) {
    const std::multiset<std::string> found = explore_by_tree(program, at_once, number % 4 == 0);
    ASSERT_EQ(std::set<std::string>(found.begin(), found.end()), all) << "program " << number;
    ASSERT_EQ(found.size(), all.size()) << "program " << number << ": an execution for each class";
  }
}

struct Accesses {
  bool messages, locks;
};
class RandomAccesses : public testing::TestWithParam<Accesses> {};

TEST_P(RandomAccesses, FindWhatTryingEverythingFinds) {
  RandomSequence random(1);
  const int programs = GetParam().messages && GetParam().locks ? 1000 : 6000;
  int several = 0;
  for (int i = 0; i < programs; ++i) {
    Program program(2 + random.next() % 2);
    if (GetParam().messages) {
      program = random_program(random, random.next() % 2);
      program.resize(std::min<size_t>(program.size(), 3));
      for (auto& rank : program) {
        rank.resize(std::min<size_t>(rank.size(), 2));
        for (Operation& op : rank) op.peer %= static_cast<uint32_t>(program.size());
      }
    }
    for (auto& rank : program) {
      const std::vector<Operation> messages = rank;
      do {
        rank = messages;
        add_accesses(random, GetParam().locks, &rank);
      } while (!locks_once(rank));
    }
    ASSERT_NO_FATAL_FAILURE(compare(program, i, &several));
  }
  EXPECT_GT(several, programs / 6);
}

INSTANTIATE_TEST_SUITE_P(WithMessagesAndLocks, RandomAccesses,
                         testing::Values(Accesses{false, false}, Accesses{false, true},
                                         Accesses{true, false}, Accesses{true, true}));

class RandomPrograms : public testing::TestWithParam<bool> {};

TEST_P(RandomPrograms, FindWhatTryingEverythingFinds) {
  RandomSequence random(1);
  int several = 0;
  for (int i = 0; i < 20000; ++i) {
    const Program program = random_program(random, GetParam());
    ASSERT_NO_FATAL_FAILURE(compare(program, i, &several));
  }
  EXPECT_GT(several, 1000);
}

INSTANTIATE_TEST_SUITE_P(WithLooks, RandomPrograms, testing::Bool());

class RandomAborts : public testing::TestWithParam<bool> {};

bool is_aborted(const std::string& result) { return result.find('!') != result.npos; }

/// Lets every second receive, on average, end the execution when its message is from a certain
/// rank.
void add_aborts(RandomSequence& random, Program* program) {
  for (uint32_t r = 0; r < program->size(); ++r) {
    std::vector<int32_t> senders;
    for (uint32_t s = 0; s < program->size(); ++s)
      for (const Operation& op : (*program)[s])
        if (op.sends && op.peer == r) senders.push_back(static_cast<int32_t>(s));
    for (Operation& op : (*program)[r])
      if (!op.sends && !op.looks && !senders.empty() && random.next() % 2)
        op.aborts = senders[random.next() % senders.size()];
  }
}

/// The tree may explore an aborted execution several times, with more or fewer events that need not
/// have happened; it explores any other execution once. If two ranks abort after the same choice,
/// it finds only the first: few programs are like that, and none of this seed.
TEST_P(RandomAborts, FindWhatTryingEverythingFinds) {
  RandomSequence random(1);
  int several = 0;
  for (int i = 0; i < 40000; ++i) {
    Program program = random_program(random, GetParam());
    add_aborts(random, &program);
    std::set<std::string> all;
    try_everything(program, {}, &all);
    for (size_t at_once : {1, 3}) {
      const std::multiset<std::string> found = explore_by_tree(program, at_once, i % 4 == 0);
      ASSERT_EQ(std::set<std::string>(found.begin(), found.end()), all) << "program " << i;
      for (const std::string& each : all) {
        if (is_aborted(each)) continue;
        ASSERT_EQ(found.count(each), 1u) << "program " << i;
      }
    }
    several += all.size() > 1 && std::any_of(all.begin(), all.end(), is_aborted);
  }
  EXPECT_GT(several, 1000);
}

INSTANTIATE_TEST_SUITE_P(WithLooks, RandomAborts, testing::Bool());

TEST(ChoiceTree, RanksThatDoNotMeetAreOneClass) {
  Program program(20);
  for (uint32_t r = 0; r < 20; ++r) program[r] = {{.sends = r % 2 == 1, .peer = r - r % 2}};
  EXPECT_EQ(explore_by_tree(program, 1).size(), 1u);
}

TEST(ChoiceTree, SendersToOneReceiver) {
  Program program(7);
  for (uint32_t r = 1; r < 7; ++r) program[r] = {{.sends = true, .peer = 0}};
  program[0].assign(6, {});
  EXPECT_EQ(explore_by_tree(program, 1).size(), 720u);
  EXPECT_EQ(explore_by_tree(program, 5).size(), 720u);
}

/// Returns the order in which the scheduler receives one message of each of n senders.
std::vector<int32_t> order_of(uint64_t seed, int32_t n) {
  PriorityScheduler scheduler(seed, static_cast<uint64_t>(n));
  std::vector<Choice> left;
  for (int32_t source = 1; source <= n; ++source)
    left.push_back({Choice::kMatch, 0, 0, 0, kAny, 0, source, 0, 0, 0});
  std::vector<int32_t> order;
  while (!left.empty()) {
    const size_t i = scheduler.pick(left);
    order.push_back(left.at(i).source);
    left.erase(left.begin() + static_cast<ptrdiff_t>(i));
  }
  return order;
}

TEST(PriorityScheduler, RepeatsASeedAndReachesAllOrders) {
  std::map<std::vector<int32_t>, int> seen;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const auto order = order_of(seed, 5);
    EXPECT_EQ(order, order_of(seed, 5));
    ++seen[order];
  }
  EXPECT_EQ(seen.size(), 120u);
}

TEST(PriorityScheduler, RepeatsLoopsLast) {
  for (uint64_t seed = 0; seed < 200; seed += 4) {  // no chain falls
    PriorityScheduler scheduler(seed, 1);
    const Choice repeat{Choice::kRepeat, 1, 0, 0, -3, 0, -3, 0, 0, 0};
    const Choice match{Choice::kMatch, 0, 0, 0, kAny, 0, 1, 0, 0, 0};
    EXPECT_EQ(scheduler.pick({repeat, match}), 1u);
  }
}

TEST(Witness, ReadsWhatItWrites) {
  Witness w, back;
  w.ranks = 4;
  w.words = {"./a b", "", "-x"};
  w.finding = "deadlock: \x01 ranks";
  w.choices[3] = {Choice::kProbe, 1, 2, 3, -2, -1, 5, 6, 0x44000010, 0};
  w.choices[4] = {Choice::kRepeat, 1, uint64_t{3} << 32 | 5, 0, -3, 0, -3, 0, 0, 0};
  ASSERT_TRUE(Witness::parse(w.to_text(), &back).ok());
  EXPECT_EQ(back.ranks, 4u);
  EXPECT_EQ(back.words, w.words);
  EXPECT_EQ(back.choices, w.choices);
  for (const char* bad : {"", "nonsense", "fgmpi-witness 1\n", "fgmpi-witness 1\nranks 0\n",
                          "fgmpi-witness 1\nranks 2\nchoice 1 match rank\n",
                          "fgmpi-witness 1\nranks 2\nchoice 1 eat rank 1 operation 2 wants 1 1 "
                          "context 0 source 1 tag 1 number 1\n"})
    EXPECT_FALSE(Witness::parse(bad, &back).ok()) << bad;
}

}  // namespace
}  // namespace fgmpi::explore
