// The start of recorded and repeated runs, and the list of events.

#include "launcher/mpiexec/recorded_job.h"

#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/environment.h"
#include "base/settings.h"
#include "check/findings/spool.h"
#include "launcher/mpiexec/checked_job.h"
#include "launcher/mpiexec/inherited_files.h"
#include "launcher/mpiexec/kept_inputs.h"
#include "launcher/mpiexec/listed_events.h"
#include "launcher/mpiexec/program.h"
#include "launcher/mpiexec/recorded_page.h"
#include "launcher/mpiexec/recorded_run.h"
#include "launcher/mpiexec/rewound_run.h"
#include "launcher/mpiexec/visited_run.h"
#include "rewind/control.h"

namespace fgmpi::launcher {
namespace {

/// What a run that repeats needs of the library's settings: nothing may depend on other threads,
/// or on the memory that the machine has left.
constexpr std::pair<const char*, const char*> kSettingsOfRun[] = {
    {"FGMPI_WATCH", "off"}, {"FGMPI_FILE_ENGINE", "direct"}, {"FGMPI_PACK_STACKS", "off"}};

/// A run with threads cannot be recorded. Where the user does not say how many OpenMP may start, a
/// parallel region has one, the one that reaches it, also where it asks for more.
void limit_threads() {
  constexpr const char* kOmpLimit = "OMP_THREAD_LIMIT";
  if (environment::raw(environment::kOmpThreads) || environment::raw(kOmpLimit)) return;
  environment::set(environment::kOmpThreads, "1");
  environment::set(kOmpLimit, "1");
}

/// Places the descriptor where the process expects it, to be inherited.
Status place_descriptor(int fd, int wanted) {
  if (dup2(fd, wanted) != wanted)
    return error(MPI_ERR_OTHER, "descriptor %d: %s; allowed is a limit of open files above it",
                 wanted, std::strerror(errno));
  return {};
}

/// Executes the run's program in this process. Returns only with an error.
Status execute(const RecordedRun& run) {
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  stack.rlim_cur = run.stack_limit;
  if (setrlimit(RLIMIT_STACK, &stack) != 0)
    return error(MPI_ERR_OTHER, "the limit of the stack cannot be set: %s", std::strerror(errno));
  if (personality(ADDR_NO_RANDOMIZE) < 0)
    return error(MPI_ERR_OTHER, "the system does not let the run have fixed addresses: %s",
                 std::strerror(errno));
  execve(run.path.c_str(), pointers_to(run.words).data(), pointers_to(run.environment).data());
  return error(MPI_ERR_OTHER, "%s: %s", run.path.c_str(), std::strerror(errno));
}

bool has_checker(const std::string& library_folder) {
  return access((library_folder + "/" + kChecker).c_str(), R_OK) == 0;
}

/// The program, the witness whose execution is recorded, this library's parts, and the libraries
/// that mpiexec itself has loaded, as the program will: the C and C++ libraries.
Status find_files(const std::string& library_folder, RecordedRun* run) {
  Words paths = {run->path, library_folder + "/libmpich.so.12", library_folder + "/" + kTape};
  if (has_checker(library_folder)) paths.push_back(library_folder + "/" + kChecker);
  if (const char* witness = environment::text(environment::kWitness)) paths.emplace_back(witness);
  dl_iterate_phdr(
      [](dl_phdr_info* module, size_t, void* data) {
        if (module->dlpi_name[0] == '/') static_cast<Words*>(data)->push_back(module->dlpi_name);
        return 0;
      },
      &paths);
  for (const std::string& path : paths) {
    BuildFile file;
    FGMPI_TRY(BuildFile::of(path, &file));
    run->files.push_back(file);
  }
  return {};
}

Status find_program(const std::string& name, std::string* path) {
  Status found = find_dynamic_program(name, path);
  if (!found.ok()) return found;
  std::error_code failed;
  *path = std::filesystem::absolute(*path, failed).string();
  return {};
}

/// A process in which the run is repeated.
struct RunAgain {
  pid_t child = 0;
  int control = -1;   ///< the other end of its control socket
  int findings = -1;  ///< the file of the checker's findings; -1: there is none
  bool is_shown = true;
  StandInFiles files;
  const KeptInputs& inputs;

  explicit RunAgain(const KeptInputs& kept) : inputs(kept) {}
  Status start(const RecordedRun& run, const rewind::ControlOrder& order);
  /// Writes the words of the loader, of libraries that were loaded, and of the library before it
  /// repeats: what comes behind them is written by the process itself.
  void show_beginning() const;
  /// Waits for its end, and returns its status.
  int finish();
};

Status RunAgain::start(const RecordedRun& run, const rewind::ControlOrder& order) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return error(MPI_ERR_OTHER, "socketpair: %s", std::strerror(errno));
  FGMPI_TRY(files.make(run.inherited));
  is_shown = order.shows_output != 0;
  child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Status failed = place_descriptor(ends[1], rewind::kControlFd);
    if (failed.ok() && findings >= 0) failed = place_descriptor(findings, rewind::kFindingsFd);
    if (failed.ok()) failed = files.place();
    if (failed.ok()) failed = inputs.place();
    if (failed.ok()) failed = execute(run);
    dprintf(rewind::kStderrFd, "mpiexec: -rewind: %s\n", failed.what().c_str());
    _exit(1);
  }
  close(ends[1]);
  control = ends[0];
  if (child < 0) return error(MPI_ERR_OTHER, "fork: %s", std::strerror(errno));
  send(control, &order, sizeof order, MSG_NOSIGNAL);
  return {};
}

