// A library that mpiexec loads into mpiexec.hydra (LD_PRELOAD). It interposes a few functions of
// the C library to mend twelve faults of hydra:
//
// 1. Standard input that arrives, or ends (< /dev/null), at the moment when the program ends.
//    Hydra passes it on to a proxy that may have ended already, and then dies of SIGPIPE or ends
//    with "callback returned error status" from its demux engine. So a successful job is
//    reported as failed, about once in a few hundred launches of short programs. Here a write to
//    a closed connection is reported to hydra as done; hydra learns from its next reads how the
//    job has ended.
// 2. A host that can no longer be reached. Its processes notice that (src/liveness/lifeline.h), but
//    hydra would wait for the lost host's answer as long as TCP does: a quarter of an hour. Here
//    the connections that hydra accepts have keep-alive, so that hydra's own handling of a lost
//    connection ends the job. Where ranks are saved, lost hosts are recorded (hydra_hosts.h), so
//    that mpiexec can leave them out when the job goes on.
// 3. A process that was killed. Here the line that names its ranks (src/liveness/report_line.h) is
//    passed on once, and hydra's own report is suppressed.
// 4. SIGINT or SIGTERM to mpiexec: about one time in ten hydra ends with status 0. Here the status
//    is then the signal's number, as the other nine times. Where mpiexec runs hydra as its child
//    (hydra_run.h), Ctrl-C arrives twice: from the terminal, and passed on by mpiexec. Hydra would
//    answer the second one with status 255; here hydra gets the signal once.
// 5. Standard input of more bytes than a pipe holds. Hydra passes it on faster than the program
//    reads it, then gives up ("process reading stdin too slowly"). Here a first process on this
//    host gets mpiexec's own standard input, through the proxy that starts it, and hydra reads an
//    empty one. The other processes that this proxy starts get an empty input, instead of a pipe
//    that never ends. A terminal's input is not passed on in this way: only processes in its
//    foreground may read from a terminal.
// 6. A process that ends by a signal, with mpiexec -ft (-disable-auto-cleanup): its proxy ends the
//    other processes of its host all the same. Here:
//    - The proxy reads exit status 128 + the signal's number for such a process, as shells report
//      it. After an exit status it ends no process, but sends SIGUSR1 to all.
//    - Proxies load this library, too; on other hosts, a command in front of theirs (env) loads it.
//    - A host that can no longer be reached does not end the job, as it does under 2: hydra sees no
//      event on its connection. When all other proxies have ended, mpiexec ends. It does end a job
//      that goes back to its checkpoint then (-restart-on-failure).
//    - A proxy goes on where a process that it answers has ended meanwhile.
//    - A process that ends before it has used the launcher's interface (PMI) leads to SIGUSR1 for
//      the others, too.
//    - SIGUSR1 goes only to processes that have a handler for it. It does not go to process 1,
//      whose number a proxy uses by mistake for a process that has ended.
// 7. A connection to hydra's port by anything but a proxy, which ends or stops the job
//    (hydra_newcomers.h).
// 8. Hydra's port stays open in the programs that hydra starts, also after hydra itself has been
//    killed. Here the port is closed in these programs.
// 9. The exit status of a job in which one process ended badly. Hydra's is the bitwise or of the
//    statuses of all processes. These include processes that a proxy has ended because of the first
//    one, if they ended before the proxy asked for the last time (6 or 15 for one that aborted).
//    Here proxies on this host read the status 0 for such processes (hydra_ends.h).
// 10. The status of a process whose end the proxy learns before it reads the end of that process's
//     connection. The proxy forgets that status, and the status of the job is 1; a proxy of hydra
//     5.0 even ends no other process. Here the proxy learns the status later, and mpiexec.hydra
//     receives the true one.
// 11. SIGUSR1 to mpiexec. Hydra passes it on to all processes, also to those that would die
//     of it or whose system calls it would end early. Here only processes that expect it get
//     it (hydra_notices.h).
// 12. Lines of output that are longer than hydra reads at once, or than a pipe accepts at once, are
//     mixed with lines of other processes. Here lines stay whole (hydra_output.h). Proxies on other
//     hosts, where a shell starts them, load this library for that purpose as under 6.
//
// Thread rule: that of each interposed function. Programs that hydra starts do not load this
// library: it removes itself from the environment before hydra reads that. A hydra that is linked
// statically runs without this library.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "launcher/hydra/hydra_commands.h"
#include "launcher/hydra/hydra_ends.h"
#include "launcher/hydra/hydra_guard.h"
#include "launcher/hydra/hydra_hosts.h"
#include "launcher/hydra/hydra_newcomers.h"
#include "launcher/hydra/hydra_notices.h"
#include "launcher/hydra/hydra_output.h"
#include "launcher/hydra/hydra_statuses.h"
#include "liveness/report_line.h"
#include "profile/format.h"

