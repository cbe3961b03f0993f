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

/// Where a rank's time went, in picoseconds of the predicted machine.
struct RankTimes {
  VirtualTime total = 0;
  VirtualTime computing = 0;                             ///< between calls of MPI
  VirtualTime overhead = 0;                              ///< of its messages: o_s and o_r
  VirtualTime messages = 0, collectives = 0, other = 0;  ///< in calls, waiting included
  uint64_t sent = 0, sent_bytes = 0, calls = 0;
};

struct PredictionOutcome {
  std::string machine;
  uint32_t nodes = 0;
  uint64_t transfers = 0, events = 0;
  VirtualTime contention = 0;  ///< time that transfers have waited for ports
  std::vector<RankTimes> ranks;

  /// The time of the rank that ended last.
  VirtualTime total() const;
  Status write(const std::string& path) const;
  static Status read(const std::string& path, PredictionOutcome* out);
};

}  // namespace fgmpi::predict
