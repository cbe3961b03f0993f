// What the first rank of a process does for all of its ranks, such as asking MPI where they are.
// Thread rule: called by ranks between MPI_Init and MPI_Finalize, on the thread that has called
// MPI_Init. May switch.
#pragma once

#include "fgmpi.h"

#pragma weak MPIX_Yield

namespace fgmpi::findings {

/// A function-local static would not do: its initialiser may call MPI and switch to another rank
/// that comes to it.
class ByFirstRank {
 public:
  /// What `start`, which is called once, has returned. Ranks that come meanwhile let it go on.
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
