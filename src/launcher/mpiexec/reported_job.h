// mpiexec -report, -summary and -progress: a job whose processes load src/profile, and the output
// that is made of their counters.
//
// A separate process (the *writer*), which mpiexec starts first, writes the report: the writer
// still exists when mpiexec itself is killed. Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "launcher/mpiexec/command_line.h"
#include "readers/report/run.h"

namespace fgmpi::launcher {

/// The reporter's file name; see kChecker for why it has no folder.
inline constexpr const char* kReporter = "libfgmpi-report.so";

class ReportedJob {
 public:
  ~ReportedJob();
  /// Makes the folder for the processes' files and sets the environment of the processes.
  /// `elsewhere`: as CheckedJob::set_up(). Errors: the file of the report cannot be written; the
  /// library is not installed.
  Status set_up(const ReportWishes& wishes, const std::string& library_folder, bool elsewhere);
  /// The times of the job are those of a predicted machine.
  void predict_on(report::PredictedOn predicted) { predicted_ = std::move(predicted); }
  /// Runs hydra, then has the writer write the report. `command`: shown in the report; `settings`:
  /// NAME=VALUE of those that were set. Returns hydra's exit status, or 1 where that is 0 and the
  /// report could not be written.
  int run(const std::string& hydra, char* const* arguments, const std::string& command,
          const std::vector<std::string>& settings);

 private:
  bool start_writer(const std::string& command, const std::vector<std::string>& settings);
  void write_report_at_end(int from, const std::string& command,
                           const std::vector<std::string>& settings);

  ReportWishes wishes_;
  std::string folder_;
  report::PredictedOn predicted_;
  pid_t writer_ = 0;
  int writer_pipe_ = -1;  ///< the pipe over which the writer receives the exit status
};

}  // namespace fgmpi::launcher
