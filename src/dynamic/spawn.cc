// The start of mpiexec for a spawned job, and the wait for its processes.

#include "dynamic/spawn.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/environment.h"
#include "base/installation.h"
#include "base/strings.h"
#include "dynamic/connect.h"
#include "dynamic/links.h"
#include "dynamic/ports.h"

extern char** environ;

namespace fgmpi::dynamic {
namespace {

/// mpiexec while it runs. The process watches for its end and reaps it, so that it leaves
/// no zombie.
class Launcher final : public SocketStream {
 public:
  explicit Launcher(pid_t process) : pid(process) {
    const auto fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (fd >= 0) adopt(fd, true);
  }
  const pid_t pid;
  AcceptLimit limit;  ///< of the proclet that waits for its job

 private:
  void on_ready(uint32_t) override {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == 0) return;
    limit.over = true;
    wake_acceptors();
    for (size_t i = 0; i < running().size(); ++i) {
      if (running()[i].get() != this) continue;
      std::shared_ptr<Launcher> self = std::move(running()[i]);
      running().erase(running().begin() + static_cast<std::ptrdiff_t>(i));
      close();
      // The launcher is destroyed later, as this runs in the middle of a poll.
      finished().push_back(std::move(self));
      return;
    }
  }
  size_t on_bytes(const uint8_t*, size_t count) override { return count; }
  void on_end(const std::string&) override {}

