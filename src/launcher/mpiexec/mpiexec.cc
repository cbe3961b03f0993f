// mpiexec: turns its command line into one for mpiexec.hydra and executes that program in its
// place. There is no shell and no process of ours in between, so signals and the exit status are
// hydra's. With -check or -report, mpiexec waits for hydra instead (checked_job.h, reported_job.h);
// with -explore and -replay there is no hydra (readers/exploration).

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/processors.h"
#include "base/settings.h"
#include "base/standard_files.h"
#include "explore/witness.h"
#include "launcher/hydra/hydra_guard.h"
#include "launcher/mpiexec/balanced_job.h"
#include "launcher/mpiexec/checked_job.h"
#include "launcher/mpiexec/checkpointed_job.h"
#include "launcher/mpiexec/command_line.h"
#include "launcher/mpiexec/hydra_run.h"
#include "launcher/mpiexec/paths.h"
#include "launcher/mpiexec/predicted_job.h"
#include "launcher/mpiexec/program.h"
#include "launcher/mpiexec/recorded_job.h"
#include "launcher/mpiexec/reported_job.h"
#include "readers/exploration/explorer.h"
#include "readers/findings/report.h"

namespace {

namespace environment = fgmpi::environment;
namespace settings = fgmpi::settings;
using fgmpi::launcher::LaunchPlan;
using fgmpi::launcher::Setting;
using fgmpi::launcher::Words;

/// The text of -help. help() replaces KINDS by the kinds of findings.
constexpr const char* kHelp =
    R"(Usage: mpiexec [options] program [arguments] [: [options] program [arguments] ...]

Starts P processes that host C ranks each: P x C ranks in all.

