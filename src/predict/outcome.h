// PredictionOutcome: what a predicted run has shown, in a file that mpiexec reads.
//
// Thread rule: values; nothing here switches.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "predict/machine.h"

namespace fgmpi::predict {

/// Names in the folder that mpiexec makes for a prediction.
inline constexpr const char* kMachineFile = "machine";
inline constexpr const char* kOutcomeFile = "outcome";
inline constexpr const char* kTimesFile = "times";  ///< computed_times.h

/// Where a rank's time went, in picoseconds of the predicted machine.
struct RankSums {
  VirtualTime computing = 0;                             ///< between calls of MPI
  VirtualTime overhead = 0;                              ///< of its messages: o_s and o_r
  VirtualTime messages = 0, collectives = 0, other = 0;  ///< in calls, waiting included
  uint64_t sent = 0, sent_bytes = 0, calls = 0;
};
struct RankTimes : RankSums {
  VirtualTime total = 0;
};

/// A call in the program: the file of its code, and where in it. "": unknown.
struct PathPlace {
  std::string file;
  uint64_t offset = 0;
};
/// What of the critical path lies between two calls: messages, or what a rank computes.
struct PathLine {
  bool is_message = false;
  PathPlace from, to;
  VirtualTime time = 0;
  uint64_t count = 0;
};
/// The parts of the critical path (critical_path.h).
struct PathSummary {
  bool is_known = false;
  VirtualTime computing = 0, calls = 0, latency = 0, bytes = 0, waited = 0;
  uint64_t messages = 0;
  std::vector<PathLine> lines;  ///< the longest first
};

/// Collectives that had the same algorithm.
struct ScheduleCount {
  uint8_t collective = 0;  ///< coll::CollectiveKind
  ScheduleAlgorithm algorithm = ScheduleAlgorithm::kDissemination;
  uint64_t count = 0;
};

struct PredictionOutcome {
  std::string machine;
  uint32_t nodes = 0;
  uint64_t transfers = 0, events = 0;
  uint32_t by_clock = 0;      ///< ranks that look at the clock until a time has come
  VirtualTime corrected = 0;  ///< computing of all ranks that was measured, but did not count
  /// Times of an earlier prediction (computed_times.h) that were missing, or that nobody took.
  uint64_t times_missing = 0, times_left = 0;
  /// What ranks have waited for outside of MPI here: it takes no time there.
  VirtualTime waited_outside = 0;
  VirtualTime contention = 0;  ///< time that transfers have waited for ports
  std::vector<ScheduleCount> schedules;
  std::vector<RankTimes> ranks;
  PathSummary path;

  /// The time of the rank that ended last.
  VirtualTime total() const;
  Status write(const std::string& path) const;
  static Status read(const std::string& path, PredictionOutcome* out);
};

}  // namespace fgmpi::predict
