// The words between mpiexec and a process that repeats a run, on the socket kControlFd.
//
//   mpiexec -> process    ControlOrder, once, before ranks run
//   process -> mpiexec    ListedEvent for each event, where they are listed
//
// A process without that descriptor repeats its run and nothing else.
#pragma once

#include <cstdint>

namespace fgmpi::rewind {

struct ControlOrder {
  uint32_t lists_events;
  uint32_t reserved;
};

struct ListedEvent {
  uint64_t number;
  uint64_t place;  ///< the instruction behind the call, as the linker loaded the program
  int64_t count;
  int32_t rank;
  int32_t partner;
  char call[40];
};

}  // namespace fgmpi::rewind
