// The command line of mpiexec, parsed and written anew for mpiexec.hydra.
//
//   mpiexec [-n P] [-nfg C | -ranks N] [-track FOLDER | -check | -report FILE | -explore] [-ft]
//     [-dry-run] [-configfile FILE] [options of hydra] program [arguments] [: ...]
//
// The options that `mpiexec -help` describes, -prepend-rank and Open MPI's spellings are handled
// here; all other options go to hydra unchanged. To find where a program begins, the parser must
// know how many words each of hydra's options has: command_line.cc has the table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::launcher {

using Words = std::vector<std::string>;

/// What is made of the counters of the processes (src/profile).
struct ReportWishes {
  std::string file;  ///< the file of -report; "": none
  bool summary = false;
  bool progress = false;
  bool any() const { return !file.empty() || summary || progress; }
};

/// What mpiexec does with a command line.
struct LaunchPlan {
  enum Action { kRun, kHelp, kVersion, kResize, kLeave } action = kRun;
  Words hydra;  ///< arguments for mpiexec.hydra, without its name
  /// True where -nfg or -ranks is given: variables of that name in the environment do not count.
  bool counted = false;
  /// How many processes host how many ranks, such as "2x3,1x5"; "": that is not known.
  std::string shares;
  bool dry_run = false;  ///< -dry-run: only print what mpiexec would start
  std::string note;      ///< one line for the user about a choice that mpiexec has made; "": none
  std::vector<std::string> programs;  ///< a line for each program: processes, ranks, the program
  /// -check, or Setting::checked: mpiexec reads the findings when the job has ended.
  bool check = false;
  Words check_reports;       ///< the files of -check-report
  ReportWishes report;       ///< -report, -summary, -progress, or Setting::report_file
  bool balance = false;      ///< -balance: ranks move where there is less to do
  bool survives = false;     ///< -ft: the job goes on when a process fails
  bool names_hosts = false;  ///< processes may run on other hosts, whose files mpiexec cannot read
  /// -explore: the program, which the explorer starts in place of hydra.
  struct Explore {
    bool wanted = false;
    int64_t executions = 0, seconds = 0;  ///< bounds; 0: none
    std::string resumed;                  ///< -resume: the file, which names the program
    int64_t seeds = 0;                    ///< -fuzz
    int64_t ranks = 0;                    ///< ranks of the program, all in one process
    Words program;
    Words files;  ///< -explore-files
    /// Environment of the program only.
    std::vector<std::pair<std::string, std::string>> variables;
  } explore;
  /// -predict: the times of another machine.
  struct Predict {
    std::string machine;         ///< a preset or a file; "": not wanted
    std::string compute;         ///< -predict-compute; "": measured
    std::string contention;      ///< -predict-contention; "": at the ends
    bool explains = false;       ///< -predict-explain
    std::string plot;            ///< -predict-plot: the file; "": none
    std::vector<int64_t> ranks;  ///< several numbers behind -ranks: a run for each
    int64_t most_ranks = 0;      ///< of all runs
  } predict;
  /// -record: the program, which mpiexec executes in its place.
  struct Record {
    std::string file;           ///< "": not wanted
    bool keeps_inputs = false;  ///< -record-inputs
    int64_t ranks = 0;
    Words program;
    std::vector<std::pair<std::string, std::string>> variables;
  } record;
  /// -rewind: a recorded run is repeated.
  struct Rewind {
    std::string file;      ///< "": not wanted
    bool lists = false;    ///< -events
    int64_t rank = -1;     ///< -events RANK; -1: of all ranks
    std::string call;      ///< -call; "": all
    int64_t partner = -1;  ///< -partner; -1: all
    std::string comm;      ///< -comm: a name, or a number; "": all
    bool visits = false;   ///< -goto
    int64_t event = 0;     ///< -goto EVENT; 0: the last one
    Words debugger;        ///< gdb and its options; empty: none
  } rewind;
  /// -checkpoint and -restart: ranks are saved, or go on from where they were.
  struct Checkpoint {
    std::string folder;       ///< "": that of `restart`, if there is one
    std::string restart;      ///< the folder of the checkpoint; "": the program begins
    int64_t every_ms = 0;     ///< -checkpoint-every; 0: only when the program asks
    bool on_failure = false;  ///< -restart-on-failure
    int64_t processes = 0;    ///< of the job; -resize: the wanted ones
    int64_t ranks = 0;        ///< of the job
    int64_t pid = 0;          ///< -resize, -leave: of the other mpiexec
    std::string leaves;       ///< -leave: the host
    Words options;            ///< of the command line, up to the program
    bool any() const { return !folder.empty() || !restart.empty(); }
  } checkpoint;
  std::string replay;    ///< -replay: the witness
  Words replay_command;  ///< runs in place of the witness's program; may be empty
};

