// The state of this process, and its transitions.

#include "liveness/liveness.h"

#include "base/assert.h"
#include "base/end_hooks.h"

namespace fgmpi::liveness {
namespace {
State g_state = State::kRunning;
}  // namespace

State own_state() { return g_state; }

void start_leaving() {
  FGMPI_CHECK(g_state == State::kRunning);
  g_state = State::kLeaving;
}

void end_in_order() {
  FGMPI_CHECK(g_state != State::kLeftInOrder);
  g_state = State::kLeftInOrder;
  leave_end_mark();
}

}  // namespace fgmpi::liveness
