// The lines of events: mpiexec -rewind FILE -events, and visits of events (rewound_run.h).
//
// Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launcher/mpiexec/command_line.h"
#include "rewind/control.h"

namespace fgmpi::launcher {

/// The program's line of each place, found in the mappings of a process.
class PlaceNames {
 public:
  explicit PlaceNames(pid_t process) : process_(process) {}
  /// Reads the mappings. Called while the process exists, when it has loaded its libraries.
  void read_mappings();
  const std::string& name(uint64_t place);

 private:
  struct MappedFile {
    uint64_t low, high, base;
    std::string path;
  };
  std::string find(uint64_t place) const;

  const pid_t process_;
  std::vector<MappedFile> files_;
  std::map<uint64_t, std::string> names_;
};

/// Reads the reports of a process (src/rewind/control.h).
class ReportReader {
 public:
  explicit ReportReader(int control) : control_(control) {}
  /// Reads a report that is no kCallName; events() has what follows one of kEvents. *fd: the
  /// descriptor that comes along (-1: none). False: the process has ended.
  bool receive(rewind::ControlReport* report, int* fd);
  const std::vector<rewind::ListedEvent>& events() const { return events_; }
  const std::string& call_name(uint32_t call) { return calls_[call]; }

 private:
  bool receive_plain(rewind::ControlReport* report, int* fd);

  int control_;
  std::vector<rewind::ListedEvent> events_;
  std::map<uint32_t, std::string> calls_;
};

/// "rank 17 MPI_Recv rank 3, count 1".
std::string words_of_event(const rewind::ListedEvent& event, const std::string& call);

/// Reads events from the socket until its other end is closed, and prints those that are wanted.
/// `process`: the repeated run.
void print_events(int control, pid_t process, const LaunchPlan::Rewind& wishes);

}  // namespace fgmpi::launcher
