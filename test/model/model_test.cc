// The model itself: what C++ allows is found, what it forbids is not.

#include "model.h"

#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace fgmpi::model {
namespace {

constexpr int kExecutions = 5'000;

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

/// A value is passed on by a flag.
struct PassOn : Scenario {
  std::memory_order store_order, load_order;
  int value = 0;
  std::atomic<int> flag{0};

  PassOn(std::memory_order stores, std::memory_order loads)
      : store_order(stores), load_order(loads) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] {
              value = 1;
              flag.store(1, store_order);
            },
            [this] {
              if (flag.load(load_order) == 1 && value != 1) fail("the value is not there");
            }};
  }
};

TEST(Model, AFlagNeedsReleaseAndAcquire) {
  auto failure = [](std::memory_order stores, std::memory_order loads) {
    return explore([=] { return std::make_unique<PassOn>(stores, loads); }, kExecutions).failure;
  };
  EXPECT_EQ(failure(memory_order_release, memory_order_acquire), "");
  EXPECT_NE(failure(memory_order_relaxed, memory_order_acquire), "");
  EXPECT_NE(failure(memory_order_release, memory_order_relaxed), "");
}

enum class Between : uint8_t { kNothing, kFences, kBarrierInOne };

/// Each of two threads stores and then loads what the other stores: both may read 0, unless...
struct StoreThenLoad : Scenario {
  std::memory_order order;
  Between between;
  std::atomic<int> x{0}, y{0};
  int seen[2] = {};

  StoreThenLoad(std::memory_order o, Between b) : order(o), between(b) {}
  void run(int me) {
    (me ? y : x).store(1, order);
    if (between == Between::kFences) std::atomic_thread_fence(memory_order_seq_cst);
    if (between == Between::kBarrierInOne && me == 1)
      syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
    seen[me] = (me ? x : y).load(order);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { run(0); }, [this] { run(1); }};
  }
  void check() override {
    if (seen[0] + seen[1] == 0) fail("neither has seen the other");
  }
};

TEST(Model, AStoreAndALoadNeedAFence) {
  auto failure = [](std::memory_order order, Between between) {
    return explore([=] { return std::make_unique<StoreThenLoad>(order, between); }, kExecutions)
        .failure;
  };
  EXPECT_NE(failure(memory_order_relaxed, Between::kNothing), "");
  EXPECT_EQ(failure(memory_order_seq_cst, Between::kNothing), "");
  EXPECT_EQ(failure(memory_order_relaxed, Between::kFences), "");
  EXPECT_EQ(failure(memory_order_relaxed, Between::kBarrierInOne), "");
}

/// Two threads read two variables in opposite orders.
struct ReadInBothOrders : Scenario {
  std::memory_order order;
  std::atomic<int> x{0}, y{0};
  int x_first = 0, y_first = 0;  // not bool: the model sees four bytes at a time

  explicit ReadInBothOrders(std::memory_order o) : order(o) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { x.store(1, order); }, [this] { y.store(1, order); },
            [this] { x_first = x.load(order) == 1 && y.load(order) == 0; },
            [this] { y_first = y.load(order) == 1 && x.load(order) == 0; }};
  }
  void check() override {
    if (x_first && y_first) fail("two orders of the stores");
  }
};

TEST(Model, SequentialConsistencyIsOneOrder) {
  auto failure = [](std::memory_order order) {
    return explore([=] { return std::make_unique<ReadInBothOrders>(order); }, kExecutions).failure;
  };
  EXPECT_EQ(failure(memory_order_seq_cst), "");
  EXPECT_NE(failure(memory_order_relaxed), "");
}

}  // namespace
}  // namespace fgmpi::model
