// The command line of mpiexec, taken apart and put together again for mpiexec.hydra.
//
//   mpiexec [-n P] [-nfg C | -ranks N] [-track FOLDER | -check | -report FILE | -explore] [-ft] [-dry-run]
//     [-configfile FILE] [options of hydra] program [arguments] [: ...]
//
// The options that `mpiexec -help` describes, -prepend-rank and Open MPI's spellings are handled
// here; all other options go to hydra unchanged. To find where a program begins, the parser must
// know how many words each of hydra's options takes: command_line.cc has the table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::launcher {

using Words = std::vector<std::string>;

/// What is to be made of the counters of the processes (src/profile).
struct ReportWishes {
  std::string file;  ///< of -report; "": none
  bool summary = false;
  bool progress = false;
  bool any() const { return !file.empty() || summary || progress; }
};

/// What to do with a command line.
struct Plan {
  enum Action { kRun, kHelp, kVersion } action = kRun;
  Words hydra;  ///< arguments for mpiexec.hydra, without its name
  /// -nfg or -ranks was given: variables of that name in the environment do not count.
  bool counted = false;
  bool dry_run = false;  ///< -dry-run: only print what would be started
  std::string note;      ///< one line for the user about what was decided for him; empty: nothing
  std::vector<std::string> programs;  ///< a line for each program: processes, ranks, the program
  bool check = false;     ///< -check, or Setting::checked: findings are read when the job has ended
  Words check_reports;    ///< the files of -check-report
  ReportWishes report;    ///< -report, -summary, -progress, or Setting::report_file
  bool survives = false;  ///< -ft: the job goes on when a process fails
  bool names_hosts = false;  ///< processes may run on other hosts, whose files cannot be looked at
  /// -explore: the program, which is then not hydra's to start.
  struct Explore {
    bool wanted = false;
    int64_t executions = 0, seconds = 0;  ///< bounds; 0: none
    std::string resumed;                  ///< -resume: the file, which says the program
    int64_t seeds = 0;                    ///< -fuzz
    int64_t ranks = 0;                    ///< all in one process
    Words program;
    Words files;                                                 ///< -explore-files
    std::vector<std::pair<std::string, std::string>> variables;  ///< set for it only
  } explore;
  std::string replay;    ///< -replay: the witness
  Words replay_command;  ///< what is run instead of the witness's program; may be empty
};

/// So many processes a core are started as they were asked for. More than that become ranks of
/// fewer processes.
constexpr int64_t kProcessesPerCore = 4;

/// Properties of the machine and the installation that the parser needs.
struct Setting {
  int cores = 1;
  std::string library_folder;  ///< comes first in any LD_LIBRARY_PATH that the command line sets
  bool names_hosts = false;    ///< the environment does: see environment_names_hosts()
  /// Looks at each program, adding to hydra's options for it: see inspect_program(). May be empty.
  std::function<Status(const Words& program, int64_t ranks_each, bool by_nfg, Words* options)>
      inspect = {};
  /// Called once for -track FOLDER, before programs are looked at: sets what they inherit. May be
  /// empty.
  std::function<Status(const std::string& folder)> track = {};
  /// True if several ranks may share a process of the program: see can_share_process(). Asked where
  /// neither -nfg nor -ranks says how many, and there are more than kProcessesPerCore processes a
  /// core. Empty: never.
  std::function<bool(const Words& program, const Words& options)> can_share = {};
  /// The library that -track puts first in any LD_PRELOAD of the command line.
  std::string tracker = {};
  bool checked = false;  ///< FGMPI_CHECK says so: as if -check were given
  /// Called once for -check, with its kinds ("" for all), before programs are looked at. May be
  /// empty.
  std::function<Status(const std::string& kinds)> check = {};
  std::string report_file = {};  ///< FGMPI_REPORT: as if -report were given with it
  /// Called once for -report and its like, before programs are looked at. May be empty.
  std::function<Status(const ReportWishes&)> report = {};
  std::string reporter = {};  ///< the library that these put first in any LD_PRELOAD
  std::string checker = {};   ///< the library that -check puts first in any LD_PRELOAD
};

/// An error is one line that names the option, its value and what is allowed. The callbacks see
/// `plan` with what the options have said.
Status make_plan(const Words& arguments, const Setting& setting, Plan* plan);

}  // namespace fgmpi::launcher
