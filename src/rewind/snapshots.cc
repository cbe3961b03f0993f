// Forking snapshots, serving as one, and waiting at an event.

#include "rewind/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "rewind/events.h"
#include "rewind/format.h"
#include "rewind/separation.h"
#include "rewind/trap.h"

volatile uint64_t fgmpi_rewind_stop_at = UINT64_MAX;
uint64_t fgmpi_rewind_check_at = UINT64_MAX;
volatile uint32_t fgmpi_rewind_debugged = 0;
[[gnu::noinline]] void fgmpi_rewind_stopped() { asm volatile(""); }

namespace fgmpi::rewind {

namespace {

/// Events between two looks at the clock.
constexpr uint64_t kEventsPerLook = 256;
/// Time between two snapshots (ns); longer where a fork takes more than one part in kForkShare.
constexpr int64_t kPause = 50'000'000, kForkShare = 8;
/// Events before the stop at which a snapshot is taken whatever the time, so that what lies just
/// before is near: the first is about all that a rank's calls of a second are apart from.
constexpr uint64_t kNearStop[] = {1 << 20, 1 << 17, 1 << 14};
/// How often a waiting process asks whether a debugger is attached (ns).
constexpr int64_t kDebuggerPause = 10'000'000;

bool g_snapshots = false;
int64_t g_next_snapshot = 0;
uint64_t g_looked_at = 0;  ///< the event of the look before

/// The system's clock: the counting one would move, which the repeated run must not notice.
int64_t real_now() {
  timespec now{};
  direct_call(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return to_ns(now);
}

[[noreturn]] void leave() {
  for (;;) direct_call(SYS_exit_group, 0);
}

bool receive_order(ControlOrder* order) {
  long n;
  do n = direct_call(SYS_recvfrom, kControlFd, order, sizeof *order, MSG_WAITALL, 0, 0);
  while (n == -EINTR);
  return n == sizeof *order;
}

void follow(const ControlOrder& order) {
  fgmpi_rewind_stop_at = order.stop_at;
  g_snapshots = order.snapshots != 0;
  g_lists = order.lists_events != 0;
}

/// Waits until the forked process has files and memory of its own: it closes its ends of the pipe
/// then, or when it dies.
void wait_for_separation(const int* steps) {
  direct_call(SYS_close, steps[1]);
  char none;
  while (direct_call(SYS_read, steps[0], &none, 1) == -EINTR) {
  }
  direct_call(SYS_close, steps[0]);
}

/// Forks a process with a socket of its own, and reports it. Returns true in the new one.
bool fork_reported(ControlReport::Kind kind) {
  int ends[2];
  if (direct_call(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  send_listed();
  const bool separates = shares_with_forks();
  int steps[2] = {-1, -1};
  if (separates && direct_call(SYS_pipe2, steps, O_CLOEXEC) != 0) {
    direct_call(SYS_close, ends[0]);
    direct_call(SYS_close, ends[1]);
    return false;
  }
  const long process = direct_call(SYS_clone, 0, 0, 0, 0, 0);
  if (process == 0) {
    direct_call(SYS_dup3, ends[1], kControlFd, O_CLOEXEC);
    direct_call(SYS_close, ends[0]);
    direct_call(SYS_close, ends[1]);
    if (separates) {
      separate_fork();
      direct_call(SYS_close, steps[0]);
      direct_call(SYS_close, steps[1]);
    }
    continue_trap();
    return true;
  }
  if (separates) wait_for_separation(steps);
  if (process > 0)
    send_report({kind, static_cast<int32_t>(process), fgmpi_rewind_events, {}}, ends[0]);
  direct_call(SYS_close, ends[0]);
  direct_call(SYS_close, ends[1]);
  return false;
}

/// The life of a snapshot. Returns in processes that run on.
void serve() {
  ControlOrder order;
  for (;;) {
    if (!receive_order(&order)) leave();
    if (!fork_reported(ControlReport::kRunner)) continue;
    follow(order);
    return;
  }
}

/// Does the stop come so near here that a snapshot is to be taken?
bool comes_near_stop() {
  const uint64_t before =
      g_looked_at < fgmpi_rewind_stop_at ? fgmpi_rewind_stop_at - g_looked_at : 0;
  const uint64_t now = fgmpi_rewind_stop_at - fgmpi_rewind_events;
  for (const uint64_t distance : kNearStop)
    if (before > distance && now <= distance) return true;
  return false;
}

void take_snapshot() {
  const int64_t start = real_now();
  const bool near = fgmpi_rewind_events <= fgmpi_rewind_stop_at && comes_near_stop();
  g_looked_at = fgmpi_rewind_events;
  if (start < g_next_snapshot && !near) return;
  if (fork_reported(ControlReport::kSnapshot)) serve();
  const int64_t end = real_now();
  g_next_snapshot = end + std::max(kPause, (end - start) * kForkShare);
}

/// Waits until mpiexec orders the process on, or a debugger is attached.
void wait_for_order() {
  send_listed();
  send_report({ControlReport::kStopped,
               static_cast<int32_t>(direct_call(SYS_getpid)),
               fgmpi_rewind_events,
               {}});
  ControlOrder order;
  while (!fgmpi_rewind_debugged) {
    pollfd control{kControlFd, POLLIN, 0};
    const timespec pause = to_timespec(kDebuggerPause);
    if (direct_call(SYS_ppoll, &control, 1, &pause, 0, 0) <= 0) continue;
    if (!receive_order(&order)) leave();
    return follow(order);
  }
}

}  // namespace

void send_report(const ControlReport& report, int fd) {
  iovec part{const_cast<ControlReport*>(&report), sizeof report};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  if (direct_call(SYS_sendmsg, kControlFd, &message, MSG_NOSIGNAL) != sizeof report) leave();
}

void begin_serving(const ControlOrder& order) {
  follow(order);
  fgmpi_rewind_check_at = std::min<uint64_t>(order.stop_at, order.snapshots ? 1 : UINT64_MAX);
}

void check_event() {
  // A snapshot of a debugged process would have the debugger's breakpoints in its code.
  if (g_snapshots && !fgmpi_rewind_debugged) take_snapshot();
  while (fgmpi_rewind_events >= fgmpi_rewind_stop_at) {
    if (!fgmpi_rewind_debugged) {
      wait_for_order();
      continue;
    }
    fgmpi_rewind_stopped();
    if (fgmpi_rewind_events >= fgmpi_rewind_stop_at) fgmpi_rewind_stop_at = UINT64_MAX;
  }
  fgmpi_rewind_check_at =
      std::min<uint64_t>(uint64_t{fgmpi_rewind_stop_at}, fgmpi_rewind_events + kEventsPerLook);
}

}  // namespace fgmpi::rewind