namespace {

namespace environment = fgmpi::environment;
using fgmpi::launcher::goes_through_shell;
using fgmpi::launcher::has_pair;
using fgmpi::launcher::is_proxy;

/// Keep-alive reports a connection as lost 16 s after the last answer. The processes report the
/// loss earlier (FGMPI_PEER_TIMEOUT), so that their line, which names the lost ranks, is
/// printed first.
constexpr int kIdleSeconds = 10, kBetweenSeconds = 1, kProbes = 6, kUnansweredMs = 16'000;

/// A connection to a proxy that mpiexec.hydra has accepted. `lost`: the proxy's host cannot be
/// reached any more.
struct Connection {
  int fd;
  bool lost;
};

/// The state of the guard in this process. The objects behind its pointers are made when they are
/// needed and never destroyed: interposed functions may be called before constructors and after
/// destructors have run.
struct HydraGuard {
  /// True in mpiexec.hydra itself; false in a proxy, and in a program that inherited the library.
  bool active = false;
  bool proxy = false;     ///< in a proxy
  bool survives = false;  ///< with mpiexec -ft, in mpiexec.hydra and in its proxies
  /// Does mpiexec.hydra go on when a host is lost?
  bool survives_hosts = false;

  /// A duplicate of standard input, in mpiexec.hydra and the proxy; -1: none. Closed by exec.
  int input = -1;
  /// True once a proxy has received the input. Lies in memory that mpiexec.hydra shares with
  /// its children.
  bool* passed_to_proxy = nullptr;
  std::vector<Connection>* connections = nullptr;
  /// In mpiexec.hydra, where ranks are saved; else nullptr.
  fgmpi::launcher::ProxyHosts* hosts = nullptr;

  /// The last signal that reached hydra's handler; 0: none.
  volatile sig_atomic_t signal = 0;
  void (*handler)(int) = nullptr;  ///< hydra's handler of signals that end the job
  /// How many signals the parent process has passed on, and how many came from elsewhere.
  volatile sig_atomic_t passed_on = 0, direct = 0;

