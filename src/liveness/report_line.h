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

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace fgmpi::liveness {

inline constexpr std::string_view kLossBegin = "fgmpi: process ", kLossMiddle = " is gone: ";
/// Begins the reason where a signal has ended the process; the signal's number follows.
inline constexpr std::string_view kKilledBy = "killed by signal ";
/// The end of such a line in a job that survives the loss: then one line passes for each
/// lost process.
inline constexpr std::string_view kGoesOn = "; the job goes on";
inline constexpr std::string_view kFailedStart = "fgmpi: Fatal error on a rank before MPI_Init: ";
inline constexpr std::string_view kRefusedSetting = "fgmpi: FGMPI_", kAllowed = ": allowed is ";

/// The line before the reason. `process` begins with "process ".
inline std::string begin_of_loss(const std::string& process) {
  return "fgmpi: " + process + std::string(kLossMiddle);
}

/// The number at the start of a text; -1: there is none.
inline int leading_count(std::string_view text) {
  int number = -1;
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9' && number < 100'000'000;
       text.remove_prefix(1))
    number = std::max(number, 0) * 10 + (text[0] - '0');
  return number;
}
/// The reason of such a line; "": it is another line.
inline std::string_view reason_of_loss(std::string_view line) {
  const size_t at = line.find(kLossMiddle);
  if (line.find(kLossBegin) >= at || at == line.npos) return {};
  return line.substr(at + kLossMiddle.size());
}
/// The signal that has ended the process of such a line; 0: none has, or it is another line.
inline int signal_of_loss(std::string_view line) {
  const std::string_view reason = reason_of_loss(line);
  return reason.starts_with(kKilledBy) ? std::max(leading_count(reason.substr(kKilledBy.size())), 0)
                                       : 0;
}
/// The process of the job that such a line is about, where its host cannot be reached (the reason
/// names the host, and says so); -1: it is another line.
inline int unreachable_of_loss(std::string_view line) {
  const std::string_view reason = reason_of_loss(line);
  if (!reason.starts_with("host ")) return -1;
  bool says_so = false;
  for (const std::string_view words : {"unreachable", "timed out", "No route to host"})
    says_so |= reason.find(words) != reason.npos;
  return says_so ? leading_count(line.substr(line.find(kLossBegin) + kLossBegin.size())) : -1;
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