/// The program of a checkpoint.
struct RestartedProgram {
  std::string path;
  Words words;
  int64_t ranks = 0, processes = 0;
};

/// -predict-compute=FILE.times: what computing takes is in a file.
constexpr const char* kTimesEnding = ".times";

/// Up to so many processes a core are started as the user asks. More become ranks of fewer
/// processes.
constexpr int64_t kProcessesPerCore = 4;

/// Properties of the machine and the installation that the parser needs.
struct Setting {
  int cores = 1;
  std::string library_folder;  ///< put first in any LD_LIBRARY_PATH that the command line sets
  bool names_hosts = false;    ///< the environment names hosts: see environment_names_hosts()
  /// Examines each program and adds to hydra's options for it: see inspect_program(). May be empty.
  std::function<Status(const Words& program, int64_t ranks_each, bool by_nfg, Words* options)>
      inspect = {};
  /// Called once for -track FOLDER, before programs are examined: sets the environment of programs.
  /// May be empty.
  std::function<Status(const std::string& folder)> track = {};
  /// True if several ranks may share a process of the program: see can_share_process(). Called
  /// where neither -nfg nor -ranks gives a number, and there are more than kProcessesPerCore
  /// processes a core. Empty: never.
  std::function<bool(const Words& program, const Words& options)> can_share = {};
  /// The library that -track puts first in any LD_PRELOAD of the command line.
  std::string tracker = {};
  bool checked = false;  ///< FGMPI_CHECK is set: as if -check were given
  /// Called once for -check, with its kinds ("" for all), before programs are examined. May be
  /// empty.
  std::function<Status(const std::string& kinds)> check = {};
  std::string report_file = {};  ///< value of FGMPI_REPORT: as if -report were given with it
  /// Called once for -report, -summary and -progress, before programs are examined. May be empty.
  std::function<Status(const ReportWishes&)> report = {};
  /// The library that -report, -summary and -progress put first in any LD_PRELOAD.
  std::string reporter = {};
  /// Called once for -predict, before programs are examined. May be empty.
  std::function<Status(const LaunchPlan::Predict&)> predict = {};
  /// The library that -predict puts first in any LD_PRELOAD.
  std::string meter = {};
  /// Called once for -checkpoint and -restart, before programs are examined; for -restart, it also
  /// finds the program. May be empty.
  std::function<Status(const LaunchPlan::Checkpoint&, RestartedProgram*)> checkpoint = {};
  /// Called once for -balance, before programs are examined, with whether -summary stands beside
  /// it. May be empty.
  std::function<Status(bool)> balance = {};
  /// The library that -checkpoint, -restart and -balance put first in any LD_PRELOAD.
  std::string checkpointer = {};
  std::string checker = {};  ///< the library that -check puts first in any LD_PRELOAD
};

/// Parses a command line. An error is one line that names the option, its value and what is
/// allowed. The callbacks see `plan` as the options have set it.
Status make_plan(const Words& arguments, const Setting& setting, LaunchPlan* plan);

}  // namespace fgmpi::launcher