  /// In a proxy: until when notices are sent, and when the next ones are due (ns).
  int64_t notify_until = 0, next_notices = 0;
  /// The processes that have received the signal for the last bad end.
  std::set<int>* notified_processes = nullptr;
  /// In a proxy that waitpid() has told a status; else nullptr.
  fgmpi::launcher::ProxyStatuses* statuses = nullptr;
};
constinit HydraGuard g_guard;

// ---- Standard input for the first process -------------------------------------------------------

constexpr int kLeastInput = 100;  ///< hydra does not use descriptors from this number on

/// Duplicates standard input. Runs in mpiexec.hydra, before hydra reads its input.
void duplicate_input() {
  if (isatty(STDIN_FILENO)) return;
  void* shared = mmap(nullptr, sizeof *g_guard.passed_to_proxy, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  g_guard.passed_to_proxy = static_cast<bool*>(shared);
  g_guard.input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kLeastInput);
}

// ---- Hosts that are lost by a job that goes on --------------------------------------------------

constexpr int kStatusOfLostHost = 1;

bool is_unreachable(int failure) {
  return failure == ETIMEDOUT || failure == EHOSTUNREACH || failure == ENETUNREACH ||
         failure == EHOSTDOWN || failure == ECONNABORTED;
}

Connection* find_connection(int fd) {
  if (!g_guard.connections) return nullptr;
  for (Connection& c : *g_guard.connections)
    if (c.fd == fd) return &c;
  return nullptr;
}

/// Records a new connection. Its descriptor may have belonged to an earlier connection that
/// is closed.
void record_connection(int fd) {
  if (!g_guard.connections) g_guard.connections = new std::vector<Connection>;
  if (Connection* before = find_connection(fd))
    before->lost = false;
  else
    g_guard.connections->push_back({fd, false});
}

fgmpi::launcher::OutputJoin& output_join();

/// Hides lost connections from hydra's poll(). Ends mpiexec.hydra where hydra waits for no other
/// connection: then all other proxies have ended.
void hide_lost(pollfd* fds, nfds_t count) {
  bool lost = false, alive = false;
  for (nfds_t i = 0; i < count; ++i) {
    const Connection* c = find_connection(fds[i].fd);
    if (!c) continue;
    (c->lost ? lost : alive) = true;
    if (c->lost) fds[i].fd = -1;
  }
  if (!lost || alive) return;
  std::fflush(nullptr);
  output_join().finish();
  _exit(kStatusOfLostHost);
}

/// Marks connections that have just been lost, and removes their events; returns how many events
/// are left for hydra.
int remove_lost_descriptors(pollfd* fds, nfds_t count) {
  int left = 0;
  for (nfds_t i = 0; i < count; ++i) {
    Connection* c = fds[i].revents & POLLERR ? find_connection(fds[i].fd) : nullptr;
    int failure = 0;
    socklen_t size = sizeof failure;
    if (c) getsockopt(fds[i].fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    if (c && is_unreachable(failure)) {
      c->lost = true;
      fds[i].revents = 0;
    }
    left += fds[i].revents != 0;
  }
  return left;
}

fgmpi::launcher::Newcomers& newcomers() {
  static auto* all = new fgmpi::launcher::Newcomers;
  return *all;
}

fgmpi::launcher::Ends& ends() {
  static auto* all = new fgmpi::launcher::Ends;
  return *all;
}

/// Records the descriptor of the input. Runs in the proxy that has received it.
void record_input(const char* descriptor) {
  g_guard.input = std::atoi(descriptor);
  environment::unset(environment::kHydraInput);
  fcntl(g_guard.input, F_SETFD, FD_CLOEXEC);
}

/// Lets the next program inherit the input. Runs in the child of mpiexec.hydra that is about to
/// become the proxy of the first process's host.
void pass_input_to_proxy() {
  environment::set(environment::kHydraInput, std::to_string(g_guard.input).c_str());
  fcntl(g_guard.input, F_SETFD, 0);
  *g_guard.passed_to_proxy = true;
}

/// Makes the input the standard input of process 0, and an empty input that of other processes.
/// Runs in the child of the proxy that is about to become a process of the job.
void pass_input_to_process() {
  const char* rank = environment::text(environment::kPmiRank);
  if (!rank) return;
  const bool first = !std::strcmp(rank, "0");
  const int input = first ? g_guard.input : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input >= 0) dup2(input, STDIN_FILENO);
}

void before_exec(const char* file, char* const* argv) {
  if (!g_guard.passed_to_proxy) {
    pass_input_to_process();
  } else if (is_proxy(file) && has_pair(argv, "--pgid", "0") && has_pair(argv, "--proxy-id", "0")) {
    pass_input_to_proxy();
  }
}

void keep_alive(int socket) {
  auto set = [&](int level, int option, int value) {
    return setsockopt(socket, level, option, &value, sizeof value);
  };
  if (set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds)) return;  // the socket is not TCP's
  set(IPPROTO_TCP, TCP_KEEPINTVL, kBetweenSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMs);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t done = syscall(SYS_write, fd, bytes.data(), bytes.size());
    pollfd writable = {fd, POLLOUT, 0};
    if (done < 0 && errno == EAGAIN && syscall(SYS_ppoll, &writable, 1, nullptr, nullptr, 0) >= 0)
      continue;
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return true;
}

/// Makes an empty file in the folder, if there is one.
void make_file(const char* folder, const std::string& name) {
  if (!folder) return;
  const std::string path = std::string(folder) + "/" + name;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd >= 0) close(fd);
}

