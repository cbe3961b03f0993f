// Waiting for several descriptors: poll(), select(), epoll_wait() and their like. A rank makes each
// call with no time first, and again whenever one of the descriptors may have become ready; so the
// answer is always the kernel's. With a set of signals the rank makes the call again after 0.02 to
// 1 ms: such a signal may be pending, and only that system call delivers it. Without descriptors
// these calls are sleeps (sleeps.cc).
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "base/clock.h"
#include "privatize/libc/blocked_calls.h"
#include "privatize/libc/outside_calls.h"

namespace fgmpi::privatize {
namespace {

constinit Real<int(pollfd*, nfds_t, int)> g_poll("poll");
constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> g_ppoll("ppoll");
constinit Real<int(int, fd_set*, fd_set*, fd_set*, timeval*)> g_select("select");
constinit Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> g_pselect(
    "pselect");
constinit Real<int(int, epoll_event*, int, int)> g_epoll_wait("epoll_wait");
constinit Real<int(int, epoll_event*, int, int, const sigset_t*)> g_epoll_pwait("epoll_pwait");
int epoll_pwait2_by_number(int fd, epoll_event* events, int count, const timespec* timeout,
                           const sigset_t* mask) {
  constexpr size_t kMaskBytes = 8;  // of the kernel's sets of signals
  return static_cast<int>(syscall(SYS_epoll_pwait2, fd, events, count, timeout, mask, kMaskBytes));
}
constinit Real<int(int, epoll_event*, int, const timespec*, const sigset_t*)> g_epoll_pwait2(
    "epoll_pwait2", epoll_pwait2_by_number);  // glibc has it from 2.35 on

constexpr timespec kNoTime{};

/// Repeats `ask`, the call with no time, until it answers other than 0, a handler runs or the time
/// is over (result 0). `wait_for(wait)` waits for its descriptors between two calls. May switch.
template <class Ask, class WaitFor>
int repeat_call_until(const char* call, int64_t deadline, Ask ask, WaitFor wait_for) {
  // This many rounds without a pause. poll() may report readiness that select() does not, the end
  // of a pipe for instance: later rounds pause.
  constexpr int kTrusting = 4;
  OutsideWait wait(call, OutsideWait::kNotRestarted, deadline);
  for (int round = 0;; ++round) {
    const int result = ask();
    if (result != 0) return result;
    sched::WaitEnd end = round < kTrusting ? sched::WaitEnd::kReady : wait.a_while();
    if (end == sched::WaitEnd::kReady) end = wait_for(&wait);
    switch (end) {
      case sched::WaitEnd::kReady:
        break;
      case sched::WaitEnd::kTimeOver:
        return ask();
      case sched::WaitEnd::kInterrupted:
        return errno = EINTR, -1;
    }
  }
}

sched::WaitEnd wait_for_next_try(OutsideWait* wait) { return wait->a_while(); }

/// The poll() of a rank. Waits with a copy of `fds`, which may lie in memory that holds the rank's
/// data only while the rank runs. May switch.
template <class Ask>
int poll_of_rank(const char* call, const pollfd* fds, nfds_t count, int64_t deadline, Ask ask) {
  constexpr nfds_t kFew = 8;
  pollfd few[kFew];
  std::unique_ptr<pollfd[]> many;
  pollfd* copy = few;
  if (count > kFew) {
    many.reset(new (std::nothrow) pollfd[count]);
    copy = many.get();
  }
  return repeat_call_until(call, deadline, ask, [&](OutsideWait* wait) {
    if (!copy) return wait->a_while();
    std::copy_n(fds, count, copy);
    return wait->until_ready(copy, count);
  });
}

/// The sets of a select(), which it overwrites.
struct Sets {
  int count;
  fd_set* sets[3];
  fd_set before[3];

