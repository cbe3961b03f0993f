// Calls of the C library that wait for events outside of MPI (descriptors, children, locks of
// files, signals): while a rank waits in one, the other ranks of its process run.
//
//   one rank, another thread, a signal handler --> the C library's function, and nothing else
//   the call need not wait                     --> the C library's function
//   else: the rank waits, as below, until the call need not wait; then it calls the C library's
//   function
//
//   the call waits for         how the rank waits
//   a descriptor               one thread polls for all ranks (sched::wait_for_descriptors)
//   another event              the rank repeats a form of the call that does not wait (LOCK_NB,
//                              WNOHANG), after 0.02 to 1 ms
//   one without such a form    another thread makes the call (wait_on_other_thread)
//
// So the scheduler's thread makes nearly all calls, and their error numbers, signals and owners are
// the same as without this library. An event outside of MPI may end such a wait: no deadlock is
// reported meanwhile.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/uio.h>

#include <climits>
#include <cstdint>

#include "privatize/libc/waits.h"
#include "proclet-sched/threads/descriptor_waits.h"

namespace fgmpi::privatize {

/// True where a call of code at `caller` lets other ranks run while it waits. False for the only
/// rank of a process, for calls of this library, and within signal handlers, which may have
/// interrupted anything.
bool lets_others_run(const void* caller);

constexpr int64_t kNever = INT64_MAX;
/// Deadlines are times of now_ns(). This one is `duration` from now; nullptr: kNever.
/// REQUIRES: is_valid_time(duration).
int64_t deadline_after(const timespec* duration);
int64_t deadline_after_ms(int64_t ms);  ///< less than 0: kNever
/// The deadline at a time of the given clock.
int64_t deadline_at(clockid_t clock, const timespec* time);
bool is_valid_time(const timespec* time);

/// The wait of one call. A signal handler of the rank that runs after its construction
/// interrupts it.
class OutsideWait {
 public:
  /// kRestarted: handlers that were installed with SA_RESTART do not interrupt the wait.
  enum Restart : bool { kNotRestarted, kRestarted };
  OutsideWait(const char* call, Restart restart, int64_t deadline = kNever);

  /// Waits until one of the descriptors may be ready. Like the next two functions, leaves errno
  /// unchanged and may switch.
  sched::WaitEnd until_ready(const pollfd* fds, size_t count);
  sched::WaitEnd until_ready(int fd, short events);
  /// Waits for 0.02 ms, longer at each call up to 1 ms. Returns kReady where the caller is to try
  /// its call again, else how the wait has ended.
  sched::WaitEnd a_while();
  /// Makes handlers with SA_RESTART interrupt the wait, too, as for a socket with a time limit.
  void is_not_restarted() { wait_.restarts = false; }
  bool is_interrupted() const { return sched::is_interrupted(wait_); }
  void set_deadline(int64_t deadline) { wait_.deadline = deadline; }

 private:
  sched::DescriptorWait wait_;
  int64_t pause_ = kFirstPause;
};

/// True where the caller tries its call again. Otherwise errno is set: to `over` at the deadline,
/// to EINTR after an interruption.
inline bool may_try_again(sched::WaitEnd end, int over) {
  if (end == sched::WaitEnd::kReady) return true;
  errno = end == sched::WaitEnd::kTimeOver ? over : EINTR;
  return false;
}

/// Rounds of a wait for a descriptor: poll() may report it as ready although the call would
/// still wait.
class ReadyRounds {
 public:
  /// Waits until the descriptor may be ready; after the first rounds, pauses before. Returns false,
  /// with errno as of may_try_again(), where the wait has ended otherwise. May switch.
  bool wait(OutsideWait* w, int fd, short events, int over);

 private:
  int rounds_ = 0;
};

/// Gives the wait the time limit of a socket (SO_RCVTIMEO, SO_SNDTIMEO), if it has one. Leaves
/// errno unchanged.
void limit_by_socket(OutsideWait* w, int fd, int option);

/// poll() of this descriptor with no time: returns 0 where it would wait. Leaves errno unchanged.
int is_ready(int fd, short events);

/// Returns the sum of the parts' bytes; -1 where it is out of range: the C library's function
/// reports the error.
ssize_t total_of_parts(const iovec* parts, size_t count);
/// Copies `parts` without the first `done` bytes to `to`. Returns how many parts are left.
size_t skip_parts(const iovec* parts, size_t count, size_t done, iovec* to);

/// write() and writev() of a rank; other ranks run while they wait. May switch.
ssize_t write_of_rank(int fd, const void* bytes, size_t size);
ssize_t writev_of_rank(int fd, const iovec* parts, int count);

/// poll(), ppoll(), select() and pselect(), with descriptors or without, for code at `caller`.
/// May switch.
int poll_outside(const void* caller, pollfd* fds, nfds_t count, int timeout_ms);
int ppoll_outside(const void* caller, pollfd* fds, nfds_t count, const timespec* timeout,
                  const sigset_t* mask);
int select_outside(const void* caller, int count, fd_set* in, fd_set* out, fd_set* except,
                   timeval* timeout);
int pselect_outside(const void* caller, int count, fd_set* in, fd_set* out, fd_set* except,
                    const timespec* timeout, const sigset_t* mask);

}  // namespace fgmpi::privatize