 public:
  static std::vector<std::shared_ptr<Launcher>>& running() {
    static auto* all = new std::vector<std::shared_ptr<Launcher>>;
    return *all;
  }
  static std::vector<std::shared_ptr<Launcher>>& finished() {
    static auto* all = new std::vector<std::shared_ptr<Launcher>>;
    return *all;
  }
};

/// True for variables that the launcher has set for this process, which the new job must
/// not inherit.
bool is_own_variable(const char* text) {
  for (const char* own :
       {"PMI_", "PMIX_", "HYDI_", "OMPI_COMM_WORLD_",
        "PALS_RANKID=", "MPI_LOCALNRANKS=", "MPI_LOCALRANKID=", "FGMPI_NFG=", "FGMPI_RANKS=",
        "FGMPI_APPNUM=", "FGMPI_PARENT=", "FGMPI_HYDRA_INPUT=", "FGMPI_INITIAL_ERRHANDLER="})
    if (std::strncmp(text, own, std::strlen(own)) == 0) return true;
  return false;
}

std::vector<std::string> arguments_of(const std::vector<LauncherSection>& sections,
                                      const std::string& home, const std::string& starters) {
  std::vector<std::string> words{home + "/bin/mpiexec"};
  const LauncherSection& first = sections[0];
  if (!first.hosts.empty()) words.insert(words.end(), {"-hosts", first.hosts});
  if (!first.hostfile.empty()) words.insert(words.end(), {"-f", first.hostfile});
  if (!first.bind_to.empty()) words.insert(words.end(), {"-bind-to", first.bind_to});
  for (size_t k = 0; k < sections.size(); ++k) {
    const LauncherSection& s = sections[k];
    if (k > 0) words.push_back(":");
    if (!s.wdir.empty()) words.insert(words.end(), {"-wdir", s.wdir});
    for (const auto& [name, value] : s.environment)
      words.insert(words.end(), {"-env", name, value});
    if (!s.errhandler.empty())
      words.insert(words.end(),
                   {"-env", environment::name(environment::kInitialErrhandler), s.errhandler});
    words.insert(words.end(),
                 {"-n", std::to_string(s.processes), "-ranks", std::to_string(s.ranks),
                  home + "/lib/fgmpi/fgmpi-start", starters, std::to_string(k), s.path, s.program});
    words.insert(words.end(), s.arguments.begin(), s.arguments.end());
  }
  return words;
}

Status start_launcher(const std::vector<std::string>& words, const std::string& parent,
                      std::shared_ptr<Launcher>* out) {
  std::vector<char*> arguments, variables;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::string port = std::string(environment::name(environment::kParent)) + "=" + parent;
  for (char** at = environ; at && *at; ++at)
    if (!is_own_variable(*at)) variables.push_back(*at);
  variables.push_back(const_cast<char*>(port.c_str()));
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  pid_t pid = -1;
  const int code =
      posix_spawn(&pid, words[0].c_str(), &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (code)
    return error(MPI_ERR_SPAWN, "%s cannot be started: %s", words[0].c_str(), std::strerror(code));
  *out = std::make_shared<Launcher>(pid);
  Launcher::running().push_back(*out);
  return {};
}

/// Two ports that are closed in any case.
struct Ports {
  std::string starters, children;
  Status open() {
    FGMPI_TRY(open_port(&starters));
    return open_port(&children);
  }
  ~Ports() {
    for (const std::string* name : {&starters, &children})
      if (!name->empty()) Status ignored = close_port(*name);
  }
};

/// Waits until all starters have sent the index of their command, and reported whether exec
/// has worked.
Status receive_starters(const std::vector<LauncherSection>& sections, const std::string& port,
                        const char* call, AcceptLimit* limit, std::vector<int>* errnos) {
  limit->accepts_closed = true;
  int64_t left = 0;
  for (const LauncherSection& s : sections) left += s.processes;
  std::vector<std::pair<uint32_t, std::unique_ptr<Conversation>>> starters;
  for (; left > 0; --left) {
    std::unique_ptr<Conversation> one;
    FGMPI_TRY(accept(port, call, &one, limit));
    std::vector<uint8_t> message;
    FGMPI_TRY(one->receive_message(&message, limit->deadline, call));
    uint32_t index;
    if (message.size() != sizeof index)
      return error(MPI_ERR_SPAWN, "a starter says what cannot be read");
    std::memcpy(&index, message.data(), sizeof index);
    if (index >= sections.size()) return error(MPI_ERR_SPAWN, "a starter says what cannot be read");
    starters.emplace_back(index, std::move(one));
  }
  for (auto& [index, one] : starters) {
    std::vector<uint8_t> message;
    const Status received = one->receive_message(&message, limit->deadline, call);
    if (!received.ok()) continue;  // the starter has closed: exec has worked
    int code = ENOENT;
    if (message.size() == sizeof code) std::memcpy(&code, message.data(), sizeof code);
    (*errnos)[index] = code ? code : ENOENT;
  }
  return {};
}

Status start_and_wait(const std::vector<LauncherSection>& sections, const char* call,
                      std::unique_ptr<Conversation>* children, std::vector<int>* errnos,
                      pid_t* out) {
  int64_t seconds = 0;
  FGMPI_TRY(connect_timeout(&seconds));
  Launcher::finished().clear();
  const std::string home = installation_prefix();
  Ports ports;
  FGMPI_TRY(ports.open());
  std::shared_ptr<Launcher> launcher;
  FGMPI_TRY(
      start_launcher(arguments_of(sections, home, ports.starters), ports.children, &launcher));
  launcher->limit.deadline = add_time(now_ns(), seconds * kSecond);
  launcher->limit.error_class = MPI_ERR_SPAWN;
  launcher->limit.words = "the new job has ended before its ranks called MPI_Init";
  Status status = receive_starters(sections, ports.starters, call, &launcher->limit, errnos);
  for (size_t k = 0; k < sections.size() && status.ok(); ++k)
    if ((*errnos)[k])
      status = error(MPI_ERR_SPAWN, "command is \"%s\", which cannot be executed: %s",
                     escaped(sections[k].program).c_str(), std::strerror((*errnos)[k]));
  launcher->limit.accepts_closed = false;
  if (status.ok()) status = accept(ports.children, call, children, &launcher->limit);
  if (status.ok())
    *out = launcher->pid;
  else
    end_spawned(launcher->pid);
  return status;
}

}  // namespace

std::vector<int> codes_of(const std::vector<Command>& commands,
                          const std::vector<LauncherSection>& sections,
                          const std::vector<int>& failed, bool ok) {
  // A command that could be started is not to blame; but no rank of a job that failed goes on.
  const bool blamed = std::any_of(failed.begin(), failed.end(), [](int code) { return code != 0; });
  std::vector<int> codes;
  for (size_t k = 0; k < commands.size(); ++k) {
    const int code = ok ? MPI_SUCCESS : blamed ? failed[k] : MPI_ERR_SPAWN;
    const int64_t asked = std::max<int64_t>(commands[k].ranks, 0);
    // Where `soft` allowed fewer ranks than asked for, the rest was not started.
    const int64_t started = ok ? std::min(asked, sections[k].ranks) : asked;
    codes.insert(codes.end(), static_cast<size_t>(started), code);
    codes.insert(codes.end(), static_cast<size_t>(asked - started), MPI_ERR_SPAWN);
  }
  return codes;
}

/// Ends a spawned job: its launcher ends the processes.
void end_spawned(pid_t launcher) {
  for (const auto& one : Launcher::running())
    if (one->pid == launcher) kill(launcher, SIGTERM);
}

Status spawn(const std::vector<Command>& commands, const char* call,
             std::unique_ptr<Conversation>* children, std::vector<int>* codes, pid_t* launcher) {
  std::vector<LauncherSection> sections(commands.size());
  std::vector<int> errnos(commands.size()), failed(commands.size());
  Status status;
  for (size_t k = 0; k < commands.size(); ++k) {
    Status one = plan(commands[k], &sections[k]);
    failed[k] = one.ok() ? 0 : one.error_class();
    if (status.ok()) status = std::move(one);
  }
  if (status.ok()) status = start_and_wait(sections, call, children, &errnos, launcher);
  for (size_t k = 0; k < commands.size(); ++k)
    if (errnos[k]) failed[k] = MPI_ERR_SPAWN;
  *codes = codes_of(commands, sections, failed, status.ok());
  return status;
}

}  // namespace fgmpi::dynamic
