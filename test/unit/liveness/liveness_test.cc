#include "liveness/liveness.h"

#include <gtest/gtest.h>

namespace fgmpi::liveness {
namespace {

// The tests run in processes of their own, since the state of a process moves only once.
TEST(OwnStateDeathTest, GoesOneWay) {
  auto go_through = [] {
    const bool right = own_state() == LivenessState::kRunning && ends_are_losses();
    start_leaving();
    const bool then = own_state() == LivenessState::kLeaving && !ends_are_losses();
    end_in_order();
    const bool last = own_state() == LivenessState::kLeftInOrder && !ends_are_losses();
    exit(right && then && last ? 0 : 1);
  };
  EXPECT_EXIT(go_through(), testing::ExitedWithCode(0), "");
  auto leave_twice = [] {
    start_leaving();
    start_leaving();
  };
  EXPECT_DEATH(leave_twice(), "internal error");
  auto end_twice = [] {
    end_in_order();
    end_in_order();
  };
  EXPECT_DEATH(end_twice(), "internal error");
}

}  // namespace
}  // namespace fgmpi::liveness
