// Loaded into mpiexec.hydra (LD_PRELOAD, set by our mpiexec) to make it survive and report what it does not by
// itself.
//
// 1. Standard input that comes, or ends (< /dev/null), at the moment when the program ends. Hydra passes it on to a
//    proxy that may be gone by then, and dies of SIGPIPE, or ends with "callback returned error status" from its demux
//    engine: a job that went well is reported as failed, about once in some hundred launches of short programs. Here a
//    write to a connection that has ended counts as done; how the job ended is in what hydra reads next.
// 2. A host that can no longer be reached. Its processes notice that (src/liveness/lifeline.h), but hydra would
//    wait for the lost host's answer for as long as TCP does: a quarter of an hour. With keep-alive on the
//    connections that it accepts, its own handling of a lost connection ends the job.
// 3. A process that was killed: the line that names its ranks (src/liveness/report_line.h) is passed on once and alone.
// 4. SIGINT or SIGTERM to mpiexec: about one time in ten hydra ends with status 0. Here such an end has the signal's
//    number for a status, as the other nine.
// 5. Standard input of more than a pipe holds: hydra passes it on faster than the program reads it, then gives up
//    ("process reading stdin too slowly"). A first process on this host gets mpiexec's own standard input instead, by
//    way of the proxy that starts it, and hydra sees an empty one. Of the others, those that this proxy starts find
//    the end of their input, instead of a pipe that never ends. Not a terminal's, which is for the processes in its
//    foreground.
//
// Thread rule: as the functions that are interposed. The programs that hydra starts never see this library: it takes
// itself out of the environment before hydra looks at it. A hydra that is linked statically runs without it.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "launcher/hydra_guard.h"
#include "liveness/report_line.h"

namespace {

namespace environment = fgmpi::environment;

/// Later than the processes (FGMPI_PEER_TIMEOUT), who know which ranks are lost.
constexpr int kIdleSeconds = 10, kBetweenSeconds = 1, kProbes = 6, kUnansweredMs = 16'000;

/// In mpiexec.hydra; not in a proxy, nor in a program that got here by a launcher which ignored us.
bool g_active = false;

// ---- Standard input for the first process --------------------------------------------------------------------------

constexpr int kLeastInput = 100;  // out of the way of what hydra opens
constexpr const char* kProxy = "hydra_pmi_proxy";

int g_input = -1;          ///< a duplicate of it, in mpiexec.hydra and the proxy; closed by exec
bool* g_handed = nullptr;  ///< shared by mpiexec.hydra with what it forks: a proxy has got it

bool has_pair(char* const* argv, std::string_view name, std::string_view value) {
  for (; argv[0] && argv[1]; ++argv)
    if (argv[0] == name && argv[1] == value) return true;
  return false;
}

/// In mpiexec.hydra, before it looks at its input.
void keep_input() {
  if (isatty(STDIN_FILENO)) return;
  void* shared =
      mmap(nullptr, sizeof *g_handed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  g_handed = static_cast<bool*>(shared);
  g_input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kLeastInput);
}

/// In a proxy that has got it.
void take_input(const char* descriptor) {
  g_input = std::atoi(descriptor);
  environment::unset(environment::kHydraInput);
  fcntl(g_input, F_SETFD, FD_CLOEXEC);
}

/// In what mpiexec.hydra has forked, which becomes the proxy of the first process's host.
void hand_to_proxy() {
  environment::set(environment::kHydraInput, std::to_string(g_input).c_str());
  environment::put_first(environment::kPreload, fgmpi::launcher::kHydraGuard);
  fcntl(g_input, F_SETFD, 0);
  *g_handed = true;
}

/// In what the proxy has forked, which becomes a process of the job.
void hand_to_process() {
  const char* rank = environment::text(environment::kPmiRank);
  if (!rank) return;
  const bool first = !std::strcmp(rank, "0");
  const int input = first ? g_input : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input >= 0) dup2(input, STDIN_FILENO);
}

void before_exec(const char* file, char* const* argv) {
  const char* slash = std::strrchr(file, '/');
  const std::string_view name = slash ? slash + 1 : file;
  if (!g_handed) {
    hand_to_process();
  } else if (name == kProxy && has_pair(argv, "--pgid", "0") && has_pair(argv, "--proxy-id", "0")) {
    hand_to_proxy();
  }
}