  Sets(int n, fd_set* in, fd_set* out, fd_set* except) : count(n), sets{in, out, except} {
    for (int i = 0; i < 3; ++i)
      if (sets[i]) memcpy(&before[i], sets[i], bytes());
  }
  size_t bytes() const {
    const auto bits = static_cast<size_t>(count);
    return (bits + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);
  }
  void restore() const {
    for (int i = 0; i < 3; ++i)
      if (sets[i]) memcpy(sets[i], &before[i], bytes());
  }
  /// Writes the descriptors of the sets in the form of poll(); returns how many.
  nfds_t gather(pollfd* fds) const {
    nfds_t n = 0;
    for (int fd = 0; fd < count; ++fd) {
      short events = 0;
      if (sets[0] && FD_ISSET(fd, &before[0])) events |= POLLIN;
      if (sets[1] && FD_ISSET(fd, &before[1])) events |= POLLOUT;
      if (sets[2] && FD_ISSET(fd, &before[2])) events |= POLLPRI;
      if (events) fds[n++] = {fd, events, 0};
    }
    return n;
  }
};

/// select() and pselect() of a rank with at most FD_SETSIZE descriptors. `ask` is the call with no
/// time, made with the sets as the program passed them. `looks`: the rank repeats the call after
/// pauses instead of waiting for its descriptors. May switch.
template <class Ask>
int select_of_rank(const char* call, int count, fd_set* in, fd_set* out, fd_set* except,
                   int64_t deadline, bool looks, Ask ask) {
  const Sets sets(count, in, out, except);
  pollfd fds[FD_SETSIZE];
  const nfds_t n = sets.gather(fds);
  auto call_with_fresh_set = [&] {
    sets.restore();
    return ask();
  };
  return repeat_call_until(call, deadline, call_with_fresh_set, [&](OutsideWait* wait) {
    return looks ? wait->a_while() : wait->until_ready(fds, n);
  });
}

int epoll_of_rank(const char* call, int fd, int64_t deadline, bool looks, auto ask) {
  return repeat_call_until(call, deadline, ask, [&](OutsideWait* wait) {
    return looks ? wait->a_while() : wait->until_ready(fd, POLLIN);
  });
}

timespec rest_of(int64_t deadline) {
  return to_timespec(std::max<int64_t>(deadline - now_ns(), 0));
}

}  // namespace

int poll_outside(const void* caller, pollfd* fds, nfds_t count, int timeout_ms) {
  if (timeout_ms == 0 || !lets_others_run(caller)) {
    InKernel marked(caller);
    return g_poll(fds, count, timeout_ms);
  }
  return poll_of_rank("poll", fds, count, deadline_after_ms(timeout_ms),
                      [=] { return g_poll(fds, count, 0); });
}

int ppoll_outside(const void* caller, pollfd* fds, nfds_t count, const timespec* timeout,
                  const sigset_t* mask) {
  if ((timeout && !is_valid_time(timeout)) || !lets_others_run(caller)) {
    InKernel marked(caller);
    return g_ppoll(fds, count, timeout, mask);
  }
  const int64_t deadline = deadline_after(timeout);
  if (mask)
    return repeat_call_until(
        "ppoll", deadline, [=] { return g_ppoll(fds, count, &kNoTime, mask); }, wait_for_next_try);
  return poll_of_rank("ppoll", fds, count, deadline, [=] { return g_poll(fds, count, 0); });
}

int select_outside(const void* caller, int count, fd_set* in, fd_set* out, fd_set* except,
                   timeval* timeout) {
  const bool valid = !timeout || (timeout->tv_sec >= 0 && timeout->tv_usec >= 0);
  if (!valid || count < 0 || count > FD_SETSIZE || !lets_others_run(caller)) {
    InKernel marked(caller);
    return g_select(count, in, out, except, timeout);
  }
  int64_t deadline = kNever;
  if (timeout) {
    const timespec duration{timeout->tv_sec + timeout->tv_usec / 1'000'000,
                            timeout->tv_usec % 1'000'000 * 1000};
    deadline = deadline_after(&duration);
  }
  const int result = select_of_rank("select", count, in, out, except, deadline, false, [=] {
    timeval none{};
    return g_select(count, in, out, except, &none);
  });
  if (timeout) {  // Linux writes the remaining time back, too
    const timespec left = rest_of(deadline);
    *timeout = {left.tv_sec, left.tv_nsec / 1000};
  }
  return result;
}

int pselect_outside(const void* caller, int count, fd_set* in, fd_set* out, fd_set* except,
                    const timespec* timeout, const sigset_t* mask) {
  if ((timeout && !is_valid_time(timeout)) || count < 0 || count > FD_SETSIZE ||
      !lets_others_run(caller)) {
    InKernel marked(caller);
    return g_pselect(count, in, out, except, timeout, mask);
  }
  return select_of_rank("pselect", count, in, out, except, deadline_after(timeout), mask != nullptr,
                        [=] { return g_pselect(count, in, out, except, &kNoTime, mask); });
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int epoll_wait(int fd, epoll_event* events, int count, int timeout_ms) {
  if (timeout_ms == 0 || !lets_others_run(__builtin_return_address(0))) {
    InKernel marked(__builtin_return_address(0));
    return g_epoll_wait(fd, events, count, timeout_ms);
  }
  return epoll_of_rank("epoll_wait", fd, deadline_after_ms(timeout_ms), false,
                       [=] { return g_epoll_wait(fd, events, count, 0); });
}

FGMPI_INTERPOSE int epoll_pwait(int fd, epoll_event* events, int count, int timeout_ms,
                                const sigset_t* mask) {
  if (!lets_others_run(__builtin_return_address(0))) {
    InKernel marked(__builtin_return_address(0));
    return g_epoll_pwait(fd, events, count, timeout_ms, mask);
  }
  return epoll_of_rank("epoll_pwait", fd, deadline_after_ms(timeout_ms), mask != nullptr,
                       [=] { return g_epoll_pwait(fd, events, count, 0, mask); });
}

FGMPI_INTERPOSE int epoll_pwait2(int fd, epoll_event* events, int count, const timespec* timeout,
                                 const sigset_t* mask) {
  if ((timeout && !is_valid_time(timeout)) || !lets_others_run(__builtin_return_address(0))) {
    InKernel marked(__builtin_return_address(0));
    return g_epoll_pwait2(fd, events, count, timeout, mask);
  }
  return epoll_of_rank("epoll_pwait2", fd, deadline_after(timeout), mask != nullptr,
                       [=] { return g_epoll_pwait2(fd, events, count, &kNoTime, mask); });
}

// Programs that are compiled with _FORTIFY_SOURCE call poll() and ppoll() by these names, where the
// compiler can see the size of the array.

FGMPI_INTERPOSE int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t room) {
  static constinit Real<int(pollfd*, nfds_t, int, size_t)> real("__poll_chk");
  if (room / sizeof *fds < count) return real(fds, count, timeout_ms, room);
  return poll_outside(__builtin_return_address(0), fds, count, timeout_ms);
}

FGMPI_INTERPOSE int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                                const sigset_t* mask, size_t room) {
  static constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t)> real(
      "__ppoll_chk");
  if (room / sizeof *fds < count) return real(fds, count, timeout, mask, room);
  return ppoll_outside(__builtin_return_address(0), fds, count, timeout, mask);
}
