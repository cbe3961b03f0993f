// The engine lock: loans, their ends, and the ends of threads (src/proclet-sched/threads).

#include "proclet-sched/threads/engine_lock.h"

#include <gtest/gtest.h>

#include "model.h"

namespace fgmpi::sched {
namespace {

constexpr int kExecutions = 20'000;

/// Threads that change a variable under the lock. The first one has a loan at first; where
/// `relends`, the second one borrows the lock soon.
struct LockAndCount : model::Scenario {
  EngineLock lock;
  LockUser users[3];
  int count = 0;
  bool forgets;

  LockAndCount(bool relends, bool first_forgets) : forgets(first_forgets) {
    lock.prepare(&users[0]);
    if (relends) lock.latest_ = &users[1], lock.streak_ = EngineLock::kStreak - 2;
    model::name(&lock.word_, "word");
    model::name(&lock.starving_, "starving");
    model::name(&lock.lent_to_, "lent_to");
    model::name(&lock.revoked_, "revoked");
    model::name(&EngineLock::nobody_.inside, "nobody");
    for (LockUser& user : users) model::name(&user.inside, "inside");
  }
  void change(LockUser* me) {
    lock.lock(me);
    ++count;
    lock.unlock(me);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] {
              for (int i = 0; i < 2; ++i) change(&users[0]);
              if (!forgets) return;
              lock.forget(&users[0]);
              // The memory may be another object's now.
              reinterpret_cast<volatile uint32_t&>(users[0].inside) = 77;
            },
            [this] {
              for (int i = 0; i < 3; ++i) change(&users[1]);
            },
            [this] { change(&users[2]); }};
  }
  void check() override {
    if (count != 6) model::fail("a change is lost");
  }
};

/// Orders that are needed only where a thread ends.
const std::set<model::Operation> kOfForget = {"lent_to change", "lent_to load", "revoked store"};

TEST(ModelOfEngineLock, ExcludesWithALoanThatEnds) {
  EXPECT_EQ(model::judge([] { return std::make_unique<LockAndCount>(false, false); }, kExecutions,
                         kOfForget),
            "");
}

TEST(ModelOfEngineLock, ExcludesWithALoanThatBeginsAnew) {
  EXPECT_EQ(model::judge([] { return std::make_unique<LockAndCount>(true, false); }, kExecutions,
                         kOfForget),
            "");
}

TEST(ModelOfEngineLock, ReadsNothingOfAThreadThatHasEnded) {
  EXPECT_EQ(model::judge([] { return std::make_unique<LockAndCount>(false, true); }, kExecutions,
                         {"nobody load"}),  // that user is never inside
            "");
}

}  // namespace
}  // namespace fgmpi::sched