void keep_alive(int socket) {
  auto set = [&](int level, int option, int value) {
    return setsockopt(socket, level, option, &value, sizeof value);
  };
  if (set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds)) return;  // not TCP
  set(IPPROTO_TCP, TCP_KEEPINTVL, kBetweenSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMs);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t done = syscall(SYS_write, fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return true;
}

/// Passes on what the processes write, each report once (report_line.h). After a lost process hydra's own report is left
/// out: it takes any of the processes that it has ended for the one that began.
ssize_t write_output(int fd, const void* bytes, size_t count) {
  static fgmpi::liveness::ReportFilter filter;
  std::string_view rest(static_cast<const char*>(bytes), count);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    rest.remove_prefix(line.size());
    const bool before = filter.loss_reported();
    if (!filter.passes(line)) continue;
    if (!write_all(fd, line)) return -1;
    if (filter.loss_reported() && !before)
      if (FILE* nowhere = std::fopen("/dev/null", "we")) stdout = nowhere;
  }
  return static_cast<ssize_t>(count);
}

/// The signal that ended the job, and what hydra does about it.
volatile sig_atomic_t g_signal = 0;
void (*g_handler)(int) = nullptr;

void on_signal(int number) {
  g_signal = number;
  g_handler(number);
}

/// A job that was ended by a signal to mpiexec has not gone well, whatever its processes left for a status.
void check_status(int status, void*) {
  if (status != 0 || !g_signal) return;
  std::fflush(nullptr);
  _exit(g_signal);
}

__attribute__((constructor)) void leave_environment() {
  const char* input = environment::text(environment::kHydraInput);
  if (input && !std::strcmp(program_invocation_short_name, kProxy)) {
    take_input(input);
  } else {
    g_active = std::strstr(program_invocation_short_name, "hydra") ||
               std::strstr(program_invocation_short_name, "mpiexec");
  }
  if (g_active) {
    on_exit(check_status, nullptr);
    keep_input();
  }
  const char* present = environment::text(environment::kPreload);
  if (!present) return;
  std::string rest = present;
  size_t at = rest.find(fgmpi::launcher::kHydraGuard);
  if (at == rest.npos) return;
  rest.erase(at, std::strlen(fgmpi::launcher::kHydraGuard) + 1);  // and the colon behind it
  if (rest.empty())
    environment::unset(environment::kPreload);
  else
    environment::set(environment::kPreload, rest.c_str());
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int execvp(const char* file, char* const* argv) {
  static auto* real =
      reinterpret_cast<int (*)(const char*, char* const*)>(dlsym(RTLD_NEXT, "execvp"));
  if (g_input >= 0) before_exec(file, argv);
  return real(file, argv);
}

__attribute__((visibility("default"))) ssize_t read(int fd, void* bytes, size_t count) {
  if (g_handed && *g_handed && fd == STDIN_FILENO && count > 0) {
    *g_handed = false;  // hydra closes it: the number may be another's later
    return 0;
  }
  return syscall(SYS_read, fd, bytes, count);
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void* bytes, size_t count) {
  if (g_active && fd == STDERR_FILENO) return write_output(fd, bytes, count);
  if (!g_active || (fd >= 0 && fd <= STDERR_FILENO)) return syscall(SYS_write, fd, bytes, count);
  if (fd < 0)
    return static_cast<ssize_t>(count);  // hydra's mark of a connection that it has closed
  ssize_t done = send(fd, bytes, count, MSG_NOSIGNAL);
  if (done >= 0) return done;
  if (errno == ENOTSOCK) return syscall(SYS_write, fd, bytes, count);
  return errno == EPIPE || errno == ECONNRESET ? static_cast<ssize_t>(count) : -1;
}

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* act,
                                                     struct sigaction* old) {
  static auto* real = reinterpret_cast<int (*)(int, const struct sigaction*, struct sigaction*)>(
      dlsym(RTLD_NEXT, "sigaction"));
  struct sigaction ours;
  const bool ends = number == SIGINT || number == SIGTERM || number == SIGQUIT || number == SIGHUP;
  if (g_active && ends && act && !(act->sa_flags & SA_SIGINFO) && act->sa_handler != SIG_DFL &&
      act->sa_handler != SIG_IGN) {
    ours = *act;
    g_handler = act->sa_handler;
    ours.sa_handler = on_signal;
    act = &ours;
  }
  return real(number, act, old);
}

__attribute__((visibility("default"))) int accept(int fd, sockaddr* address, socklen_t* length) {
  int connection = accept4(fd, address, length, 0);
  if (g_active && connection >= 0) keep_alive(connection);
  return connection;
}
}
