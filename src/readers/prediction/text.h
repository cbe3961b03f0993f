// What mpiexec -predict prints about a predicted run.
//
// Thread rule: values; nothing here switches.
#pragma once

#include <string>
#include <vector>

#include "predict/outcome.h"

namespace fgmpi::predict {

/// The summary of one run: its time, and what the ranks spent theirs on.
std::string summary_of(const PredictionOutcome& outcome);
/// A line for each number of ranks: time, speed-up and efficiency beside the first, what limits.
/// REQUIRES: at least one.
std::string table_of(const std::vector<PredictionOutcome>& outcomes);

}  // namespace fgmpi::predict