/// Passes on what the processes write to standard error, each report once (report_line.h). After
/// the report of a lost process, hydra's own report is suppressed: it may name any of the processes
/// that hydra itself has ended.
bool write_errors(std::string_view rest) {
  static fgmpi::liveness::ReportFilter filter;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    rest.remove_prefix(line.size());
    const bool before = filter.loss_reported();
    if (!filter.passes(line)) continue;
    if (!write_all(STDERR_FILENO, line)) return false;
    if (const int process = fgmpi::liveness::unreachable_of_loss(line);
        process >= 0 && g_guard.hosts)
      g_guard.hosts->record_unreachable(process);
    if (filter.loss_reported() == before) continue;
    if (const int number = fgmpi::liveness::signal_of_loss(line))
      make_file(environment::text(environment::kCheckpointFolder),
                fgmpi::launcher::kReportedPrefix + std::to_string(number));
    if (FILE* nowhere = std::fopen("/dev/null", "we")) stdout = nowhere;
  }
  return true;
}

fgmpi::launcher::OutputJoin& output_join() {
  static auto* join = new fgmpi::launcher::OutputJoin([](int fd, std::string_view text) {
    return fd == STDERR_FILENO ? write_errors(text) : write_all(fd, text);
  });
  return *join;
}

fgmpi::launcher::OutputLines& output_lines() {
  static auto* lines = new fgmpi::launcher::OutputLines;
  return *lines;
}

using Poll = int(pollfd*, nfds_t, int);

Poll* real_poll() {
  static auto* real = reinterpret_cast<Poll*>(dlsym(RTLD_NEXT, "poll"));
  return real;
}

int poll_in_proxy(pollfd* fds, nfds_t count, int timeout) {
  return output_lines().poll(real_poll(), fds, count, timeout);
}

/// The poll() of mpiexec.hydra. It returns from the kernel in time to write output that has waited
/// too long for the end of a line.
int poll_in_hydra(pollfd* fds, nfds_t count, int timeout) {
  const int64_t begin = fgmpi::now_ns();
  for (;;) {
    const int limit = output_join().limit(timeout);
    const int events = newcomers().poll(real_poll(), fds, count, limit);
    output_join().look();
    const int64_t passed_ms = (fgmpi::now_ns() - begin) * 1000 / fgmpi::kSecond;
    if (events != 0 || (timeout >= 0 && passed_ms >= timeout)) return events;
  }
}

/// The write() of a proxy with mpiexec -ft. An answer to a process that has ended counts
/// as written.
ssize_t write_to_process(int fd, const void* bytes, size_t count) {
  sockaddr_storage own;
  socklen_t size = sizeof own;
  const bool open = getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  if (!open && errno == EBADF) return static_cast<ssize_t>(count);
  if (!open || own.ss_family != AF_UNIX) return syscall(SYS_write, fd, bytes, count);
  const ssize_t done = send(fd, bytes, count, MSG_NOSIGNAL);
  return done < 0 && (errno == EPIPE || errno == ECONNRESET) ? static_cast<ssize_t>(count) : done;
}

/// Records that a signal has ended a process, by an empty file in the folder, if there is one.
void record_signal(const char* folder, const char* prefix, int status) {
  if (WIFSIGNALED(status)) make_file(folder, prefix + std::to_string(WTERMSIG(status)));
}

/// Calls hydra's handler. A signal to a whole group of processes arrives both ways, in either
/// order: only the first of each pair counts.
void on_signal(int number, siginfo_t* info, void*) {
  const bool passed_on = info->si_code == SI_USER && info->si_pid == getppid();
  volatile sig_atomic_t& way = passed_on ? g_guard.passed_on : g_guard.direct;
  way = way + 1;
  if (way <= (passed_on ? g_guard.direct : g_guard.passed_on)) return;
  g_guard.signal = number;
  g_guard.handler(number);
}

/// Writes the output that is left when hydra exits. If a signal to mpiexec ended the job, the exit
/// status becomes the signal's number where it would be 0.
void check_status(int status, void*) {
  output_join().finish();
  if (status != 0 || !g_guard.signal) return;
  std::fflush(nullptr);
  _exit(g_guard.signal);
}

