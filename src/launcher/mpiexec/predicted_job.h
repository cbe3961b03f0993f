// mpiexec -predict: a job of one process, whose ranks have clocks of another machine (src/predict),
// and what is printed about it.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "launcher/mpiexec/command_line.h"
#include "predict/outcome.h"
#include "readers/report/run.h"

namespace fgmpi::launcher {

/// The meter's file name; see kChecker for why it has no folder.
inline constexpr const char* kMeter = "libfgmpi-predict.so";

class PredictedJob {
 public:
  ~PredictedJob();
  /// Reads the machine, makes the folder with it, and sets the environment of the process. Errors:
  /// MPI_ERR_ARG: there is no such machine, its file is wrong, the library is not installed.
  Status set_up(const LaunchPlan::Predict& wishes, const std::string& library_folder);
  /// Runs the job, then prints the summary. Returns the job's exit status, or 1 where that is 0 and
  /// the program has not ended in MPI_Finalize.
  int run(const std::function<int()>& job);
  /// Runs mpiexec with these arguments once for each number of ranks, then prints a table. Returns
  /// the first exit status that is not 0.
  int run_each(const std::vector<std::string>& arguments, const std::vector<int64_t>& ranks);

  /// The machine and the node of each rank, for the page of the run.
  report::PredictedOn for_page() const;

 private:
  Status set_up_times(const LaunchPlan::Predict& wishes);
  bool keep_times() const;
  /// Writes the curve, if the user wants it. Returns false where it cannot, which it prints.
  bool write_plot(const std::vector<predict::PredictionOutcome>& outcomes) const;

  std::string folder_, plot_, times_;
  predict::PredictedMachine machine_;
  uint32_t ranks_ = 0;
};

}  // namespace fgmpi::launcher
