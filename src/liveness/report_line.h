// The line that reports a lost process, and its way through the launcher.
//
//   fgmpi: process 3 of the job (process id 4711 on host vm, world ranks 300 to 399) is gone:
//   killed by signal 9 (SIGKILL)
//
// Several processes may see one loss, and each writes the line. A process that was ended because of
// the first loss may be reported as a second one. So mpiexec passes on only the first line
// (src/launcher/hydra/hydra_guard.cc), or, with -ft, the first one about each process. The same
// holds for lines about a failed start and about a bad setting, which every process writes.
//
// Thread rule: one thread. This header needs no other file: the launcher's library links none.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace fgmpi::liveness {

inline constexpr std::string_view kLossBegin = "fgmpi: process ", kLossMiddle = " is gone: ";
/// The end of such a line in a job that survives the loss: then one line passes for each
/// lost process.
inline constexpr std::string_view kGoesOn = "; the job goes on";
inline constexpr std::string_view kFailedStart = "fgmpi: Fatal error on a rank before MPI_Init: ";
inline constexpr std::string_view kRefusedSetting = "fgmpi: FGMPI_", kAllowed = ": allowed is ";

/// The line before the reason. `process` begins with "process ".
inline std::string begin_of_loss(const std::string& process) {
  return "fgmpi: " + process + std::string(kLossMiddle);
}

/// Chooses among the lines that the processes of a job write to standard error.
class ReportFilter {
 public:
  /// False for a report of a kind that has passed already. `line` may be any piece of text.
  bool passes(std::string_view line) {
    if (is_survived_loss(line)) return survived_.emplace(process_of(line)).second;
    if (is_loss(line)) return first(&loss_reported_);
    if (line.find(kFailedStart) != line.npos) return first(&failed_start_reported_);
    if (is_refused_setting(line)) return first(&refused_setting_reported_);
    return true;
  }
  bool loss_reported() const { return loss_reported_; }

 private:
  static bool is_loss(std::string_view line) {
    const size_t at = line.find(kLossBegin);
    return at != line.npos && line.find(kLossMiddle, at) != line.npos;
  }
  static bool is_survived_loss(std::string_view line) {
    return is_loss(line) && line.find(kGoesOn) != line.npos;
  }
  /// REQUIRES: is_loss(line).
  static std::string process_of(std::string_view line) {
    const size_t at = line.find(kLossBegin);
    return std::string(line.substr(at, line.find(kLossMiddle, at) - at));
  }
  /// True for the line of settings::load_or_end(): every process reads the same environment.
  static bool is_refused_setting(std::string_view line) {
    const size_t at = line.find(kRefusedSetting);
    return at != line.npos && line.find(kAllowed, at) != line.npos;
  }
  static bool first(bool* reported) {
    const bool is_first = !*reported;
    *reported = true;
    return is_first;
  }
  std::set<std::string> survived_;
  bool loss_reported_ = false, failed_start_reported_ = false, refused_setting_reported_ = false;
};

}  // namespace fgmpi::liveness