__attribute__((constructor)) void leave_environment() {
  g_guard.proxy = !std::strcmp(program_invocation_short_name, fgmpi::launcher::kProxy);
  g_guard.active = !g_guard.proxy && (std::strstr(program_invocation_short_name, "hydra") ||
                                      std::strstr(program_invocation_short_name, "mpiexec"));
  const char* input = environment::text(environment::kHydraInput);
  if (input && g_guard.proxy) record_input(input);
  g_guard.survives = environment::text(environment::kFt) != nullptr;
  if (g_guard.proxy)
    make_file(environment::text(environment::kCheckpointFolder), fgmpi::launcher::kGuarded);
  if (g_guard.active) {
    on_exit(check_status, nullptr);
    duplicate_input();
    g_guard.survives_hosts = g_guard.survives;
    if (const char* folder = environment::text(environment::kCheckpointFolder)) {
      g_guard.hosts = new fgmpi::launcher::ProxyHosts(folder);
      const std::string goes_back = std::string(folder) + "/" + fgmpi::launcher::kGoesBack;
      if (access(goes_back.c_str(), F_OK) == 0) g_guard.survives_hosts = false;
    }
  }
  const char* present = environment::text(environment::kPreload);
  if (!present) return;
  const std::string rest = fgmpi::launcher::without_guard(present);
  if (rest == present) return;
  if (rest.empty())
    environment::unset(environment::kPreload);
  else
    environment::set(environment::kPreload, rest.c_str());
}

// ---- Processes that end early, in a proxy -------------------------------------------------------

/// For this time (ns) after a process has ended badly, the proxy repeats its notices: a child that
/// was not started yet, or had no handler yet, receives the signal later.
constexpr int64_t kNotifyFor = 10 * fgmpi::kSecond, kBetweenNotices = fgmpi::kSecond / 10;

std::set<int>& notified_processes() {
  if (!g_guard.notified_processes) g_guard.notified_processes = new std::set<int>;
  return *g_guard.notified_processes;
}

/// Sends SIGUSR1 to the children of a process that have a handler for it, and to their descendants:
/// scripts may have started the job's processes.
void notify_children_of(int process) {
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/task/%d/children", process, process);
  FILE* list = std::fopen(name, "re");
  if (!list) return;
  for (int child; std::fscanf(list, "%d", &child) == 1;) {
    if (!notified_processes().count(child) && !fgmpi::launcher::is_copy(child) &&
        fgmpi::launcher::catches(child, SIGUSR1) && kill(child, SIGUSR1) == 0)
      notified_processes().insert(child);
    notify_children_of(child);
  }
  std::fclose(list);
}

/// Sends notices to the other processes of this proxy, where one has ended badly within kNotifyFor.
void notify_children() {
  const int64_t now = g_guard.notify_until ? fgmpi::now_ns() : 0;
  if (now >= g_guard.notify_until || now < g_guard.next_notices) return;
  g_guard.next_notices = now + kBetweenNotices;
  notify_children_of(static_cast<int>(getpid()));
}

/// The proxy's poll() with mpiexec -ft: also sends notices while some may be due.
int poll_and_notify(int (*real)(pollfd*, nfds_t, int), pollfd* fds, nfds_t count, int timeout) {
  constexpr int kMs = kBetweenNotices * 1000 / fgmpi::kSecond;
  for (;;) {
    notify_children();
    if (timeout >= 0 || g_guard.notify_until == 0 || fgmpi::now_ns() >= g_guard.notify_until)
      return real(fds, count, timeout);
    if (const int events = real(fds, count, kMs); events != 0) return events;
  }
}

// ---- Statuses that a proxy forgets --------------------------------------------------------------

void record_status(int status) {
  if (!g_guard.statuses) g_guard.statuses = new fgmpi::launcher::ProxyStatuses;
  g_guard.statuses->add(status);
}

/// True where waitpid() would return a status that the proxy should learn later.
bool is_held_back() {
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
  if (info.si_code == CLD_EXITED && info.si_status == 0) return false;
  return ends().hold_back(info.si_pid, fgmpi::now_ns());
}

/// The corrected message of a proxy to mpiexec.hydra; empty where it is correct, or while a process
/// has not been waited for.
std::vector<int> mended_statuses(const void* bytes, size_t count) {
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) return {};
  return g_guard.statuses->mended(bytes, count);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int execvp(const char* file, char* const* argv) {
  static auto* real =
      reinterpret_cast<int (*)(const char*, char* const*)>(dlsym(RTLD_NEXT, "execvp"));
  if (g_guard.input >= 0) before_exec(file, argv);
  if (g_guard.hosts) g_guard.hosts->record_launch(argv);
  if (g_guard.proxy && !g_guard.survives) environment::set(environment::kNoNotices, "1");
  if (g_guard.active && is_proxy(file)) {
    environment::put_first(environment::kPreload, fgmpi::launcher::kHydraGuard);
    return real(file, argv);
  }
  const char* checkpoints = environment::text(environment::kCheckpointFolder);
  if (!g_guard.active || !(g_guard.survives || checkpoints || goes_through_shell(argv)))
    return real(file, argv);
  const char* path = environment::text(environment::kLibraryPath);
  std::vector<std::string> words =
      fgmpi::launcher::words_with_guard(argv, path, checkpoints, g_guard.survives);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return real(file, pointers.data());
}

