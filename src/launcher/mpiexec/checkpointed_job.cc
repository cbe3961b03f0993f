// The set-up, the start and the run of a job whose ranks are saved.
#include "launcher/mpiexec/checkpointed_job.h"

#include <mpi.h>
#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/count_words.h"
#include "base/environment.h"
#include "base/settings.h"
#include "checkpoint/file/folder.h"
#include "checkpoint/file/reader.h"
#include "launcher/hydra/hydra_guard.h"
#include "launcher/mpiexec/hydra_run.h"
#include "launcher/mpiexec/program.h"

namespace fgmpi::launcher {
namespace {

namespace fs = std::filesystem;

/// How often mpiexec looks for files that have become complete, in ms.
constexpr int kLookInterval = 20;

/// From one checkpoint, a job is started again so often.
constexpr int kMostTries = 3;

/// The signals that count as the failure of a process. Those that people send are not among these.
constexpr int kFailures[] = {SIGKILL, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

bool has_file(const std::string& folder, const std::string& name) {
  return access((folder + "/" + name).c_str(), F_OK) == 0;
}

/// The signal that has killed a process of the job; 0: none has. Hydra's status does not tell:
/// programs may end with the same number.
int signal_of_killed(const std::string& folder) {
  const std::string prefix = has_file(folder, kGuarded) ? kKilledPrefix : kReportedPrefix;
  for (const int number : kFailures)
    if (has_file(folder, prefix + std::to_string(number))) return number;
  return 0;
}

/// Removes what an earlier job has left of these files.
void remove_records(const std::string& folder) {
  std::error_code failed;
  for (const int number : kFailures)
    for (const char* prefix : {kKilledPrefix, kReportedPrefix})
      fs::remove(folder + "/" + prefix + std::to_string(number), failed);
  for (const char* name : {kGuarded, kGoesBack, kLostHosts, checkpoint::kWanted, checkpoint::kLeft,
                           checkpoint::kStays})
    fs::remove(folder + "/" + name, failed);
}

/// The options of a command line that a restart needs, too: not those that the checkpoint knows.
Words options_to_keep(const Words& options) {
  constexpr std::string_view kKnown[] = {"n", "np", "c", "nfg", "ranks", "checkpoint", "restart"};
  Words kept;
  for (size_t i = 0; i < options.size(); ++i) {
    std::string_view name = options[i];
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    const size_t equals = name.find('=');
    const bool known =
        options[i].starts_with('-') &&
        std::find(std::begin(kKnown), std::end(kKnown), name.substr(0, equals)) != std::end(kKnown);
    if (!known) kept.push_back(options[i]);
    if (known && equals == name.npos) ++i;  // the value
  }
  return kept;
}

/// Reads the job's words (checkpoint/save.h) at the start of a file.
Status read_words(const std::string& file, std::string* words) {
  checkpoint::CheckpointReader reader;
  FGMPI_TRY(reader.open(file));
  checkpoint::CheckpointBlock block;
  for (;;) {
    FGMPI_TRY(reader.next(&block));
    if (block.kind != checkpoint::BlockKind::kJob) break;
    words->append(block.bytes.data(), block.bytes.size());
  }
  return {};
}

/// Takes what words say of a program.
Status take_program(const std::string& words, RestartedProgram* program) {
  for (size_t at = 0, end; (end = words.find('\0', at)) != words.npos; at = end + 1) {
    const std::string word = words.substr(at + 1, end - at - 1);
    const size_t equals = word.find('=');
    if (words[at] == 'c' && chdir(word.c_str()) != 0)
      return error(MPI_ERR_IO, "%s: %s", word.c_str(), std::strerror(errno));
    if (words[at] == 'a') program->words.push_back(word);
    if (words[at] == 'x' && program->words.empty()) program->path = word;
    if (words[at] == 'e' && equals != word.npos)
      environment::set(word.substr(0, equals).c_str(), word.c_str() + equals + 1);
    if (words[at] == 's')
      environment::set(settings::kRecords[settings::kStackSize].name, word.c_str());
  }
  if (program->words.empty() || program->path.empty())
    return error(MPI_ERR_IO, "the checkpoint names no program");
  return {};
}

}  // namespace

Status set_up_checkpointer(const char* option, const std::string& library_folder) {
  if (access((library_folder + "/" + kCheckpointer).c_str(), R_OK) != 0)
    return error(MPI_ERR_ARG, "%s: %s/%s is not installed", option, library_folder.c_str(),
                 kCheckpointer);
  // A process with other addresses would execute itself once more.
  if (const int now = personality(0xffffffff); now >= 0)
    personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE);
  environment::set(settings::kRecords[settings::kHeap].name, "rank");
  environment::set(settings::kRecords[settings::kPackStacks].name, "off");
  // The variables of a program are in its rank's slot as those of an image of it.
  if (const char* name = settings::kRecords[settings::kPrivatize].name; !environment::text(name))
    environment::set(name, "on");
  environment::put_first(environment::kPreload, kCheckpointer);
  return {};
}

CheckpointedJob::CheckpointedJob() {
  for (char** variable = environ; *variable; ++variable) environment_.emplace_back(*variable);
}

Status CheckpointedJob::set_up(const LaunchPlan::Checkpoint& wishes,
                               const std::string& library_folder) {
  const std::string& named = wishes.folder.empty() ? wishes.restart : wishes.folder;
  const char* option = wishes.folder.empty() ? "-restart" : "-checkpoint";
  FGMPI_TRY(set_up_checkpointer(option, library_folder));
  std::error_code failed;
  const fs::path path = fs::absolute(named, failed);
  fs::create_directories(path, failed);
  if (failed || access(path.c_str(), W_OK) != 0)
    return error(MPI_ERR_ARG, "%s %s: is no folder that may be written", option, named.c_str());
  folder_ = path;
  environment::set(environment::kCheckpointFolder, folder_.c_str());
  return {};
}

Status CheckpointedJob::read(const LaunchPlan::Checkpoint& wishes, RestartedProgram* program) {
  uint64_t number = 0;
  std::vector<std::string> files;
  std::error_code failed;
  const std::string folder = fs::absolute(wishes.restart, failed);
  // An mpiexec that was killed may have left complete ones without a name.
  for (const uint64_t written : checkpoint::written_checkpoints(folder))
    if (!checkpoint::complete_checkpoint(folder, written).ok()) break;
  FGMPI_TRY(checkpoint::find_checkpoint(folder, &number));
  FGMPI_TRY(checkpoint::list_checkpoint(folder, number, &files));
  checkpoint::CheckpointReader reader;
  FGMPI_TRY(reader.open(files.front()));
  program->ranks = reader.header().world_ranks;
  program->processes = reader.header().processes;
  std::string words;
  FGMPI_TRY(read_words(files.front(), &words));
  FGMPI_TRY(take_program(words, program));
  environment::set(environment::kRestart, (folder + "/" + std::to_string(number)).c_str());
  return {};
}

void CheckpointedJob::name_complete_checkpoints() const {
  for (const uint64_t number : checkpoint::written_checkpoints(folder_)) {
    const Status done = checkpoint::complete_checkpoint(folder_, number);
    if (!done.ok()) std::fprintf(stderr, "mpiexec: -checkpoint: %s\n", done.what().c_str());
  }
}

void CheckpointedJob::ask_if_due(const LaunchPlan::Checkpoint& wishes) {
  const int64_t now = now_ns();
  const bool signalled = signals_kept() != asked_by_signal_;
  const bool due = wishes.every_ms && now - asked_at_ >= wishes.every_ms * 1'000'000;
  if (signalled || due) ask(signalled ? "save" : checkpoint::kWantedByTime);
  std::error_code failed;
  if (next_.processes != 0 && fs::remove(folder_ + "/" + checkpoint::kStays, failed))
    refuse_request("the job cannot be saved now; its standard error says why");
  if (next_.processes == 0) take_request(wishes);
}

void CheckpointedJob::take_request(const LaunchPlan::Checkpoint& wishes) {
  const ResizeRequest request = resizes_.take();
  if (!request.any()) return;
  next_ = {request.processes, wishes.options};
  if (!request.leaves.empty()) {
    const Status left = leave_host(wishes, request.leaves);
    if (!left.ok()) return refuse_request(left.what());
  } else if (request.processes > wishes.ranks) {
    return refuse_request("the job has " +
                          count_words(static_cast<uint64_t>(wishes.ranks), "rank") +
                          "; allowed are as many processes, or fewer");
  }
  ask(checkpoint::kWantedLeaving);
}

Status CheckpointedJob::leave_host(const LaunchPlan::Checkpoint& wishes, const std::string& host) {
  JobHosts hosts;
  FGMPI_TRY(JobHosts::find(wishes.options, &hosts));
  const std::string allowed = hosts.names();
  if (hosts.empty()) return error(MPI_ERR_ARG, "the job was started without names of hosts");
  if (hosts.leave_out({{-1, host}}).empty())
    return error(MPI_ERR_ARG, "%s: the job has no such host; allowed are %s", host.c_str(),
                 allowed.c_str());
  if (hosts.empty()) return error(MPI_ERR_ARG, "%s: no host would be left", host.c_str());
  next_.processes = hosts.processes_left(wishes.processes);
  return hosts.rewrite(folder_, &next_.options);
}

void CheckpointedJob::refuse_request(const std::string& reason) {
  resizes_.answer(reason);
  next_ = {};
}

void CheckpointedJob::ask(const char* wish) {
  asked_by_signal_ = signals_kept();
  asked_at_ = now_ns();
  const std::string file = folder_ + "/" + checkpoint::kWanted, next = file + ".tmp";
  std::ofstream(next) << wish << ' ' << ++asked_ << '\n';
  std::error_code failed;
  fs::rename(next, file, failed);
  if (failed)
    std::fprintf(stderr, "mpiexec: -checkpoint: %s: %s\n", file.c_str(), failed.message().c_str());
}

Status CheckpointedJob::leave_hosts_out(const std::vector<LostHost>& lost, Words* options,
                                        int64_t* processes, std::string* cause,
                                        std::string* places) const {
  JobHosts hosts;
  FGMPI_TRY(JobHosts::find(*options, &hosts));
  const Words names = hosts.leave_out(lost);
  *cause = names.size() > 1 ? "hosts " : "host ";
  for (const std::string& name : names) *cause += (&name != names.data() ? ", " : "") + name;
  *cause += names.size() > 1 ? " were lost" : " was lost";
  if (names.empty()) *cause = "a proxy of the launcher has ended";
  if (hosts.empty()) return error(MPI_ERR_OTHER, "%s: no host is left", cause->c_str());
  if (names.empty()) return {};
  *processes = hosts.processes_left(*processes);
  *places = ": " + hosts.describe(*processes);
  return hosts.rewrite(folder_, options);
}

void CheckpointedJob::go_back(const LaunchPlan::Checkpoint& wishes, int killed_by,
                              const std::vector<LostHost>& lost) const {
  uint64_t number = 0, before = 0;
  int tries = 0;
  if (const char* text = environment::text(environment::kRestarts))
    std::sscanf(text, "%" SCNu64 ":%d", &before, &tries);
  Words options = wishes.options;
  int64_t left = lost.empty() ? std::max<int64_t>(wishes.processes - 1, 1) : wishes.processes;
  std::string cause, places;
  Status found = checkpoint::find_checkpoint(folder_, &number);
  if (found.ok() && lost.empty())
    cause = "a process was killed by signal " + std::to_string(killed_by) + " (" +
            strsignal(killed_by) + ")";
  else if (found.ok())
    found = leave_hosts_out(lost, &options, &left, &cause, &places);
  if (!found.ok()) {
    std::fprintf(stderr, "mpiexec: -restart-on-failure: %s\n", found.what().c_str());
    return;
  }
  // The loss of a host is no failure of the program, which would fail again.
  const bool left_out = options != wishes.options;
  if (number != before) tries = 0;
  tries += !left_out;
  if (tries > kMostTries) {
    std::fprintf(stderr,
                 "mpiexec: -restart-on-failure: the job has failed %d times from checkpoint "
                 "%" PRIu64 "\n",
                 kMostTries, number);
    return;
  }
  std::fprintf(stderr, "mpiexec: %s: the job goes on from checkpoint %" PRIu64 " with %s%s\n",
               cause.c_str(), number, count_words(static_cast<uint64_t>(left), "process").c_str(),
               places.c_str());
  start_again(options, left, std::to_string(number) + ":" + std::to_string(tries));
}

void CheckpointedJob::start_again(const Words& options, int64_t processes,
                                  const std::string& restarts) const {
  Words words = {"mpiexec"};
  const Words kept = options_to_keep(options);
  words.insert(words.end(), kept.begin(), kept.end());
  words.insert(words.end(), {"-restart", folder_, "-n", std::to_string(processes)});
  Words variables = environment_;
  const std::string name = std::string(environment::name(environment::kRestarts)) + "=";
  std::erase_if(variables, [&](const std::string& word) { return word.starts_with(name); });
  if (!restarts.empty()) variables.push_back(name + restarts);
  execve("/proc/self/exe", pointers_to(words).data(), pointers_to(variables).data());
  std::fprintf(stderr, "mpiexec: -restart: %s\n", std::strerror(errno));
}

bool CheckpointedJob::has_left() const {
  std::error_code failed;
  return next_.processes != 0 && fs::exists(folder_ + "/" + checkpoint::kLeft, failed);
}

int CheckpointedJob::run(const LaunchPlan::Checkpoint& wishes, const std::string& hydra,
                         char* const* arguments) {
  remove_records(folder_);
  if (wishes.on_failure) std::ofstream(folder_ + "/" + kGoesBack);
  resizes_.listen();
  keep_signal(SIGUSR2);
  asked_at_ = now_ns();
  const int status = run_hydra(hydra, arguments, kLookInterval, [&] {
    ask_if_due(wishes);
    name_complete_checkpoints();
  });
  name_complete_checkpoints();
  if (has_left()) {
    resizes_.answer("");
    start_again(next_.options, next_.processes, "");
  }
  const int killed_by = signal_of_killed(folder_);
  const std::vector<LostHost> lost = read_lost_hosts(folder_ + "/" + kLostHosts);
  if (wishes.on_failure && status != 0 && (killed_by != 0 || !lost.empty()) &&
      signal_sent_to_job() == 0)
    go_back(wishes, killed_by, lost);
  return status;
}

}  // namespace fgmpi::launcher
