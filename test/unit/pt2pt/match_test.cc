// Compares the queues with a naive model: both find the same match in every step, with wildcards
// and at any length.

#include "pt2pt/match.h"

#include <gtest/gtest.h>
#include <algorithm>

#include <ctime>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <vector>

namespace fgmpi::pt2pt {
namespace {

struct Receive : PostedReceive {
  int id;
};
struct Message : Arrived {
  int id;
};

/// The naive model of MPI's rule: a list that is searched from the front.
template <class Match>
int take_first(std::list<std::pair<Envelope, int>>* list, Match&& match) {
  for (auto i = list->begin(); i != list->end(); ++i) {
    if (!match(i->first)) continue;
    int id = i->second;
    list->erase(i);
    return id;
  }
  return -1;
}

struct Shape {
  int contexts, sources, tags;
  int wildcards;  ///< percent
  int bias;       ///< percent of arrivals among the operations, so that queues grow
};

class Comparison {
 public:
  Comparison(uint64_t seed, Shape shape) : random_(seed), shape_(shape) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      int dice = pick(100);
      if (dice < 3)
        cancel_receive();
      else if (dice < 6)
        withdraw_message();
      else if (pick(100) < shape_.bias)
        arrive(step);
      else
        receive(step);
    }
    EXPECT_EQ(posted_.size(), reference_posted_.size());
    EXPECT_EQ(unexpected_.size(), reference_unexpected_.size());
    while (PostedReceive* p = posted_.front()) posted_.remove(p);
    while (Arrived* a = unexpected_.front()) unexpected_.remove(a);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  Envelope concrete() {
    return {static_cast<uint64_t>(pick(shape_.contexts)) << 8, pick(shape_.sources),
            pick(shape_.tags)};
  }
  Envelope pattern() {
    Envelope e = concrete();
    if (pick(100) < shape_.wildcards) e.source = MPI_ANY_SOURCE;
    if (pick(100) < shape_.wildcards) e.tag = MPI_ANY_TAG;
    return e;
  }

  void arrive(int id) {
    Envelope e = concrete();
    int expected = take_first(&reference_posted_, [&](const Envelope& p) { return covers(p, e); });
    auto* got = static_cast<Receive*>(posted_.take(e));
    ASSERT_EQ(got ? got->id : -1, expected);
    if (got) return;
    auto m = std::make_unique<Message>();
    m->envelope = e;
    m->id = id;
    unexpected_.push(m.get());
    messages_.push_back(std::move(m));
    reference_unexpected_.push_back({e, id});
  }
  void receive(int id) {
    Envelope p = pattern();
    int expected =
        take_first(&reference_unexpected_, [&](const Envelope& e) { return covers(p, e); });
    auto* got = static_cast<Message*>(unexpected_.find(p));
    ASSERT_EQ(got ? got->id : -1, expected);
    if (got) return unexpected_.remove(got);
    auto r = std::make_unique<Receive>();
    r->envelope = p;
    r->id = id;
    posted_.push(r.get());
    receives_.push_back(std::move(r));
    reference_posted_.push_back({p, id});
  }
  void cancel_receive() {
    if (reference_posted_.empty()) return;
    auto i = std::next(reference_posted_.begin(), pick(static_cast<int>(reference_posted_.size())));
    for (PostedReceive* p = posted_.front(); p; p = p->next) {
      if (static_cast<Receive*>(p)->id != i->second) continue;
      posted_.remove(p);
      break;
    }
    reference_posted_.erase(i);
  }
  void withdraw_message() {
    if (reference_unexpected_.empty()) return;
    auto i = std::next(reference_unexpected_.begin(),
                       pick(static_cast<int>(reference_unexpected_.size())));
    for (Arrived* a = unexpected_.front(); a; a = a->next) {
      if (static_cast<Message*>(a)->id != i->second) continue;
      unexpected_.remove(a);
      break;
    }
    reference_unexpected_.erase(i);
  }

  std::mt19937_64 random_;
  Shape shape_;
  PostedQueue posted_;
  UnexpectedQueue unexpected_;
  std::list<std::pair<Envelope, int>> reference_posted_, reference_unexpected_;
  std::deque<std::unique_ptr<Receive>> receives_;
  std::deque<std::unique_ptr<Message>> messages_;
};

TEST(Match, AsTheReferenceForThousandsOfSequences) {
  const Shape shapes[] = {{1, 2, 2, 30, 50},  {2, 4, 4, 20, 50},    {1, 3, 50, 10, 70},
                          {3, 20, 20, 5, 30}, {1, 100, 100, 0, 50}, {1, 1, 1, 50, 60},
                          {2, 30, 2, 40, 40}};
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Comparison(seed, shapes[seed % std::size(shapes)]).run(200);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(Match, AsTheReferenceForLongQueues) {
  const Shape shapes[] = {{1, 10, 40, 10, 85}, {1, 10, 40, 10, 15}, {2, 5, 1000, 3, 60}};
  for (uint64_t seed = 100; seed < 130; ++seed) {
    Comparison(seed, shapes[seed % std::size(shapes)]).run(4000);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

/// Processor time of this thread, in seconds. Other work of the machine does not count.
double processor_time() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Processor time for n unexpected messages that are received in reverse order, in seconds.
double reverse_unexpected(int n, bool wildcards) {
  std::vector<Message> messages(static_cast<size_t>(n));
  UnexpectedQueue queue;
  const double start = processor_time();
  for (int i = 0; i < n; ++i) {
    messages[static_cast<size_t>(i)].envelope = {256, 3, i};
    queue.push(&messages[static_cast<size_t>(i)]);
  }
  for (int i = n - 1; i >= 0; --i) {
    Envelope p{256, wildcards && i % 3 == 0 ? MPI_ANY_SOURCE : 3,
               wildcards && i % 7 == 0 ? MPI_ANY_TAG : i};
    Arrived* a = queue.find(p);
    if (a) queue.remove(a);
    EXPECT_TRUE(a || wildcards);
  }
  while (Arrived* a = queue.front()) queue.remove(a);
  return processor_time() - start;
}

double reverse_posted(int n, bool wildcards) {
  std::vector<Receive> receives(static_cast<size_t>(n));
  PostedQueue queue;
  const double start = processor_time();
  for (int i = 0; i < n; ++i) {
    receives[static_cast<size_t>(i)].envelope = {256, wildcards && i % 3 == 0 ? MPI_ANY_SOURCE : 3,
                                                 i};
    queue.push(&receives[static_cast<size_t>(i)]);
  }
  for (int i = n - 1; i >= 0; --i)
    EXPECT_EQ(queue.take({256, 3, i}), &receives[static_cast<size_t>(i)]);
  EXPECT_TRUE(queue.empty());
  return processor_time() - start;
}

/// The least processor time of some runs: the first use of memory, and caches that other programs
/// have used, only add to it.
double least(double (*run)(int, bool), int n, bool wildcards) {
  double time = run(n, wildcards);
  for (int i = 0; i < 4; ++i) time = std::min(time, run(n, wildcards));
  return time;
}

// Ten times the messages take a quadratic queue a hundred times as long, and this one ten times;
// caches and the sanitizer add to that.
TEST(Match, ReverseOrderIsLinear) {
  for (bool wildcards : {false, true})
    for (auto* run : {reverse_unexpected, reverse_posted})
      EXPECT_LT(least(run, 100'000, wildcards), 50 * least(run, 10'000, wildcards)) << wildcards;
}

}  // namespace
}  // namespace fgmpi::pt2pt
