// The watcher's thread, and the duplicates of descriptors by which it reports.

#include "liveness/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

#include "base/descriptor.h"
#include "base/process_threads.h"
#include "base/raw_call.h"
#include "base/settings.h"
#include "base/strings.h"
#include "bootstrap/line_channel.h"
#include "liveness/report_line.h"

namespace fgmpi::liveness {
namespace {

// Times in microseconds. The launcher may have ended the next process, and be about to end this one
// (MPI_Abort, Ctrl-C). While it is busy, the watcher waits for it this long. Hydra sends its
// signals to all processes of a host within some milliseconds.
constexpr int kLauncherActsWithin = 100'000;
constexpr int kBetweenLooks = 200;

/// The data of the thread; written before it starts.
struct Task {
  int launcher = -1;  ///< this process's connection to the launcher
  /// The next process and duplicates of its descriptors; -1 when there is none. Its output is among
  /// them: when the output ends, the launcher checks which processes have ended.
  enum Held { kProcess, kLauncher, kEndMark, kOutput, kErrors, kCount };
  int held[kCount] = {-1, -1, -1, -1, -1};
  int pid = 0;
  bool reports_launcher = false;  ///< reports the end of the launcher
  size_t begin_length = 0;
  char begin[512];  ///< of the line about the next process, before the reason
};
Task g_task;
alignas(64) char g_stack[16 << 10];

long address_of(const void* p) { return reinterpret_cast<long>(p); }

/// Waits for the events; false when interrupted or when the time is over.
bool wait_for(pollfd* what, int count, int microseconds) {
  timespec limit{microseconds / 1'000'000, microseconds % 1'000'000 * 1'000L};
  return raw_call(SYS_ppoll, address_of(what), count, microseconds < 0 ? 0 : address_of(&limit)) >
         0;
}

void pause_for(int microseconds) { wait_for(nullptr, 0, microseconds); }

bool is_set(int fd) {
  pollfd one{fd, POLLIN, 0};
  return wait_for(&one, 1, 0) && (one.revents & POLLIN);
}

/// A line of text, made without the C library.
struct FinalLine {
  char bytes[640];
  size_t length = 0;
  void add(const char* text, size_t count) {
    for (size_t i = 0; i < count && length < sizeof bytes; ++i) bytes[length++] = text[i];
  }
  void add(const char* text) {
    size_t count = 0;
    while (text[count]) ++count;
    add(text, count);
  }
  void add_number(unsigned value) {
    if (value >= 10) add_number(value / 10);
    char digit = static_cast<char>('0' + value % 10);
    add(&digit, 1);
  }
};

/// The fields of /proc/PID/stat that are used here.
struct ProcessStatus {
  char state = '?';
  int parent = 0;
  int status = -1;  ///< of a process that has ended and was not waited for yet; else -1
};

int leading_number(const char* text, long begin, long end) {
  int value = 0;
  for (; begin < end && text[begin] >= '0' && text[begin] <= '9'; ++begin)
    value = value * 10 + (text[begin] - '0');
  return value;
}

/// Reads "PID (NAME) STATE PARENT ... STATUS"; NAME may contain anything.
ProcessStatus status_of(int pid) {
  ProcessStatus result;
  FinalLine path;
  path.add("/proc/");
  path.add_number(static_cast<unsigned>(pid));
  path.add("/stat\0", 6);
  long fd = raw_call(SYS_openat, AT_FDCWD, address_of(path.bytes), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return result;
  char text[1024];
  long n = raw_call(SYS_read, fd, address_of(text), sizeof text);
  raw_call(SYS_close, fd);
  long name_end = n - 1, last_word = n - 1;
  while (name_end >= 0 && text[name_end] != ')') --name_end;
  if (name_end < 0 || name_end + 4 >= n) return result;
  while (last_word > 0 && text[last_word - 1] != ' ') --last_word;
  result.state = text[name_end + 2];
  result.parent = leading_number(text, name_end + 4, n);
  if (result.state == 'Z') result.status = leading_number(text, last_word, n);
  return result;
}

/// True while one of this process's ancestors runs. The launcher runs while it ends all processes,
/// until it reaches this one.
bool launcher_is_busy() {
  constexpr int kMostAncestors = 3;
  int ancestor = static_cast<int>(raw_call(SYS_getppid));
  for (int i = 0; i < kMostAncestors && ancestor > 1; ++i) {
    const ProcessStatus status = status_of(ancestor);
    if (status.state == 'R') return true;
    ancestor = status.parent;
  }
  return false;
}

/// Reports the end of the next process, unless it has left its mark. REQUIRES: the launcher has
/// not closed its connection. The launcher sees the end when the caller closes the duplicates, and
/// ends the job.
void report_loss(const Task& task) {
  if (is_set(task.held[Task::kEndMark])) return;
  // The exit status is read first: it can be read only until the launcher has waited for
  // the process.
  const int status = status_of(task.pid).status;
  for (int waited = 0; waited < kLauncherActsWithin && launcher_is_busy(); waited += kBetweenLooks)
    pause_for(kBetweenLooks);
  FinalLine line;
  line.add(task.begin, task.begin_length);
  if (status < 0) {
    line.add("it has ended");
  } else if (status & 0x7f) {
    unsigned number = status & 0x7f;
    line.add(kKilledBy.data(), kKilledBy.size());
    line.add_number(number);
    if (const char* name = sigabbrev_np(static_cast<int>(number))) {
      line.add(" (SIG");
      line.add(name);
      line.add(")");
    }
  } else {
    line.add("it has ended with exit status ");
    line.add_number(static_cast<unsigned>(status >> 8 & 0xff));
    line.add(" and without MPI_Finalize");
  }
  line.add("\n");
  raw_call(SYS_write, STDERR_FILENO, address_of(line.bytes), static_cast<long>(line.length));
}

/// Closes all descriptors of the thread except those that it needs.
void keep_own_descriptors(const Task& task) {
  unsigned next = 0;
  for (;;) {
    int least = -1;
    auto consider = [&](int fd) {
      if (fd >= 0 && static_cast<unsigned>(fd) >= next && (least < 0 || fd < least)) least = fd;
    };
    consider(STDERR_FILENO);
    consider(task.launcher);
    for (int fd : task.held) consider(fd);
    if (least < 0) break;
    if (static_cast<unsigned>(least) > next)
      close_descriptors(next, static_cast<unsigned>(least) - 1);
    next = static_cast<unsigned>(least) + 1;
  }
  close_descriptors(next, ~0u);
}

void launcher_is_gone(const Task& task) {
  if (bootstrap::end_of_launcher_expected()) return;
  pause_for(kLauncherActsWithin);  // it may have sent this process a signal before it ended
  if (bootstrap::end_of_launcher_expected()) return;
  constexpr std::string_view kLine = "fgmpi: the launcher is gone, the job ends\n";
  if (task.reports_launcher)
    raw_call(SYS_write, STDERR_FILENO, address_of(kLine.data()), static_cast<long>(kLine.size()));
  for (;;) raw_call(SYS_exit_group, 1);
}

int watch(void*) {
  Task task = g_task;
  keep_own_descriptors(task);
  for (;;) {
    pollfd fds[] = {{task.launcher, POLLRDHUP, 0},
                    {task.held[Task::kLauncher], POLLRDHUP, 0},
                    {task.held[Task::kProcess], POLLIN, 0}};
    if (!wait_for(fds, 3, -1)) continue;
    if (fds[0].revents) {
      launcher_is_gone(task);
      return 0;
    }
    if (fds[2].revents && !fds[1].revents) report_loss(task);
    for (int& fd : task.held) {
      if (fd >= 0) raw_call(SYS_close, fd);
      fd = -1;
    }
  }
}

/// Makes a descriptor of this process for what the process of `pidfd` has open as `fd`.
int duplicate(int pidfd, int fd) {
  return move_descriptor_up(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, fd, 0)));
}

/// False when the process cannot be watched: it has ended, or the kernel does not allow it.
bool duplicate_descriptors(const Card& next, Task* task) {
  task->pid = next.pid;
  const int process = static_cast<int>(syscall(SYS_pidfd_open, next.pid, 0));
  if (process < 0) return false;
  task->held[Task::kProcess] = process;
  task->held[Task::kLauncher] = duplicate(process, next.launcher_fd);
  task->held[Task::kEndMark] = duplicate(process, next.end_mark_fd);
  task->held[Task::kOutput] = duplicate(process, STDOUT_FILENO);
  task->held[Task::kErrors] = duplicate(process, STDERR_FILENO);
  return task->held[Task::kLauncher] >= 0 && task->held[Task::kEndMark] >= 0;
}

void close_duplicates(Task* task) {
  for (int& fd : task->held) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
}

}  // namespace

bool watch_wanted() {
#if defined(FGMPI_SANITIZE)
  return false;  // a thread whose beginning the sanitizer has not seen
#else
#ifdef RUNNING_ON_VALGRIND
  if (RUNNING_ON_VALGRIND) return false;  // valgrind ends processes that have such threads
#endif
  return settings::on(settings::kWatch);
#endif
}

void start_watch(int launcher_fd, const Card* next, const std::string& description,
                 bool reports_launcher) {
  if (launcher_fd < 0 || !watch_wanted()) return;
  Task task;
  task.launcher = launcher_fd;
  task.reports_launcher = reports_launcher;
  const std::string begin = begin_of_loss(description);
  task.begin_length = std::min(begin.size(), sizeof task.begin);
  std::memcpy(task.begin, begin.data(), task.begin_length);
  if (!next || !duplicate_descriptors(*next, &task)) close_duplicates(&task);
  g_task = task;
  // No signal of the program is ever handled on that thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int id = clone(watch, g_stack + sizeof g_stack,
                       CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, nullptr);
  if (id > 0) record_library_thread(id);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close_duplicates(&task);  // the thread has copies
}

}  // namespace fgmpi::liveness
