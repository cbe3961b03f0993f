// mpiexec -progress: one line on the terminal about a running job, from the counters of its
// processes (src/profile).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>

namespace fgmpi::launcher {

class ProgressLine {
 public:
  explicit ProgressLine(std::string folder) : folder_(std::move(folder)) {}
  /// True where standard error is a terminal.
  static bool wanted();
  /// Replaces the line by the present state.
  void show();
  /// Removes the line from the terminal.
  void clear();

 private:
  std::string folder_;
  uint64_t messages_ = 0;
  int64_t when_ = 0;
};

}  // namespace fgmpi::launcher