void RunAgain::show_beginning() const {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fd == STDOUT_FILENO && !is_shown) continue;
    const std::vector<char> text = files.written_to(fd);
    (void)!write(fd, text.data(), text.size());
  }
}

int RunAgain::finish() {
  close(control);
  const int status = wait_for_child(child);
  show_beginning();
  return status;
}

/// Repeats the run, with its output.
Status repeat(const RecordedRun& run, const KeptInputs& inputs, int* status) {
  RunAgain again(inputs);
  FGMPI_TRY(again.start(run, {UINT64_MAX, 0, 0, 1, 0}));
  *status = again.finish();
  return {};
}

/// -check: repeats the run with its output, and with the checker, which has been loaded when it was
/// recorded, too.
Status check(const RecordedRun& run, const KeptInputs& inputs, const LaunchPlan& plan,
             CheckedJob* checked, int* status) {
  const bool loaded = std::any_of(run.files.begin(), run.files.end(), [](const BuildFile& file) {
    return file.path.ends_with(kChecker);
  });
  if (!loaded)
    return error(MPI_ERR_ARG,
                 "-check: the run was recorded where %s is not installed; allowed is a recording "
                 "with it",
                 kChecker);
  uint32_t kinds = findings::kAllKinds;
  if (const char* given = environment::text(environment::kCheckKinds))
    findings::parse_kinds(given, &kinds);
  const std::string path = checked->folder() + "/" + findings::kSpoolPrefix + "rewound";
  RunAgain again(inputs);
  again.findings = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (again.findings < 0) return error(MPI_ERR_FILE, "%s: %s", path.c_str(), std::strerror(errno));
  Status started = again.start(run, {UINT64_MAX, 0, 0, 1, kinds});
  close(again.findings);
  if (!started.ok()) return started;
  *status = checked->report(again.finish(), plan.check_reports);
  return {};
}

constexpr rewind::ControlOrder kListsEvents = {UINT64_MAX, 1, 0, 0, 0};

Status list_events(const RecordedRun& run, const KeptInputs& inputs,
                   const LaunchPlan::Rewind& wishes, int* status) {
  RunAgain again(inputs);
  FGMPI_TRY(again.start(run, kListsEvents));
  print_events(again.control, again.child, wishes);
  *status = again.finish();
  return {};
}

/// How the run ended, in words.
std::string end_of(const rewind::RecordingHeader& header) {
  if (!header.ended) return "the process was killed";
  return "it ended with status " + std::to_string(header.status);
}

/// -report: the page is made of the events.
Status report_events(const RecordedRun& run, const KeptInputs& inputs,
                     const rewind::RecordingHeader& header, const std::string& recording,
                     const std::string& page, int* status) {
  RunAgain again(inputs);
  FGMPI_TRY(again.start(run, kListsEvents));
  ReportReader reader(again.control);
  RunEvents events(again.child, &reader);
  rewind::ControlReport report;
  for (int fd; reader.receive(&report, &fd);)
    if (report.kind == rewind::ControlReport::kEvents) events.add_received();
  RecordedPage about{recording, "", end_of(header), header.ranks};
  for (const std::string& word : run.words)
    about.command += (about.command.empty() ? "" : " ") + word;
  Status written = write_recorded_page(about, &events, page);
  *status = again.finish();
  if (!written.ok()) *status = 1;
  return written;
}

/// -goto: visits events.
Status visit_events(const RecordedRun& run, const KeptInputs& inputs,
                    const LaunchPlan::Rewind& wishes, int* status) {
  RunAgain again(inputs);
  constexpr rewind::ControlOrder kLeavesSnapshots = {UINT64_MAX, 1, 1, 0, 0};
  FGMPI_TRY(again.start(run, kLeavesSnapshots));
  RewoundRun rewound(again.child, again.control, settings::size(settings::kRewindMemory));
  rewound.run_through();
  again.show_beginning();
  const std::string witness = std::string(environment::name(environment::kWitness)) + "=";
  for (const std::string& variable : run.environment)
    if (variable.starts_with(witness)) rewound.events().follow_witness();
  *status = visit(&rewound, static_cast<uint64_t>(wishes.event));
  return {};
}

