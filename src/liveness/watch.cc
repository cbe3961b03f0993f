#include "liveness/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

#include "base/raw_call.h"
#include "base/settings.h"
#include "base/strings.h"
#include "bootstrap/line_channel.h"
#include "liveness/end_mark.h"

namespace fgmpi::liveness {
namespace {

/// How long the launcher has at most for ending this process too, before a fault is believed in.
constexpr int kGrace = 100'000;  // microseconds
constexpr int kLook = 200;

/// What the thread knows; written before it starts.
struct Watched {
  int launcher = -1;  ///< own connection to the launcher
  /// Of the next process; -1 when there is none. Its output is held too: when that ends, the launcher looks round
  /// for processes that have ended.
  enum Held { kProcess, kLauncher, kFarewell, kOutput, kErrors, kCount };
  int held[kCount] = {-1, -1, -1, -1, -1};
  int pid = 0;
  bool speaks = false;
  size_t words = 0;
  char text[512];  ///< the line as far as it is known beforehand
};
Watched g_watched;
alignas(64) char g_stack[16 << 10];

long address_of(const void* p) { return reinterpret_cast<long>(p); }

/// Waits for the events; false when interrupted or out of time.
bool wait_for(pollfd* what, int count, int microseconds) {
  timespec limit{microseconds / 1'000'000, microseconds % 1'000'000 * 1'000L};
  return raw_call(SYS_ppoll, address_of(what), count, microseconds < 0 ? 0 : address_of(&limit)) >
         0;
}

void stand_still(int microseconds) { wait_for(nullptr, 0, microseconds); }

bool is_set(int fd) {
  pollfd one{fd, POLLIN, 0};
  return wait_for(&one, 1, 0) && (one.revents & POLLIN);
}

/// A line of text that is put together without the C library's help.
struct Line {
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

/// The words of /proc/PID/stat that are asked for here.
struct Stat {
  char state = '?';
  int parent = 0;
  int status = -1;  ///< of a process that has ended and that nobody has waited for yet; else -1
};

int leading_number(const char* text, long begin, long end) {
  int value = 0;
  for (; begin < end && text[begin] >= '0' && text[begin] <= '9'; ++begin)
    value = value * 10 + (text[begin] - '0');
  return value;
}

/// "PID (NAME) STATE PARENT ... STATUS"; NAME may hold anything.
Stat stat_of(int pid) {
  Stat result;
  Line path;
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

/// When the launcher ends all processes, it is busy until it has come to this one too. True when it is not busy.
bool launcher_sleeps() {
  constexpr int kMostAncestors = 3;
  int ancestor = static_cast<int>(raw_call(SYS_getppid));
  for (int i = 0; i < kMostAncestors && ancestor > 1; ++i) {
    Stat stat = stat_of(ancestor);
    if (stat.state == 'R') return false;
    ancestor = stat.parent;
  }
  return true;
}

/// The next process has ended and its connection to the launcher has not been closed by the launcher: says so. That
/// the launcher learns of it too, and ends the job, is up to the caller.
void report_loss(const Watched& w) {
  if (is_set(w.held[Watched::kFarewell])) return;
  // Before anything else: the status is there only until the launcher has waited for the process.
  const int status = stat_of(w.pid).status;
  for (int waited = 0; waited < kGrace && !launcher_sleeps(); waited += kLook) stand_still(kLook);
  Line line;
  line.add(w.text, w.words);
  if (status < 0) {
    line.add("it has ended");
  } else if (status & 0x7f) {
    unsigned number = status & 0x7f;
    line.add("killed by signal ");
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

/// Closes all descriptors of the thread but those that it needs.
void keep_own_descriptors(const Watched& w) {
  unsigned next = 0;
  for (;;) {
    int least = -1;
    auto consider = [&](int fd) {
      if (fd >= 0 && static_cast<unsigned>(fd) >= next && (least < 0 || fd < least)) least = fd;
    };
    consider(STDERR_FILENO);
    consider(w.launcher);
    for (int fd : w.held) consider(fd);
    if (least < 0) break;
    if (static_cast<unsigned>(least) > next)
      close_descriptors(next, static_cast<unsigned>(least) - 1);
    next = static_cast<unsigned>(least) + 1;
  }
  close_descriptors(next, ~0u);
}

void launcher_is_gone(const Watched& w) {
  if (bootstrap::end_of_launcher_expected()) return;
  stand_still(kGrace);  // its last act may be to end this process
  if (bootstrap::end_of_launcher_expected()) return;
  constexpr std::string_view kWords = "fgmpi: the launcher is gone, the job ends\n";
  if (w.speaks)
    raw_call(SYS_write, STDERR_FILENO, address_of(kWords.data()), static_cast<long>(kWords.size()));
  for (;;) raw_call(SYS_exit_group, 1);
}

int watch(void*) {
  Watched w = g_watched;
  keep_own_descriptors(w);
  for (;;) {
    pollfd fds[] = {{w.launcher, POLLRDHUP, 0},
                    {w.held[Watched::kLauncher], POLLRDHUP, 0},
                    {w.held[Watched::kProcess], POLLIN, 0}};
    if (!wait_for(fds, 3, -1)) continue;
    if (fds[0].revents) {
      launcher_is_gone(w);
      return 0;
    }
    if (fds[2].revents && !fds[1].revents) report_loss(w);
    for (int& fd : w.held) {
      if (fd >= 0) raw_call(SYS_close, fd);
      fd = -1;
    }
  }
}

/// A descriptor of ours for what the process of `pidfd` has as `fd`.
int duplicate(int pidfd, int fd) {
  int copy = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
  if (copy < 0) return -1;
  int high = fcntl(copy, F_DUPFD_CLOEXEC, 512);
  if (high < 0) return copy;
  close(copy);
  return high;
}

bool hold(const Card& next, Watched* w) {
  w->pid = next.pid;
  const int process = static_cast<int>(syscall(SYS_pidfd_open, next.pid, 0));
  if (process < 0) return false;
  w->held[Watched::kProcess] = process;
  w->held[Watched::kLauncher] = duplicate(process, next.launcher_fd);
  w->held[Watched::kFarewell] = duplicate(process, next.farewell_fd);
  w->held[Watched::kOutput] = duplicate(process, STDOUT_FILENO);
  w->held[Watched::kErrors] = duplicate(process, STDERR_FILENO);
  return w->held[Watched::kLauncher] >= 0 && w->held[Watched::kFarewell] >= 0;
}

void let_go(Watched* w) {
  for (int& fd : w->held) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
}

}  // namespace

bool watch_wanted() {
#if defined(FGMPI_SANITIZE)
  return false;  // a thread that the sanitizer has not seen begin
#else
#ifdef RUNNING_ON_VALGRIND
  if (RUNNING_ON_VALGRIND) return false;  // it ends processes that have such threads
#endif
  return settings::on(settings::kWatch);
#endif
}

std::string Card::to_string() const {
  return format("%d:%d:%d:%s:%s", pid, launcher_fd, farewell_fd, host_id.c_str(),
                host_name.c_str());
}

bool Card::parse(const std::string& text) {
  char id[81], name[41], rest;
  if (std::sscanf(text.c_str(), "%d:%d:%d:%80[0-9a-f]:%40[A-Za-z0-9._-]%c", &pid, &launcher_fd,
                  &farewell_fd, id, name, &rest) != 5)
    return false;
  host_id = id;
  host_name = name;
  return pid > 0;
}

Card own_card(int launcher_fd, const std::string& host_id) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  Card card;
  card.pid = getpid();
  card.launcher_fd = launcher_fd;
  card.farewell_fd = end_mark_fd();
  card.host_id = host_id;
  card.host_name = std::string(name).substr(0, 40);
  for (char& c : card.host_name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  if (card.host_name.empty()) card.host_name = "unknown";
  return card;
}

void start_watch(int launcher_fd, const Card* next, const std::string& words, bool speaks) {
  if (launcher_fd < 0 || !watch_wanted()) return;
  Watched w;
  w.launcher = launcher_fd;
  w.speaks = speaks;
  const std::string line = "fgmpi: " + words + " is gone: ";
  w.words = std::min(line.size(), sizeof w.text);
  std::memcpy(w.text, line.data(), w.words);
  if (!next || !hold(*next, &w)) let_go(&w);
  g_watched = w;
  // No signal of the program's is ever handled on that thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  clone(watch, g_stack + sizeof g_stack, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
        nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  let_go(&w);  // the thread has copies
}

}  // namespace fgmpi::liveness
