// LibcState: the random numbers and strtok of one image. It has pointers into itself.
#pragma once

#include <stdlib.h>

namespace fgmpi::privatize {

struct LibcState {
  bool begun = false;  ///< a rank has used any of them
  random_data random{};
  char random_state[128];  // bytes; as many as the C library has by default
  drand48_data drand{};
  char* strtok_rest = nullptr;

  void begin() {
    begun = true;
    initstate_r(1, random_state, sizeof random_state, &random);
  }
};

}  // namespace fgmpi::privatize
