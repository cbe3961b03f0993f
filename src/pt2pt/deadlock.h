// Deadlock: the report (deadlock.cc), and the detection over several processes (termination.cc).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fgmpi::pt2pt {

enum class DeadlockAction : uint8_t { kAbort, kReport, kOff };
/// FGMPI_DEADLOCK, in the order of the table of settings.
DeadlockAction deadlock_action();

/// Every parked proclet of this process waits for something that only MPI can bring, and one does.
bool all_wait_for_mpi();

/// Who waits: the first lines, counts by call, and edges "world rank waits for world rank".
struct Report {
  uint64_t ranks = 0;
  std::vector<std::pair<std::string, std::string>> lines;  ///< call, line
  std::map<std::string, uint64_t> calls;
  std::map<int64_t, int64_t> edges;

  /// One string for the wire, and a process's added to this.
  std::string to_text() const;
  void add_text(const std::string& text);
  /// To stderr, with a cycle if there is one.
  void print();
};
Report local_report();

/// Sets up the detection of this process (after the address vector is known); checks FGMPI_DEADLOCK.
void start_detection();
/// The detecting process has been parked for long enough to ask the others: all_parked() is to be
/// called again.
bool detection_due();

}  // namespace fgmpi::pt2pt
