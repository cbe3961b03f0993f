// The words between mpiexec and the processes that repeat a run, each on its socket kControlFd.
//
//   mpiexec -> process    ControlOrder: the first one before ranks run, others where it waits
//   process -> mpiexec    ControlReport
//
// A process forks snapshots of itself while it runs. A snapshot only waits for orders. Ordered to
// run to an event, it forks a process that does so, and stays. A report about a new process brings
// the other end of that process's socket along (SCM_RIGHTS). A process whose socket is closed by
// mpiexec ends. A process without the descriptor repeats its run and nothing else.
#pragma once

#include <cstdint>

namespace fgmpi::rewind {

struct ControlOrder {
  uint64_t stop_at;       ///< the process waits when this event begins; UINT64_MAX: never
  uint32_t lists_events;  ///< 1: reports all events
  uint32_t snapshots;     ///< 1: forks snapshots from time to time
  uint32_t shows_output;  ///< 1: standard output and error are written again
  uint32_t checks;  ///< kinds of findings that the checker looks for (check/findings/finding.h)
};

/// An event that has begun; its number is one more than that of the one before. Or a detail of an
/// event (CallDetail).
struct ListedEvent {
  /// The instruction behind the call, as the linker loaded the program; of a detail: the event.
  uint64_t place;
  uint64_t context;  ///< identifies the communicator; 0: there is none
  int32_t rank;
  int32_t partner;         ///< a rank of the communicator
  int32_t partner_in_job;  ///< the same as a rank of the job; less than 0: none
  int32_t tag;
  uint32_t count;  ///< UINT32_MAX: as many, or more; of a detail: the handle
  uint32_t call;   ///< a number that kCallName has named; of a detail: kFirstDetail and its kind
};
inline constexpr uint32_t kFirstDetail = 1 << 16;

/// Beside the role that comes with kCallName: CallBegun::persistent.
inline constexpr int32_t kPersistentRole = 1 << 8;

struct ControlReport {
  enum Kind : uint32_t {
    kEvents,    ///< `number` ListedEvent follow
    kCallName,  ///< the call of number `number` is `name`, its MessageRole `process`
    kCommName,  ///< the program calls the communicator of context `number` `name`
    kStopped,   ///< the process waits where this event begins
    kSnapshot,  ///< a snapshot has been forked at this event
    kRunner,    ///< the snapshot has forked a process that runs as ordered
  } kind;
  int32_t process;  ///< its number
  uint64_t number;  ///< of the event, unless the kind says otherwise
  char name[40];
};

}  // namespace fgmpi::rewind
