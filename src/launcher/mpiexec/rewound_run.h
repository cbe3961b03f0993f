// The processes of a repeated run that is visited at its events: one runs through it first, and
// leaves snapshots; another runs from a snapshot to the event that is asked for
// (src/rewind/control.h).
//
// Snapshots are thinned out: the one that is dropped is the one without which the longest way to an
// event grows least. Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <string>

#include "base/status.h"
#include "launcher/mpiexec/run_events.h"
#include "rewind/control.h"

namespace fgmpi::launcher {

class RewoundRun {
 public:
  /// `control`: the socket of the first process. `most_bytes`: what snapshots may take.
  RewoundRun(pid_t process, int control, uint64_t most_bytes);
  ~RewoundRun();
  RewoundRun(const RewoundRun&) = delete;
  RewoundRun& operator=(const RewoundRun&) = delete;

  /// Follows the first process up to its end.
  void run_through();
  /// Runs a process up to where the event begins. Errors: there is no such event.
  Status go_to(uint64_t event, pid_t* process);

  RunEvents& events() { return events_; }

  /// The last event before this one at which there is a snapshot; 0: none.
  uint64_t snapshot_before(uint64_t event) const {
    const auto behind = snapshots_.lower_bound(event);
    return behind == snapshots_.begin() ? 0 : std::prev(behind)->first;
  }
  size_t snapshots() const { return snapshots_.size(); }
  uint64_t snapshot_bytes() const;

 private:
  struct ServedProcess {
    pid_t process;
    int control;
  };
  void add_snapshot(const rewind::ControlReport& report, int control);
  void thin_out();
  void end(const ServedProcess& process);

  std::map<uint64_t, ServedProcess> snapshots_;  ///< by the event at which they were taken
  ServedProcess first_, runner_{0, -1};
  ReportReader first_reports_;
  RunEvents events_;
  const uint64_t most_bytes_;
  uint64_t since_thinned_ = 0;
  uint64_t target_ = 0;  ///< the event of the last go_to()
};

}  // namespace fgmpi::launcher