  -n P, -np P       number of processes
  -nfg C            number of ranks in each process (default 1, or FGMPI_NFG)
  -ranks N          number of ranks in all, over P processes (default: one a core) as evenly as possible
  -dry-run          prints what would be started, and starts nothing
  -track FOLDER     records communicators and calls in FOLDER: fgmpi-track-dump FOLDER (docs/tracking.md)
  -ft               a process that fails does not end the job (docs/fault-tolerance.md); also -disable-auto-cleanup
  -check            reports what the program does wrong, with the lines: docs/checking.md; the exit status is then 86
  -check=KIND,...   only these: KINDS
  -check-report F   writes the report to F, too: its name ends in .json, .sarif or .html
  -report F.html    writes a page about the run: time, messages, communicators, memory (docs/reporting.md)
  -summary          prints the first part of it at the end
  -balance          ranks move to processes of their host that have less to do (docs/moving.md); -summary, -report: say so
  -progress         shows on the terminal how far the job is
  -explore          tries all orders that make a difference, with all ranks in one process: docs/exploring.md
  -explore=60s      for so long; -explore=10000: so many executions
  -explore-files F  files that executions leave are compared, too: a name with * and ?; each execution has its own
  -resume FILE      goes on with an exploration that its bound or Ctrl-C has cut
  -fuzz N           N executions in orders that are drawn, rare ones more often; findings and witnesses as of -explore
  -replay FILE      repeats an execution that -explore has left a witness of; "-replay FILE gdb --args program" in gdb
  -record FILE      records the run, with all ranks in one process: docs/rewinding.md; with -replay: a witness's execution
  -record FILE -record-inputs  the files that it only reads are kept in FILE, too: they may change or go
  -rewind FILE      repeats a recorded run; with -goto EVENT: goes there
  -rewind FILE -check  reports what the recorded program did wrong
  -rewind FILE -report F.html  writes a page with the run's timeline, where a click shows how to go to a call
  -rewind FILE -events [RANK]  prints its MPI calls; only some: -call NAME, -partner RANK, -comm NAME or NUMBER
  -rewind FILE gdb  visits the run's MPI calls in gdb: fgmpi goto, back, forward, events, sender, last-write, who-else
  -predict M        the program's times on another machine: a file or a name, see fgmpi-info -predict (docs/predicting.md)
  -ranks N,N,...    with -predict: a run for each number, and a table
  -predict-compute=C     what computing takes there: measured, typical, a factor, none, or FILE.times
  -predict-contention=C  where messages wait for each other: ends (the ports of nodes), or links (of the file's network)
  -predict-explain       prints the critical path through ranks and messages, with the program's lines
  -predict M -report F.html  writes the page of -report with the times of that machine
  -predict-plot F.svg    draws the time over the numbers of ranks
  -checkpoint DIR   saves all ranks in DIR at MPIX_Checkpoint, and when mpiexec gets SIGUSR2 (docs/checkpoints.md)
  -checkpoint-every 10m  and so often (500ms, 30s, 2h)
  -restart DIR      goes on from the latest checkpoint, in as many processes as -n says
  -restart-on-failure    does so by itself when a process was killed
  -resize N PID     lets the job of the mpiexec PID, started with -checkpoint, go on in N processes
  -leave HOST PID   lets it go on without this host
  -initial-errhandler H  the error handler of MPI_COMM_WORLD and MPI_COMM_SELF at first: mpi_errors_return, ...
  -configfile F     takes programs and their options from F, one program a line
  -help, -version   this text; the version

More than 4 processes a core become ranks of one process a core, where neither -nfg, -ranks, FGMPI_NFG nor a list of
hosts says otherwise and the program can; a line says so. -nfg 1 starts processes.

An option may be written -nfg 5, --nfg 5, -nfg=5 or --nfg=5.
Each program behind a ':' may have a -n and -nfg (or -ranks) of its own. All other options are those of
mpiexec.hydra, which starts the processes: 'mpiexec.hydra -help' lists them (-f hosts.txt, -ppn 1, -genv NAME VALUE,
-bind-to core, ...). -memory-alloc-kinds, and Open MPI's --oversubscribe and --allow-run-as-root, are understood and change nothing;
-x NAME=VALUE sets a variable.

Variables: FGMPI_HYDRA names another mpiexec.hydra.
)";

[[noreturn]] void refuse(const std::string& line, int exit_status = 1) {
  std::fprintf(stderr, "mpiexec: %s\n", line.c_str());
  std::exit(exit_status);
}

void end_unless_ok(const fgmpi::Status& status) {
  if (!status.ok()) refuse(status.what(), fgmpi::launcher::exit_status(status));
}

bool ranks_have_heaps() {
  const char* heap = environment::text(settings::kRecords[settings::kHeap].name);
  return (heap && std::strcmp(heap, "rank") == 0) ||
         environment::text(settings::kRecords[settings::kRankMemory].name);
}

/// Sets the variables that all processes inherit.
void set_environment(const LaunchPlan& plan, const std::string& library_folder) {
  if (plan.counted) {
    environment::unset(settings::kRecords[settings::kNfg].name);
    environment::unset(settings::kRecords[settings::kRanks].name);
  }
  if (plan.survives) environment::set(environment::kFt, "1");
  environment::unset(environment::kShares);
  if (ranks_have_heaps() && !plan.shares.empty())
    environment::set(environment::kShares, plan.shares.c_str());
  // Only hydra loads the guard: it removes itself from the variable before processes inherit it.
  if (!plan.explore.wanted && plan.replay.empty() && plan.record.file.empty() &&
      plan.rewind.file.empty() &&
      access((library_folder + "/" + fgmpi::launcher::kHydraGuard).c_str(), R_OK) == 0)
    environment::put_first(environment::kPreload, fgmpi::launcher::kHydraGuard);
}

/// FGMPI_HEAP=rank: preloads the library from which ranks get their memory. Programs are examined
/// behind this. Whether the values are good is seen later, as that of all settings.
fgmpi::Status set_up_heaps(const std::string& library_folder) {
  constexpr const char* kHeap = "libfgmpi-heap.so";
  if (!ranks_have_heaps()) return {};
  if (access((library_folder + "/" + kHeap).c_str(), R_OK) != 0)
    return fgmpi::error(MPI_ERR_ARG, "FGMPI_HEAP=rank: %s/%s is not installed",
                        library_folder.c_str(), kHeap);
  environment::put_first(environment::kPreload, kHeap);
  return {};
}

constexpr const char* kTracker = "libfgmpi-track.so";

/// -track: passes the folder to all processes in a variable, and preloads the tracker in front of
/// the MPI library.
fgmpi::Status set_up_tracking(const std::string& folder, const std::string& library_folder) {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::absolute(folder, failed);
  std::filesystem::create_directories(path, failed);
  if (failed)
    return fgmpi::error(MPI_ERR_ARG, "-track %s: cannot be made: %s", folder.c_str(),
                        failed.message().c_str());
  for (const auto& entry : std::filesystem::directory_iterator(path, failed))
    if (entry.path().extension() == ".trk")
      return fgmpi::error(MPI_ERR_ARG,
                          "-track %s: holds a trace already; allowed is a folder without one",
                          folder.c_str());
  if (failed || access(path.c_str(), W_OK) != 0)
    return fgmpi::error(MPI_ERR_ARG, "-track %s: is no folder that may be written", folder.c_str());
  if (access((library_folder + "/" + kTracker).c_str(), R_OK) != 0)
    return fgmpi::error(MPI_ERR_ARG, "-track %s: %s/%s is not installed", folder.c_str(),
                        library_folder.c_str(), kTracker);
  environment::set(environment::kTrackFolder, path.c_str());
  // The name is given without its folder, whose path may hold spaces: LD_LIBRARY_PATH leads to it.
  environment::put_first(environment::kPreload, kTracker);
  return {};
}

/// kHelp with the kinds of findings, in lines that end before column 110.
std::string help() {
  constexpr size_t kMostColumns = 110;
  const std::string indent(20, ' ');
  std::string text = kHelp;
  const size_t at = text.find("KINDS");
  size_t column = at - (text.rfind('\n', at) + 1);
  std::string kinds;
  for (const auto& kind : fgmpi::findings::kKinds) {
    const std::string word = kind.name;
    if (!kinds.empty()) {
      const bool fits = column + 3 + word.size() < kMostColumns;
      kinds += fits ? ", " : ",\n" + indent;
      column = fits ? column + 2 : indent.size();
    }
    kinds += word;
    column += word.size();
  }
  return text.replace(at, std::strlen("KINDS"), kinds);
}

/// All kinds of findings except races and sends that need buffering: exploration shows to what, if
/// anything, those lead.
std::string kinds_of_explored() {
  using fgmpi::findings::FindingKind;
  std::string kinds;
  for (size_t i = 0; i < static_cast<size_t>(FindingKind::kCount); ++i)
    if (const auto kind = static_cast<FindingKind>(i);
        kind != FindingKind::kRaces && kind != FindingKind::kBuffering)
      kinds += (kinds.empty() ? "" : ",") + std::string(fgmpi::findings::kKinds[i].name);
  return kinds;
}

/// -explore: runs the program again and again, without hydra. Returns the exit status.
int explore(const LaunchPlan& plan, const std::string& folder) {
  fgmpi::explore::ExploredProgram program;
  program.words = plan.explore.program;
  program.variables = plan.explore.variables;
  program.files = plan.explore.files;
  program.ranks = static_cast<uint32_t>(plan.explore.ranks);
  for (const std::string& pattern : program.files)
    if (const fgmpi::Status good = fgmpi::explore::check_pattern(pattern); !good.ok()) {
      std::fprintf(stderr, "mpiexec: %s\n", good.what().c_str());
      return 1;
    }
  if (!plan.explore.resumed.empty()) {
    program = {};
    const fgmpi::Status read = fgmpi::explore::read_saved(plan.explore.resumed, &program);
    if (!read.ok()) {
      std::fprintf(stderr, "mpiexec: %s\n", read.what().c_str());
      return 1;
    }
  }
  fgmpi::explore::ExplorationBounds bounds;
  bounds.resumed = plan.explore.resumed;
  bounds.executions = static_cast<uint64_t>(plan.explore.executions);
  bounds.seconds = plan.explore.seconds;
  bounds.fuzz = static_cast<uint64_t>(plan.explore.seeds);
  bounds.jobs = static_cast<uint32_t>(fgmpi::usable_processors());
  environment::set(environment::kExploreFolder, folder.c_str());
  int status = 1;
  const fgmpi::Status explored = fgmpi::explore::explore(program, bounds, folder, &status);
  if (!explored.ok()) std::fprintf(stderr, "mpiexec: %s\n", explored.what().c_str());
  return status;
}

/// Reads the witness of -replay, for the process that this one becomes or starts. *words: its
/// program, or the command that runs it.
fgmpi::Status prepare_replay(const LaunchPlan& plan, Words* words, int64_t* ranks) {
  fgmpi::explore::Witness witness;
  FGMPI_TRY(fgmpi::explore::Witness::read(plan.replay, &witness));
  *words = plan.replay_command.empty() ? witness.words : plan.replay_command;
  *ranks = witness.ranks;
  if (words->empty())
    return fgmpi::error(MPI_ERR_ARG, "%s: the witness names no program, and no command is given",
                        plan.replay.c_str());
  std::error_code failed;
  environment::set(environment::kWitness, std::filesystem::absolute(plan.replay, failed).c_str());
  environment::set(settings::kRecords[settings::kNfg].name, std::to_string(witness.ranks).c_str());
  environment::unset(settings::kRecords[settings::kRanks].name);
  return {};
}

/// -replay: runs the witness's program, or a command that runs it, as in the execution of the
/// witness.
int replay(const LaunchPlan& plan, fgmpi::launcher::CheckedJob* checked) {
  Words words;
  int64_t ranks = 0;
  if (const fgmpi::Status read = prepare_replay(plan, &words, &ranks); !read.ok()) {
    std::fprintf(stderr, "mpiexec: %s\n", read.what().c_str());
    return 1;
  }
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return checked->run(words[0], arguments.data(), plan.check_reports);
}

std::string quoted(const std::string& word) {
  const bool plain =
      !word.empty() &&
      word.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%") == word.npos;
  if (plain) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The command line as the user gave it, for the report.
std::string command_of(const Words& arguments) {
  std::string command = "mpiexec";
  for (const std::string& word : arguments) command += " " + quoted(word);
  return command;
}

/// NAME=VALUE of all settings of this library that are not the defaults: those in the environment,
/// then those in hydra's options.
Words settings_given(const LaunchPlan& plan) {
  Words given;
  for (int i = 0; i < settings::kCount; ++i) {
    const auto id = static_cast<settings::SettingId>(i);
    if (settings::is_set(id))
      given.push_back(std::string(settings::kRecords[i].name) + "=" + settings::text(id));
  }
  for (size_t i = 0; i + 2 < plan.hydra.size(); ++i)
    if ((plan.hydra[i] == "-genv" || plan.hydra[i] == "-env") &&
        plan.hydra[i + 1].starts_with("FGMPI_"))
      given.push_back(plan.hydra[i + 1] + "=" + plan.hydra[i + 2]);
  return given;
}

/// -dry-run: the programs, then a command that starts them as mpiexec would.
void print_plan(const LaunchPlan& plan, const std::string& hydra) {
  for (const std::string& line : plan.programs) std::printf("%s\n", line.c_str());
  std::string command = "env";
  for (environment::Variable variable : {environment::kLibraryPath, environment::kPreload})
    if (const char* value = environment::text(variable))
      command += std::string(" ") + quoted(std::string(environment::name(variable)) + "=" + value);
  command += " " + quoted(hydra);
  for (const std::string& word : plan.hydra) command += " " + quoted(word);
  std::printf("%s\n", command.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  fgmpi::open_standard_files();
  fgmpi::launcher::CheckpointedJob checkpointed;
  Setting setting;
  setting.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  end_unless_ok(fgmpi::launcher::find_prefix(&setting.library_folder));
  setting.library_folder += "/lib";
  // Programs are examined with the library path with which they will run.
  environment::put_first(environment::kLibraryPath, setting.library_folder);
  end_unless_ok(set_up_heaps(setting.library_folder));
  const Words arguments_given(argv + 1, argv + argc);
  setting.names_hosts = fgmpi::launcher::environment_names_hosts();
  LaunchPlan plan;
  setting.inspect = [&](const Words& program, int64_t ranks_each, bool by_nfg, Words* options) {
    return fgmpi::launcher::inspect_program(program, *options, ranks_each, by_nfg, plan.names_hosts,
                                            setting.library_folder, options);
  };
  const bool counted_outside = environment::text(settings::kRecords[settings::kNfg].name) ||
                               environment::text(settings::kRecords[settings::kRanks].name);
  if (!counted_outside) setting.can_share = fgmpi::launcher::can_share_process;
  setting.tracker = kTracker;
  setting.track = [&](const std::string& folder) {
    return set_up_tracking(folder, setting.library_folder);
  };
  setting.checker = fgmpi::launcher::kChecker;
  setting.checked =
      environment::text(settings::kRecords[settings::kCheck].name) != nullptr &&
      std::strcmp(environment::text(settings::kRecords[settings::kCheck].name), "off") != 0;
  fgmpi::launcher::CheckedJob checked;
  setting.reporter = fgmpi::launcher::kReporter;
  // A job that a rank of a reported job starts has no report of its own: it would replace the file
  // of the outer job.
  const bool inside = environment::text(environment::kReportFolder) != nullptr;
  if (const char* file = environment::text(settings::kRecords[settings::kReport].name);
      file && !inside)
    setting.report_file = file;
  fgmpi::launcher::ReportedJob reported;
  fgmpi::launcher::PredictedJob predicted;
  setting.meter = fgmpi::launcher::kMeter;
  setting.predict = [&](const LaunchPlan::Predict& wishes) {
    return predicted.set_up(wishes, setting.library_folder);
  };
  setting.checkpointer = fgmpi::launcher::kCheckpointer;
  setting.checkpoint = [&](const LaunchPlan::Checkpoint& wishes,
                           fgmpi::launcher::RestartedProgram* program) {
    if (!wishes.restart.empty()) FGMPI_TRY(checkpointed.read(wishes, program));
    FGMPI_TRY(checkpointed.set_up(wishes, setting.library_folder));
    return set_up_heaps(setting.library_folder);
  };
  setting.balance = [&](bool summary) {
    FGMPI_TRY(fgmpi::launcher::set_up_balance(summary, setting.library_folder));
    return set_up_heaps(setting.library_folder);
  };
  setting.report = [&](const fgmpi::launcher::ReportWishes& wishes) {
    return reported.set_up(wishes, setting.library_folder, plan.names_hosts);
  };
  setting.check = [&](const std::string& kinds) {
    const bool explored = plan.explore.wanted || !plan.replay.empty();
    return checked.set_up(kinds.empty() && explored ? kinds_of_explored() : kinds,
                          setting.library_folder, plan.names_hosts);
  };
  if (const fgmpi::Status made = make_plan(arguments_given, setting, &plan); !made.ok()) {
    std::fprintf(stderr, "mpiexec: %s\n", made.what().c_str());
    // Not exit(): the destructors remove the folder for findings.
    return fgmpi::launcher::exit_status(made);
  }
  if (plan.action == LaunchPlan::kHelp) {
    std::fputs(help().c_str(), stdout);
    return 0;
  }
  if (plan.action == LaunchPlan::kVersion) {
    std::printf("mpiexec (Finegrain MPI) %s\n", FGMPI_VERSION);
    return 0;
  }
  if (plan.action == LaunchPlan::kResize || plan.action == LaunchPlan::kLeave) {
    end_unless_ok(
        fgmpi::launcher::ask_to_change({plan.checkpoint.processes, plan.checkpoint.leaves},
                                       static_cast<pid_t>(plan.checkpoint.pid)));
    return 0;
  }
  for (const std::string& report : plan.check_reports)
    end_unless_ok(fgmpi::findings::FindingReport::check_name(report));
  // A bad setting, which all processes would inherit, is reported once, here.
  end_unless_ok(settings::load());
  std::string hydra;
  end_unless_ok(fgmpi::launcher::find_hydra(&hydra));
  set_environment(plan, setting.library_folder);
  if (!plan.note.empty()) std::fprintf(stderr, "mpiexec: %s\n", plan.note.c_str());
  if (!plan.record.file.empty()) {
    fgmpi::Status failed;
    if (!plan.replay.empty())
      failed = prepare_replay(plan, &plan.record.program, &plan.record.ranks);
    if (failed.ok()) failed = fgmpi::launcher::record(plan, setting.library_folder);
    std::fprintf(stderr, "mpiexec: %s\n", failed.what().c_str());
    return fgmpi::launcher::exit_status(failed);
  }
  if (!plan.rewind.file.empty())
    return fgmpi::launcher::rewind(plan, setting.library_folder, &checked);
  if (!plan.replay.empty()) return replay(plan, &checked);
  if (plan.explore.wanted) return explore(plan, checked.folder());
  if (plan.dry_run) {
    print_plan(plan, hydra);
    return 0;
  }
  std::vector<char*> arguments = {hydra.data()};
  for (auto& word : plan.hydra) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Hydra passes this signal on to the job's processes. Until hydra has installed its handler, the
  // signal would end it.
  if (signal(SIGUSR1, SIG_IGN) == SIG_ERR) refuse("signal");
  if (!plan.predict.ranks.empty()) return predicted.run_each(arguments_given, plan.predict.ranks);
  const auto report = [&] {
    return reported.run(hydra, arguments.data(), command_of(arguments_given), settings_given(plan));
  };
  if (!plan.predict.machine.empty() && plan.report.any()) {
    reported.predict_on(predicted.for_page());
    return predicted.run(report);
  }
  if (!plan.predict.machine.empty())
    return predicted.run([&] { return fgmpi::launcher::run_hydra(hydra, arguments.data()); });
  if (checkpointed.wanted()) return checkpointed.run(plan.checkpoint, hydra, arguments.data());
  if (plan.check) return checked.run(hydra, arguments.data(), plan.check_reports);
  if (plan.report.any()) return report();
  execv(hydra.c_str(), arguments.data());
  refuse(hydra + ": " + std::strerror(errno));
}