__attribute__((visibility("default"))) int poll(pollfd* fds, nfds_t count, int timeout) {
  if (g_guard.proxy && g_guard.survives) return poll_and_notify(poll_in_proxy, fds, count, timeout);
  if (g_guard.proxy) return poll_in_proxy(fds, count, timeout);
  if (!g_guard.active) return real_poll()(fds, count, timeout);
  if (!g_guard.survives_hosts) return poll_in_hydra(fds, count, timeout);
  std::vector<int> before;
  for (nfds_t i = 0; i < count; ++i) before.push_back(fds[i].fd);
  hide_lost(fds, count);
  int events = poll_in_hydra(fds, count, timeout);
  const int failure = errno;
  for (nfds_t i = 0; i < count; ++i) fds[i].fd = before[i];
  if (events > 0 && (events = remove_lost_descriptors(fds, count)) == 0 && timeout < 0)
    return poll(fds, count, timeout);
  errno = failure;
  return events;
}

__attribute__((visibility("default"))) pid_t waitpid(pid_t pid, int* status, int options) {
  static auto* real = reinterpret_cast<pid_t (*)(pid_t, int*, int)>(dlsym(RTLD_NEXT, "waitpid"));
  if (g_guard.proxy && !g_guard.survives && pid == -1 && (options & WNOHANG) && is_held_back())
    return 0;
  const pid_t ended = real(pid, status, options);
  if (g_guard.proxy && ended > 0 && status) {
    if (!g_guard.survives) *status = ends().status(ended, *status);
    record_signal(environment::text(environment::kReportFolder), fgmpi::report::kSignalPrefix,
                  *status);
    record_signal(environment::text(environment::kCheckpointFolder), fgmpi::launcher::kKilledPrefix,
                  *status);
    if (!g_guard.survives) record_status(*status);
  }
  if (!g_guard.survives || g_guard.active || !status) return ended;
  if (ended <= 0) return notify_children(), ended;
  if (*status != 0) {
    g_guard.notify_until = fgmpi::now_ns() + kNotifyFor;
    notified_processes().clear();
  }
  notify_children();
  if (WIFSIGNALED(*status)) *status = (128 + WTERMSIG(*status)) << 8;
  record_status(*status);
  return ended;
}

__attribute__((visibility("default"))) int kill(pid_t pid, int number) {
  // The proxy stores -1 as the number of a process that has ended, and so would signal process 1.
  if (g_guard.proxy && pid == 1) return 0;
  // With -ft, notify_children() sends the notice of a failure, once a process has a handler and
  // would not die of it.
  if (g_guard.proxy && g_guard.survives && number == SIGUSR1 && pid < -1) return 0;
  if (g_guard.proxy && number == SIGUSR1 && pid < -1) {
    fgmpi::launcher::send_to_those_that_expect_it(-pid, number);
    return 0;
  }
  if (g_guard.proxy && !g_guard.survives && number == SIGKILL && pid < -1) ends().before_kill(-pid);
  return static_cast<int>(syscall(SYS_kill, pid, number));
}

__attribute__((visibility("default"))) int killpg(pid_t group, int number) {
  return kill(-group, number);
}

