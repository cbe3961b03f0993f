// The state of this process, and its transitions.

#include "liveness/liveness.h"

#include "base/assert.h"
#include "base/end_hooks.h"

namespace fgmpi::liveness {
namespace {
LivenessState g_state = LivenessState::kRunning;
}  // namespace

LivenessState own_state() { return g_state; }

void start_leaving() {
  FGMPI_CHECK(g_state == LivenessState::kRunning);
  g_state = LivenessState::kLeaving;
}

void end_in_order() {
  FGMPI_CHECK(g_state != LivenessState::kLeftInOrder);
  g_state = LivenessState::kLeftInOrder;
  leave_end_mark();
}

}  // namespace fgmpi::liveness
