// The handlers that a rank's program has registered for its end (exits.cc).
#pragma once

#include <cstdint>

#include "privatize/image/slot_array.h"

namespace fgmpi::privatize {

struct ExitHandler {
  enum Kind : uint8_t { kAtExit, kOnExit, kThreadLocal, kQuick } kind;
  union {
    void (*function)(void*);
    void (*with_status)(int, void*);
  };
  void* argument;
  const void* dso = nullptr;  ///< in the module that registered it; nullptr: unknown
};

/// Proclet::pending points to the list of a rank. It is in the rank's record (slot_record.h), else
/// made when the first handler is registered.
struct ExitList {
  SlotArray<ExitHandler> handlers;
};

}  // namespace fgmpi::privatize