__attribute__((visibility("default"))) ssize_t read(int fd, void* bytes, size_t count) {
  if (g_guard.passed_to_proxy && *g_guard.passed_to_proxy && fd == STDIN_FILENO && count > 0) {
    *g_guard.passed_to_proxy =
        false;  // hydra closes the descriptor: it may be another file's later
    return 0;
  }
  ssize_t got = 0;
  if (g_guard.proxy && output_lines().read(fd, bytes, count, &got)) return got;
  got = syscall(SYS_read, fd, bytes, count);
  struct stat what;
  if (g_guard.proxy && got == 0 && count > 0 && fstat(fd, &what) == 0 && S_ISSOCK(what.st_mode))
    ends().connection_ended();
  if (g_guard.active && got > 0 && count <= fgmpi::launcher::kLongestGreeting)
    newcomers().record_read(fd, static_cast<const char*>(bytes), static_cast<size_t>(got));
  if (g_guard.hosts) g_guard.hosts->record_read(fd, bytes, got);
  if (got > 0 && g_guard.active) output_join().read_from(fd);
  return got;
}

__attribute__((visibility("default"))) int pipe(int ends[2]) {
  const int failed = pipe2(ends, 0);
  if (g_guard.proxy && !failed) output_lines().pipe_made(ends);
  return failed;
}

__attribute__((visibility("default"))) int close(int fd) {
  if (g_guard.proxy) output_lines().closed(fd);
  if (g_guard.active) output_join().gone(fd);
  if (g_guard.hosts) g_guard.hosts->record_close(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}

__attribute__((visibility("default"))) int socketpair(int domain, int type, int protocol,
                                                      int ends[2]) {
  static auto* real =
      reinterpret_cast<int (*)(int, int, int, int*)>(dlsym(RTLD_NEXT, "socketpair"));
  const int failed = real(domain, type, protocol, ends);
  if (g_guard.active && !failed) newcomers().pair(ends);
  if (g_guard.hosts && !failed)
    for (int i = 0; i < 2; ++i) g_guard.hosts->expect_greeting(ends[i]);
  return failed;
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void* bytes, size_t count) {
  if (g_guard.active && (fd == STDOUT_FILENO || fd == STDERR_FILENO))
    return output_join().write(fd, {static_cast<const char*>(bytes), count})
               ? static_cast<ssize_t>(count)
               : -1;
  if (g_guard.proxy) {
    const std::vector<int> mended =
        g_guard.statuses ? mended_statuses(bytes, count) : std::vector<int>();
    if (!mended.empty()) bytes = mended.data();
    return g_guard.survives ? write_to_process(fd, bytes, count)
                            : syscall(SYS_write, fd, bytes, count);
  }
  if (!g_guard.active || (fd >= 0 && fd <= STDERR_FILENO))
    return syscall(SYS_write, fd, bytes, count);
  // Hydra marks a connection that it has closed by a negative descriptor.
  if (fd < 0) return static_cast<ssize_t>(count);
  ssize_t done = send(fd, bytes, count, MSG_NOSIGNAL);
  if (done >= 0) return done;
  if (errno == ENOTSOCK) return syscall(SYS_write, fd, bytes, count);
  const bool gone =
      errno == EPIPE || errno == ECONNRESET || (g_guard.survives && is_unreachable(errno));
  return gone ? static_cast<ssize_t>(count) : -1;
}

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* act,
                                                     struct sigaction* old) {
  static auto* real = reinterpret_cast<int (*)(int, const struct sigaction*, struct sigaction*)>(
      dlsym(RTLD_NEXT, "sigaction"));
  struct sigaction ours;
  const bool ends = number == SIGINT || number == SIGTERM || number == SIGQUIT || number == SIGHUP;
  if (g_guard.active && ends && act && !(act->sa_flags & SA_SIGINFO) &&
      act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN) {
    ours = *act;
    g_guard.handler = act->sa_handler;
    ours.sa_sigaction = on_signal;
    ours.sa_flags |= SA_SIGINFO;
    act = &ours;
  }
  return real(number, act, old);
}

__attribute__((visibility("default"))) int listen(int fd, int backlog) {
  static auto* real = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_NEXT, "listen"));
  if (g_guard.active) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return real(fd, backlog);
}

__attribute__((visibility("default"))) int accept(int fd, sockaddr* address, socklen_t* length) {
  int connection = g_guard.active ? newcomers().next_proxy(fd) : -1;
  if (connection < 0)
    connection = accept4(fd, address, length, 0);
  else if (address)
    getpeername(connection, address, length);
  if (g_guard.active && connection >= 0) keep_alive(connection);
  if (g_guard.hosts && connection >= 0) g_guard.hosts->expect_greeting(connection);
  if (g_guard.survives_hosts && connection >= 0) record_connection(connection);
  return connection;
}
}
