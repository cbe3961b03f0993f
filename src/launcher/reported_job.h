// mpiexec -report, -summary and -progress: a job whose processes load src/profile, and what is made
// of their counters.
//
// The report is written by a process of its own (the *writer*), which mpiexec starts first: it is
// there also when mpiexec itself is killed.
// Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "launcher/command_line.h"

namespace fgmpi::launcher {

/// The library's file name, see kChecker.
inline constexpr const char* kReporter = "libfgmpi-report.so";

class ReportedJob {
 public:
  ~ReportedJob();
  /// Makes the folder for the processes' files and sets what processes inherit. `elsewhere`: as
  /// CheckedJob::set_up(). Errors: the file of the report cannot be written; the library is not
  /// installed.
  Status set_up(const ReportWishes& wishes, const std::string& library_folder, bool elsewhere);
  /// Runs hydra, then has the report written. `command`: for the report; `settings`: NAME=VALUE of
  /// those that were set. Returns hydra's exit status, or 1 where the report could not be written
  /// and that is 0.
  int run(const std::string& hydra, char* const* arguments, const std::string& command,
          const std::vector<std::string>& settings);

 private:
  bool start_writer(const std::string& command, const std::vector<std::string>& settings);
  void write_when_told(int from, const std::string& command,
                       const std::vector<std::string>& settings);

  ReportWishes wishes_;
  std::string folder_;
  pid_t writer_ = 0;
  int tell_ = -1;  ///< the writer is told the exit status here
};

}  // namespace fgmpi::launcher
