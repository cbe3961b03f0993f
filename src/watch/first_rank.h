// Actions that the first rank of a process does for all of its ranks, such as asking MPI for their
// positions. Thread rule: ranks call this between MPI_Init and MPI_Finalize, on the thread that has
// called MPI_Init. May switch.
#pragma once

#include "fgmpi.h"

#pragma weak MPIX_Yield

namespace fgmpi::findings {

/// The result of an action that the first rank makes. A function-local static would deadlock: its
/// initialiser may call MPI and switch to another rank, which would enter the same initialiser.
class ByFirstRank {
 public:
  /// Returns the result of `start`, which only the first caller runs. Other ranks yield until it
  /// has returned.
  template <class Start>
  bool operator()(Start&& start) {
    if (state_ == State::kNew) {
      state_ = State::kStarting;
      state_ = start() ? State::kOn : State::kOff;
    }
    while (state_ == State::kStarting) MPIX_Yield();
    return state_ == State::kOn;
  }

 private:
  enum class State : unsigned char { kNew, kStarting, kOn, kOff } state_ = State::kNew;
};

}  // namespace fgmpi::findings
