// DecidedAccess: what a rank waits to do with something that ranks share: memory of a window, a
// lock there, an end of a port, or a published name.
//
// The layers that have these things describe an access in their own words (rma/access_decider.h,
// dynamic/connection_decider.h). The matcher compares accesses of all kinds by the numbers here,
// and conflict() in choice.h compares those of choices. Thread rule: none (values).
#pragma once

#include <cstdint>

#include "explore/choice.h"

namespace fgmpi::explore {

struct DecidedAccess {
  Choice::AccessUse use = Choice::kRead;
  /// kFold: accesses with the same value can be exchanged. kLock: 1 for an exclusive lock, else 0.
  /// A port or name: a Choice::ConnectionUse.
  uint32_t detail = 0;
  uint64_t object = 0;            ///< number of the window, of the end of the port, or of the name
  int32_t target = 0;             ///< window: the rank whose memory is accessed
  int64_t offset = 0, bytes = 0;  ///< in the target's memory
  const char* memory = nullptr;   ///< that memory, where it is in this process; nullptr for a lock
  /// A number for the call, its operation and its operands: accesses with the same number do the
  /// same.
  uint64_t deed = 0;
};

}  // namespace fgmpi::explore
