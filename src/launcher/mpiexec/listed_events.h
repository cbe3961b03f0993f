// The events of a repeated run as mpiexec has them: mpiexec -rewind FILE -events, and visits of
// events (rewound_run.h).
//
// Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "launcher/mpiexec/command_line.h"
#include "rewind/control.h"
#include "rewind/hooks.h"

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

struct ListedCall {
  std::string name;
  rewind::MessageRole role = rewind::MessageRole::kNone;
  bool persistent = false;
};

/// Reads the reports of a process (src/rewind/control.h).
class ReportReader {
 public:
  explicit ReportReader(int control) : control_(control) {}
  /// Reads a report that names nothing; events() has what follows one of kEvents. *fd: the
  /// descriptor that comes along (-1: none). False: the process has ended.
  bool receive(rewind::ControlReport* report, int* fd);
  const std::vector<rewind::ListedEvent>& events() const { return events_; }
  const ListedCall& call(uint32_t number) { return calls_[number]; }
  const std::string& comm_name(uint64_t context) { return comm_names_[context]; }

 private:
  bool receive_plain(rewind::ControlReport* report, int* fd);

  int control_;
  std::vector<rewind::ListedEvent> events_;
  std::unordered_map<uint32_t, ListedCall> calls_;
  std::map<uint64_t, std::string> comm_names_;
};

/// An event, small: a run of some seconds has some ten million.
struct RunEvent {
  int32_t rank, partner, partner_in_job, tag;  ///< as of ListedEvent
  uint32_t count;
  uint32_t place;  ///< its number in the table
  uint16_t call, comm;
};
static_assert(sizeof(RunEvent) == 28);

/// What the numbers in events stand for: calls, communicators, places of the program.
class EventTable {
 public:
  EventTable(pid_t process, ReportReader* reader) : reader_(*reader), places_(process) {}
  /// REQUIRES: a ListedEvent that is no detail. The first one reads the mappings of the process.
  RunEvent convert(const rewind::ListedEvent& listed);
  /// The number of a communicator.
  uint16_t number_of(uint64_t context);
  const ListedCall& call_of(const RunEvent& event) { return reader_.call(event.call); }
  /// "rank 17 MPI_Recv rank 3, tag 0, count 1 at program.c:5 (main)".
  std::string words(const RunEvent& event);
  /// A part of it, without the rank and the place: "MPI_Recv rank 3, tag 0, count 1".
  std::string call_words(const RunEvent& event);
  const std::string& place_of(const RunEvent& event) {
    return places_.name(place_numbers_[event.place]);
  }
  bool is_wanted(const RunEvent& event, const LaunchPlan::Rewind& wishes);

  /// "communicator 3", or its name.
  std::string comm_words(uint16_t comm);

 private:
  ReportReader& reader_;
  PlaceNames places_;
  std::vector<uint64_t> place_numbers_;
  std::unordered_map<uint64_t, uint32_t> number_of_place_;
  /// Communicators by their numbers, which begin at 1 in the order in which they are first used.
  std::vector<uint64_t> contexts_ = {0};
  std::unordered_map<uint64_t, uint16_t> number_of_context_ = {{0, 0}};
};

/// Reads events from the socket until its other end is closed, and prints those that are wanted.
/// `process`: the repeated run.
void print_events(int control, pid_t process, const LaunchPlan::Rewind& wishes);

}  // namespace fgmpi::launcher