/// Prepares this process, or a child, to become the run once more.
Status prepare_again(RecordedRun* run, const rewind::RecordingHeader& header, int fd) {
  FGMPI_TRY(run->check_files());
  // A run whose inputs were kept opens no file by its name.
  if (chdir(run->folder.c_str()) != 0 && !(header.keeps_inputs && chdir("/") == 0))
    return error(MPI_ERR_OTHER, "%s: %s", run->folder.c_str(), std::strerror(errno));
  const std::string name = std::string(environment::name(environment::kRewind)) + "=";
  for (std::string& variable : run->environment)
    if (variable.starts_with(name)) variable = name + "rewind";
  return place_descriptor(fd, rewind::kRecordingFd);
}

/// Executes gdb, which starts mpiexec -rewind FILE -goto last for itself.
Status execute_debugger(const RecordedRun& run, const LaunchPlan::Rewind& wishes,
                        const std::string& library_folder) {
  FGMPI_TRY(run.check_files());
  std::error_code failed;
  const std::string file = std::filesystem::absolute(wishes.file, failed).string();
  environment::set("FGMPI_MPIEXEC",
                   std::filesystem::read_symlink("/proc/self/exe", failed).c_str());
  Words words = {wishes.debugger[0], "-q", "-ex", "set confirm off"};
  words.insert(words.end(), {"-ex", "source " + library_folder + "/libmpich.so.12-gdb.py", "-ex",
                             "source " + library_folder + "/" + kTape + "-gdb.py", "-ex",
                             "fgmpi rewind '" + file + "'"});
  words.insert(words.end(), wishes.debugger.begin() + 1, wishes.debugger.end());
  words.push_back(run.path);
  execvp(words[0].c_str(), pointers_to(words).data());
  return error(MPI_ERR_OTHER, "%s: %s", words[0].c_str(), std::strerror(errno));
}

}  // namespace

Status record(const LaunchPlan& plan, const std::string& library_folder) {
  if (access((library_folder + "/" + kTape).c_str(), R_OK) != 0)
    return error(MPI_ERR_ARG, "-record: %s/%s is not installed", library_folder.c_str(), kTape);
  RecordedRun run;
  run.words = plan.record.program;
  FGMPI_TRY(find_program(run.words[0], &run.path));
  for (const auto& [name, value] : plan.record.variables)
    environment::set(name.c_str(), value.c_str());
  for (const auto& [name, value] : kSettingsOfRun) environment::set(name, value);
  limit_threads();
  environment::unset(settings::kRecords[settings::kRanks].name);
  environment::set(environment::kRewind, "record");
  // Recorded runs do not use the checker. They load it so that all addresses are the same when the
  // run is repeated with it.
  if (has_checker(library_folder)) environment::put_first(environment::kPreload, kChecker);
  environment::put_first(environment::kPreload, kTape);
  for (char** variable = environ; *variable; ++variable) run.environment.push_back(*variable);
  run.folder = std::filesystem::current_path().string();
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  run.stack_limit = stack.rlim_cur;
  FGMPI_TRY(find_files(library_folder, &run));
  run.inherited = find_inherited_files();
  int fd = -1;
  FGMPI_TRY(run.create(plan.record.file, static_cast<uint32_t>(plan.record.ranks),
                       plan.record.keeps_inputs, &fd));
  FGMPI_TRY(place_descriptor(fd, rewind::kRecordingFd));
  return execute(run);
}

int rewind(const LaunchPlan& plan, const std::string& library_folder, CheckedJob* checked) {
  RecordedRun run;
  rewind::RecordingHeader header{};
  int fd = -1, status = 1;
  Status done = RecordedRun::open(plan.rewind.file, &run, &header, &fd);
  const bool begun = header.open[rewind::kInputs].used() || header.open[rewind::kInputs].serial;
  if (done.ok() && !begun)
    done = error(MPI_ERR_FILE,
                 "%s: nothing was recorded: the program does not start with this library; allowed "
                 "is one that is linked with mpicc, mpicxx or mpifort",
                 plan.rewind.file.c_str());
  if (done.ok() && !plan.rewind.debugger.empty()) {
    done = execute_debugger(run, plan.rewind, library_folder);
    std::fprintf(stderr, "mpiexec: -rewind: %s\n", done.what().c_str());
    return 1;
  }
  std::error_code failed;  // the working folder changes
  const std::string page = std::filesystem::absolute(plan.report.file, failed).string();
  const std::string recording = std::filesystem::absolute(plan.rewind.file, failed).string();
  KeptInputs inputs;
  if (done.ok()) done = prepare_again(&run, header, fd);
  if (done.ok()) done = inputs.make(fd, header);
  if (done.ok() && plan.rewind.lists)
    done = list_events(run, inputs, plan.rewind, &status);
  else if (done.ok() && !plan.report.file.empty())
    done = report_events(run, inputs, header, recording, page, &status);
  else if (done.ok() && plan.rewind.visits)
    done = visit_events(run, inputs, plan.rewind, &status);
  else if (done.ok() && plan.check)
    done = check(run, inputs, plan, checked, &status);
  else if (done.ok())
    done = repeat(run, inputs, &status);
  if (!done.ok()) std::fprintf(stderr, "mpiexec: -rewind: %s\n", done.what().c_str());
  return status;
}

}  // namespace fgmpi::launcher
