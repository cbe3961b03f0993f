// What mpiexec -predict prints about a predicted run.
//
// Thread rule: values; nothing here switches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predict/outcome.h"

namespace fgmpi::predict {

/// The summary of one run: its time, and what the ranks spent theirs on.
std::string summary_of(const PredictionOutcome& outcome);
/// The critical path and its lines; "": it was not kept.
std::string path_words(const PredictionOutcome& outcome);
/// The time of each run over its number of ranks, the ideal and what limits, as SVG. REQUIRES: at
/// least one.
std::string plot_of(const std::vector<PredictionOutcome>& outcomes);

// What these texts share.
std::string time_words(VirtualTime time);
/// What the ranks spend most time on.
std::string_view limit_of(const PredictionOutcome& outcome);

/// A line for each number of ranks: time, speed-up and efficiency beside the first, what limits.
/// REQUIRES: at least one.
std::string table_of(const std::vector<PredictionOutcome>& outcomes);

}  // namespace fgmpi::predict
