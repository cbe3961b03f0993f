// The table of children, and the interposed calls that make them and wait for them.

#include "privatize/libc/children.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>
#include <vector>

#include "base/plain_mutex.h"
#include "privatize/libc/blocked_calls.h"
#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/forks.h"
#include "privatize/libc/outside_calls.h"
#include "privatize/libc/rank_streams.h"
#include "privatize/load/visitors.h"
#include "proclet-sched/immortal.h"

namespace fgmpi::privatize {
namespace {

constinit Real<pid_t(pid_t, int*, int)> g_waitpid("waitpid");
constinit Real<pid_t(pid_t, int*, int, rusage*)> g_wait4("wait4");
constinit Real<int(idtype_t, id_t, siginfo_t*, int)> g_waitid("waitid");
constinit Real<int(int, const struct sigaction*, struct sigaction*)> g_real_sigaction("sigaction");
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  char* const*, char* const*);
constinit Real<Spawn> g_posix_spawn("posix_spawn");

struct RankChild {
  pid_t pid;
  const sched::Proclet* rank;
};
struct Children {
  PlainMutex mutex;
  std::vector<RankChild> list;
};
constinit Immortal<Children> g_immortal_children;
constexpr Children& g = g_immortal_children.value;

void forget_child(pid_t pid) {
  std::lock_guard<PlainMutex> guard(g.mutex);
  std::erase_if(g.list, [pid](const RankChild& c) { return c.pid == pid; });
}

enum class ChildOwner { kUnknown, kCaller, kOtherRank };
ChildOwner find_child_owner(pid_t pid) {
  std::lock_guard<PlainMutex> guard(g.mutex);
  auto at = std::find_if(g.list.begin(), g.list.end(),
                         [pid](const RankChild& c) { return c.pid == pid; });
  if (at == g.list.end()) return ChildOwner::kUnknown;
  return at->rank == sched::rank_of_thread() ? ChildOwner::kCaller : ChildOwner::kOtherRank;
}

/// The rank's children in that process group; 0: in any group.
std::vector<pid_t> own_children(pid_t group) {
  std::vector<pid_t> own;
  std::lock_guard<PlainMutex> guard(g.mutex);
  for (const RankChild& c : g.list)
    if (c.rank == sched::rank_of_thread() && (group == 0 || getpgid(c.pid) == group))
      own.push_back(c.pid);
  return own;
}

bool others_have_children() {
  std::lock_guard<PlainMutex> guard(g.mutex);
  return std::any_of(g.list.begin(), g.list.end(),
                     [](const RankChild& c) { return c.rank != sched::rank_of_thread(); });
}

/// True for a child that has not been waited for, as wait() sees children: those that libraries
/// make for themselves send no signal when they end.
bool can_be_waited_for(idtype_t type, pid_t pid) {
  siginfo_t info{};
  return g_waitid(type, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// True where the calling thread has a child that is in no table.
bool has_nobodys_children() {
  std::FILE* list = std::fopen("/proc/thread-self/children", "re");
  if (!list) return false;
  bool any = false;
  for (int pid; !any && std::fscanf(list, "%d", &pid) == 1;)
    any = find_child_owner(pid) == ChildOwner::kUnknown && can_be_waited_for(P_PID, pid);
  std::fclose(list);
  return any;
}

/// Finds a child for which the rank's wait would return, and leaves its state to be waited for.
/// Returns its number; 0: none yet; -1: an error, with errno, ECHILD where the rank has no child.
pid_t find_child_with_news(idtype_t type, id_t id, int events) {
  siginfo_t info{};
  if (g_waitid(type, id, &info, events | WNOHANG | WNOWAIT) != 0) return -1;
  if (info.si_pid != 0 && find_child_owner(info.si_pid) != ChildOwner::kOtherRank)
    return info.si_pid;
  const pid_t group = type != P_PGID ? 0 : id == 0 ? getpgrp() : static_cast<pid_t>(id);
  const std::vector<pid_t> own = own_children(group);
  for (const pid_t child : own) {
    if (info.si_pid == 0) return 0;  // no child of the process has changed its state
    siginfo_t its{};
    if (g_waitid(P_PID, static_cast<id_t>(child), &its, events | WNOHANG | WNOWAIT) == 0 &&
        its.si_pid != 0)
      return child;
  }
  if (own.empty() && !has_nobodys_children()) return errno = ECHILD, -1;
  return 0;
}

/// Repeats `attempt(type, id)`, the call without waiting, until a child of the rank is found;
/// only once where `waits` is false. Returns, as `attempt` does, the child's number, 0 or -1.
/// May switch.
template <class F>
pid_t wait_for_child(const char* call, idtype_t type, id_t id, int events, bool waits, F attempt) {
  OutsideWait wait(call, OutsideWait::kRestarted);
  for (;;) {
    pid_t result;
    if ((type == P_ALL || type == P_PGID) && others_have_children()) {
      result = find_child_with_news(type, id, events);
      if (result > 0) result = attempt(P_PID, static_cast<id_t>(result));
    } else {
      result = attempt(type, id);
    }
    if (result != 0 || !waits) return result;
    if (!may_try_again(wait.a_while(), EINTR)) return -1;
  }
}

bool has_ended(int status) { return WIFEXITED(status) || WIFSIGNALED(status); }

pid_t wait4_of_rank(const char* call, pid_t child, int* status, int options, rusage* usage) {
  const idtype_t type = child == -1 ? P_ALL : child > 0 ? P_PID : P_PGID;
  const id_t id = child == -1 ? 0 : static_cast<id_t>(child > 0 ? child : -child);
  constexpr int kEvents = WUNTRACED | WCONTINUED | __WNOTHREAD | __WALL | __WCLONE;
  int ended = 0;
  const pid_t result = wait_for_child(call, type, id, (options & kEvents) | WEXITED,
                                      !(options & WNOHANG), [&](idtype_t which, id_t number) {
                                        const pid_t pid =
                                            which == type ? child : static_cast<pid_t>(number);
                                        return g_wait4(pid, &ended, options | WNOHANG, usage);
                                      });
  if (result > 0 && status) *status = ended;
  if (result > 0 && has_ended(ended)) forget_child(result);
  return result;
}

int waitid_of_rank(idtype_t type, id_t id, siginfo_t* info, int options) {
  siginfo_t found{};
  const pid_t result = wait_for_child("waitid", type, id, options, !(options & WNOHANG),
                                      [&](idtype_t which, id_t number) {
                                        found = {};
                                        if (g_waitid(which, number, &found, options | WNOHANG) != 0)
                                          return -1;
                                        return found.si_pid;
                                      });
  if (result < 0) return -1;
  if (info) *info = found;
  const bool ended =
      found.si_code == CLD_EXITED || found.si_code == CLD_KILLED || found.si_code == CLD_DUMPED;
  if (result > 0 && ended && !(options & WNOWAIT)) forget_child(result);
  return 0;
}

/// True where several ranks may have children of their own.
bool tracks_children() {
  return (g_mode == ImageMode::kImages || g_mode == ImageMode::kShared || g_has_guests) &&
         in_own_process();
}

void record_child(pid_t pid) {
  const sched::Proclet* rank = tracks_children() ? sched::rank_of_thread() : nullptr;
  if (!rank) return;
  forget_child(pid);  // an earlier child of that number
  std::lock_guard<PlainMutex> guard(g.mutex);
  try {
    g.list.push_back({pid, rank});
  } catch (const std::bad_alloc&) {  // without an entry, any rank may wait for the child
  }
}

/// Drops a child from the table after the C library's function has waited for it. Returns `result`.
pid_t remove_waited_child(pid_t result, int status) {
  if (result > 0 && has_ended(status) && tracks_children()) forget_child(result);
  return result;
}

// ---- system(), popen(), pclose() ----------------------------------------------------------------

/// What system() changes for the process as long as one rank is in it: SIGINT and SIGQUIT are
/// ignored. SIGCHLD is blocked where the program has a handler for it, since that handler may wait
/// for any child. Thread rule: the scheduler's thread.
class SignalsOfSystem {
 public:
  SignalsOfSystem() {
    if (g_users++ > 0) return;
    struct sigaction ignore {
    }, children;
    ignore.sa_handler = SIG_IGN;
    g_real_sigaction(SIGINT, &ignore, &g_interrupt);
    g_real_sigaction(SIGQUIT, &ignore, &g_quit);
    g_real_sigaction(SIGCHLD, nullptr, &children);
    sigset_t block;
    sigemptyset(&block);
    if (children.sa_handler != SIG_DFL && children.sa_handler != SIG_IGN)
      sigaddset(&block, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &block, &g_mask);
  }
  ~SignalsOfSystem() {
    if (--g_users > 0) return;
    g_real_sigaction(SIGINT, &g_interrupt, nullptr);
    g_real_sigaction(SIGQUIT, &g_quit, nullptr);
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    if (!sigismember(&g_mask, SIGCHLD)) sigdelset(&now, SIGCHLD);
    pthread_sigmask(SIG_SETMASK, &now, nullptr);
  }
  SignalsOfSystem(const SignalsOfSystem&) = delete;
  SignalsOfSystem& operator=(const SignalsOfSystem&) = delete;

  /// Makes a child begin with these signals as the program had them.
  static void give_back_in_child(posix_spawnattr_t* attributes) {
    sigset_t defaults, mask;
    sigemptyset(&defaults);
    if (g_interrupt.sa_handler != SIG_IGN) sigaddset(&defaults, SIGINT);
    if (g_quit.sa_handler != SIG_IGN) sigaddset(&defaults, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    if (!sigismember(&g_mask, SIGCHLD)) sigdelset(&mask, SIGCHLD);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setsigmask(attributes, &mask);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }

 private:
  static inline uint32_t g_users = 0;
  static inline struct sigaction g_interrupt, g_quit;
  static inline sigset_t g_mask;
};

/// Starts `sh -c command`. Returns 0 or an error number.
int spawn_shell(const char* command, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, pid_t* child) {
  const char* words[] = {"sh", "-c", command, nullptr};
  const int failed = g_posix_spawn(child, "/bin/sh", actions, attributes,
                                   const_cast<char* const*>(words), environ);
  if (failed == 0) record_child(*child);
  return failed;
}

/// Waits until the shell has ended; handlers do not end the wait. Returns its status, or -1 with
/// errno. May switch.
int wait_for_shell(const char* call, pid_t child) {
  int status;
  pid_t result;
  do result = wait4_of_rank(call, child, &status, 0, nullptr);
  while (result < 0 && errno == EINTR);
  return result == child ? status : -1;
}

int system_of_rank(const char* command) {
  constexpr int kNoShell = 127 << 8;
  const SignalsOfSystem signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  SignalsOfSystem::give_back_in_child(&attributes);
  pid_t child;
  const int failed = spawn_shell(command, nullptr, &attributes, &child);
  posix_spawnattr_destroy(&attributes);
  return failed ? kNoShell : wait_for_shell("system", child);
}

struct PipeStream {
  std::FILE* stream;
  pid_t child;
};
struct PipeStreams {
  PlainMutex mutex;
  std::vector<PipeStream> list;
};
constinit Immortal<PipeStreams> g_immortal_pipe_streams;
constexpr PipeStreams& g_pipe_streams = g_immortal_pipe_streams.value;

/// Removes the stream from the list and returns the number of the shell behind it; 0: it is no
/// stream of popen_of_rank().
pid_t remove_pipe_stream(std::FILE* stream) {
  std::lock_guard<PlainMutex> guard(g_pipe_streams.mutex);
  auto& list = g_pipe_streams.list;
  auto at = std::find_if(list.begin(), list.end(),
                         [stream](const PipeStream& s) { return s.stream == stream; });
  if (at == list.end()) return 0;
  const pid_t child = at->child;
  list.erase(at);
  return child;
}

/// Starts a shell whose descriptor `target` is `inner`. The shell does not inherit the ends of
/// other such streams. Returns 0 or an error number.
int start_shell(const char* command, int inner, int target, pid_t* child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int failed = posix_spawn_file_actions_adddup2(&actions, inner, target);
  {
    std::lock_guard<PlainMutex> guard(g_pipe_streams.mutex);
    for (const PipeStream& s : g_pipe_streams.list)
      if (const int fd = fileno(s.stream); fd != target && !failed)
        failed = posix_spawn_file_actions_addclose(&actions, fd);
  }
  if (!failed) failed = spawn_shell(command, &actions, nullptr, child);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

std::FILE* popen_of_rank(const char* command, const char* mode, const void* caller) {
  bool reads = false, writes = false, closes = false;
  for (const char* c = mode; *c; ++c) {
    reads |= *c == 'r';
    writes |= *c == 'w';
    closes |= *c == 'e';
    if (!strchr("rwe", *c)) return errno = EINVAL, nullptr;
  }
  int ends[2];
  if (reads == writes) return errno = EINVAL, nullptr;
  if (pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  const int outer = ends[reads ? 0 : 1], inner = ends[reads ? 1 : 0];
  static constinit Real<FILE*(int, const char*)> real_fdopen("fdopen");
  std::FILE* stream = open_stream(caller, StreamKind::kDescriptor,
                                  [&] { return real_fdopen(outer, reads ? "r" : "w"); });
  pid_t child = 0;
  int failed =
      stream ? start_shell(command, inner, reads ? STDOUT_FILENO : STDIN_FILENO, &child) : errno;
  close(inner);
  if (!failed) {
    if (!closes) fcntl(outer, F_SETFD, 0);
    std::lock_guard<PlainMutex> guard(g_pipe_streams.mutex);
    try {
      g_pipe_streams.list.push_back({stream, child});
      return stream;
    } catch (const std::bad_alloc&) {
      failed = ENOMEM;
    }
  }
  stream ? fclose(stream) : close(outer);
  return errno = failed, nullptr;
}

}  // namespace

bool rank_has_children() {
  const int error = errno;
  bool any = can_be_waited_for(P_ALL, 0);
  if (any) {
    const std::vector<pid_t> own = own_children(0);
    any = std::any_of(own.begin(), own.end(),
                      [](pid_t child) { return can_be_waited_for(P_PID, child); }) ||
          has_nobodys_children();
  }
  errno = error;
  return any;
}

void forget_pipe_stream(std::FILE* stream) { remove_pipe_stream(stream); }

bool has_children(const sched::Proclet* rank) {
  std::lock_guard<PlainMutex> guard(g.mutex);
  return std::any_of(g.list.begin(), g.list.end(),
                     [rank](const RankChild& c) { return c.rank == rank; });
}

bool close_pipe_stream(std::FILE* stream, int* status) {
  const pid_t child = remove_pipe_stream(stream);
  if (child == 0) return false;
  forget_stream(stream);
  static constinit Real<int(std::FILE*)> real_fclose("fclose");
  forget_kind_of_descriptor(fileno(stream));
  real_fclose(stream);
  *status = wait_for_shell("pclose", child);
  return true;
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE pid_t fork(void) noexcept {
  static constinit Real<pid_t()> real("fork");
  try_to_bring_home();
  const pid_t child = must_copy_slot() ? fork_with_slot([]() -> pid_t { return real(); }) : real();
  if (child > 0) record_child(child);
  return child;
}

FGMPI_INTERPOSE int posix_spawn(pid_t* child, const char* path,
                                const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const argv[],
                                char* const env[]) {
  pid_t pid;
  try_to_bring_home();
  const int failed = g_posix_spawn(&pid, path, actions, attributes, argv, env);
  if (failed == 0) record_child(pid);
  if (failed == 0 && child) *child = pid;
  return failed;
}

FGMPI_INTERPOSE int posix_spawnp(pid_t* child, const char* file,
                                 const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, char* const argv[],
                                 char* const env[]) {
  static constinit Real<Spawn> real("posix_spawnp");
  pid_t pid;
  try_to_bring_home();
  const int failed = real(&pid, file, actions, attributes, argv, env);
  if (failed == 0) record_child(pid);
  if (failed == 0 && child) *child = pid;
  return failed;
}

FGMPI_INTERPOSE pid_t wait4(pid_t child, int* status, int options, rusage* usage) noexcept {
  if (lets_others_run(__builtin_return_address(0)))
    return wait4_of_rank("wait4", child, status, options, usage);
  InKernel marked(__builtin_return_address(0));
  int ended = 0;
  const pid_t result = g_wait4(child, &ended, options, usage);
  if (result > 0 && status) *status = ended;
  return remove_waited_child(result, ended);
}

FGMPI_INTERPOSE pid_t waitpid(pid_t child, int* status, int options) {
  if (lets_others_run(__builtin_return_address(0)))
    return wait4_of_rank("waitpid", child, status, options, nullptr);
  InKernel marked(__builtin_return_address(0));
  int ended = 0;
  const pid_t result = g_waitpid(child, &ended, options);
  if (result > 0 && status) *status = ended;
  return remove_waited_child(result, ended);
}

FGMPI_INTERPOSE pid_t wait(int* status) {
  if (lets_others_run(__builtin_return_address(0)))
    return wait4_of_rank("wait", -1, status, 0, nullptr);
  InKernel marked(__builtin_return_address(0));
  int ended = 0;
  const pid_t result = g_waitpid(-1, &ended, 0);
  if (result > 0 && status) *status = ended;
  return remove_waited_child(result, ended);
}

FGMPI_INTERPOSE pid_t wait3(int* status, int options, rusage* usage) noexcept {
  if (lets_others_run(__builtin_return_address(0)))
    return wait4_of_rank("wait3", -1, status, options, usage);
  InKernel marked(__builtin_return_address(0));
  int ended = 0;
  const pid_t result = g_wait4(-1, &ended, options, usage);
  if (result > 0 && status) *status = ended;
  return remove_waited_child(result, ended);
}

FGMPI_INTERPOSE int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  if (lets_others_run(__builtin_return_address(0))) return waitid_of_rank(type, id, info, options);
  InKernel marked(__builtin_return_address(0));
  return g_waitid(type, id, info, options);
}

FGMPI_INTERPOSE int system(const char* command) {
  static constinit Real<int(const char*)> real("system");
  if (!lets_others_run(__builtin_return_address(0))) return real(command);
  return command ? system_of_rank(command) : system_of_rank("exit 0") == 0;
}

FGMPI_INTERPOSE FILE* popen(const char* command, const char* mode) {
  static constinit Real<FILE*(const char*, const char*)> real("popen");
  try_to_bring_home();
  if (!lets_others_run(__builtin_return_address(0))) return real(command, mode);
  return popen_of_rank(command, mode, __builtin_return_address(0));
}

FGMPI_INTERPOSE int pclose(FILE* stream) {
  static constinit Real<int(FILE*)> real("pclose");
  int status;
  return close_pipe_stream(stream, &status) ? status : real(stream);
}
