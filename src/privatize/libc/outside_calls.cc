// The ways in which a rank waits outside of MPI while others run.

#include "privatize/libc/outside_calls.h"

#include <limits.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/clock.h"
#include "base/raw_call.h"
#include "privatize/libc/blocked_calls.h"
#include "privatize/libc/handlers.h"

namespace fgmpi::privatize {

bool lets_others_run(const void* caller) {
  return on_proclet_among_others() && !in_this_library(reinterpret_cast<uintptr_t>(caller)) &&
         !in_handler();
}

bool is_valid_time(const timespec* t) {
  return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < kSecond;
}

int64_t deadline_after(const timespec* duration) {
  return duration ? add_time(now_ns(), to_ns(*duration)) : kNever;
}

int64_t deadline_after_ms(int64_t ms) {
  return ms < 0 ? kNever : add_time(now_ns(), ms * 1'000'000);
}

int64_t deadline_at(clockid_t clock, const timespec* time) {
  timespec now;
  clock_gettime(clock, &now);
  const int64_t at = to_ns(*time);
  return at == INT64_MAX ? kNever : now_ns() + (at - to_ns(now));
}

OutsideWait::OutsideWait(const char* call, Restart restart, int64_t deadline)
    : wait_{call,
            nullptr,
            0,
            deadline,
            counts_of_rank(),
            counts_of_rank()->read(),
            restart == kRestarted} {}

sched::WaitEnd OutsideWait::until_ready(const pollfd* fds, size_t count) {
  const int kept = errno;
  wait_.fds = fds;
  wait_.count = count;
  sched::WaitEnd end;
  {
    sched::SwitchingCall inside;
    end = sched::wait_for_descriptors(wait_);
  }
  errno = kept;
  return end;
}

sched::WaitEnd OutsideWait::until_ready(int fd, short events) {
  const pollfd one{fd, events, 0};
  return until_ready(&one, 1);
}

sched::WaitEnd OutsideWait::a_while() {
  if (sched::is_interrupted(wait_)) return sched::WaitEnd::kInterrupted;
  const int64_t left = wait_.deadline == kNever ? kNever : wait_.deadline - now_ns();
  if (left <= 0) return sched::WaitEnd::kTimeOver;
  int64_t pause = std::min(pause_, left);
  let_others_run(&pause);
  pause_ = std::min(2 * pause_, kLongestPause);
  return sched::is_interrupted(wait_) ? sched::WaitEnd::kInterrupted : sched::WaitEnd::kReady;
}

bool ReadyRounds::wait(OutsideWait* w, int fd, short events, int over) {
  // This many rounds without a pause: another rank or process that waits may have been first.
  constexpr int kTrusting = 4;
  if (++rounds_ > kTrusting && !may_try_again(w->a_while(), over)) return false;
  return may_try_again(w->until_ready(fd, events), over);
}

void limit_by_socket(OutsideWait* w, int fd, int option) {
  const int kept = errno;
  timeval limit{};
  socklen_t size = sizeof limit;
  if (getsockopt(fd, SOL_SOCKET, option, &limit, &size) == 0 && (limit.tv_sec || limit.tv_usec)) {
    const timespec duration{limit.tv_sec, limit.tv_usec * 1000};
    w->set_deadline(deadline_after(&duration));
    w->is_not_restarted();
  }
  errno = kept;
}

ssize_t total_of_parts(const iovec* parts, size_t count) {
  if (count > IOV_MAX) return -1;
  size_t total = 0;
  for (size_t i = 0; i < count; ++i)
    if (__builtin_add_overflow(total, parts[i].iov_len, &total) || total > SSIZE_MAX) return -1;
  return static_cast<ssize_t>(total);
}

size_t skip_parts(const iovec* parts, size_t count, size_t done, iovec* to) {
  size_t left = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t skipped = std::min(done, parts[i].iov_len);
    done -= skipped;
    if (left == 0 && skipped == parts[i].iov_len) continue;
    to[left++] = {static_cast<char*>(parts[i].iov_base) + skipped, parts[i].iov_len - skipped};
  }
  return left;
}

int is_ready(int fd, short events) {
  pollfd one{fd, events, 0};
  const timespec none{};
  long n;
  do n = raw_call(SYS_ppoll, reinterpret_cast<long>(&one), 1, reinterpret_cast<long>(&none));
  while (n == -EINTR);
  return n != 0;
}

}  // namespace fgmpi::privatize
