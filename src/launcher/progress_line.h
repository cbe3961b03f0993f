// mpiexec -progress: one line on the terminal about a job that runs, by the counters of its
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
  /// Is standard error a terminal?
  static bool wanted();
  /// Replaces the line by what holds now.
  void show();
  /// Takes it off the screen.
  void clear();

 private:
  std::string folder_;
  uint64_t messages_ = 0;
  int64_t when_ = 0;
};

}  // namespace fgmpi::launcher
