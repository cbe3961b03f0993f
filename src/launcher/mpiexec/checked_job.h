// mpiexec -check: a job whose processes load the checker (src/check), and the report of the
// findings.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::launcher {

/// The checker's file name. LD_PRELOAD names it without its folder, whose path may hold spaces.
inline constexpr const char* kChecker = "libfgmpi-check.so";

class CheckedJob {
 public:
  ~CheckedJob();
  /// Makes the folder for findings and sets the environment of the processes. `kinds`: kinds of
  /// findings, "" for all. `elsewhere`: processes may be on other hosts; then the folder is made in
  /// the working folder, which hosts share more often than /tmp.
  Status set_up(const std::string& kinds, const std::string& library_folder, bool elsewhere);
  /// The folder of the findings; "" before set_up().
  const std::string& folder() const { return folder_; }
  /// Runs hydra with these arguments, passes signals on to it, prints the report when it has ended,
  /// and returns the exit status: findings::kStatusWithFindings when there were findings, else
  /// hydra's.
  int run(const std::string& hydra, char* const* arguments,
          const std::vector<std::string>& reports);
  /// Prints the report of a job that has ended with this status, and returns the exit status, as
  /// run() does.
  int report(int status, const std::vector<std::string>& reports);

 private:
  std::string folder_;
};

}  // namespace fgmpi::launcher
