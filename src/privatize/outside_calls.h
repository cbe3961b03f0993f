// Calls of the C library that wait for what comes from outside of MPI (descriptors, children, locks
// of files, signals): while a rank waits in one, the other ranks of its process run.
//
//   one rank, another thread, a handler of a signal --> the C library's function, and nothing else
//   it need not wait                                --> the C library's function
//   else: the rank waits until it need not, as below, and then calls the C library's function
//
//   what is waited for     how
//   a descriptor           one thread polls for all ranks (sched::wait_for_descriptors)
//   anything else          a form of the call that does not wait (LOCK_NB, WNOHANG), again after
//                          0.02 to 1 ms
//   what has no such form  another thread makes the call (wait_on_other_thread)
//
// So nearly all calls are made on the scheduler's thread, and have their error numbers, signals and
// owners as without. A rank that waits so may go on by itself: no deadlock is reported meanwhile.
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

#include "privatize/waits.h"
#include "proclet-sched/descriptor_waits.h"

namespace fgmpi::privatize {

/// The call that code at `caller` makes lets other ranks run while it waits: it is a rank's among
/// others, not the library's own, and not made by a handler of a signal, which may have interrupted
/// anything.
bool lets_others_run(const void* caller);

constexpr int64_t kNever = INT64_MAX;
/// now + `duration`, kNever for a nullptr. REQUIRES: a valid duration.
int64_t deadline_after(const timespec* duration);
int64_t deadline_after_ms(int64_t ms);  ///< less than 0: kNever
/// The time of that clock as a deadline.
int64_t deadline_at(clockid_t clock, const timespec* time);
bool is_valid_time(const timespec* time);

/// One call that waits. Handlers of signals that run since it was made interrupt it.
class OutsideWait {
 public:
  /// Whether handlers that were installed with SA_RESTART do not interrupt it.
  enum Restart : bool { kNotRestarted, kRestarted };
  OutsideWait(const char* call, Restart restart, int64_t deadline = kNever);

  /// Until a descriptor is ready, perhaps. All three: may switch; keep errno.
  sched::WaitEnd until_ready(const pollfd* fds, size_t count);
  sched::WaitEnd until_ready(int fd, short events);
  /// A while, then kReady: for a call that is to be tried again.
  sched::WaitEnd a_while();
  /// Handlers interrupt it from now on whatever they were installed with: a socket with a time
  /// limit.
  void is_not_restarted() { wait_.restarts = false; }
  bool is_interrupted() const { return sched::is_interrupted(wait_); }
  void set_deadline(int64_t deadline) { wait_.deadline = deadline; }

 private:
  sched::DescriptorWait wait_;
  int64_t pause_ = kFirstPause;
};

/// True: the wait is to go on. False: errno says why not, `over` at the end of the time.
inline bool goes_on(sched::WaitEnd end, int over) {
  if (end == sched::WaitEnd::kReady) return true;
  errno = end == sched::WaitEnd::kTimeOver ? over : EINTR;
  return false;
}

/// The end of a wait for a descriptor by rounds: poll() may say that it is ready where the call
/// still waits.
class ReadyRounds {
 public:
  /// Waits for the next round. True: it may be ready.
  bool wait(OutsideWait* w, int fd, short events, int over);

 private:
  int rounds_ = 0;
};

/// The time limit of a socket (SO_RCVTIMEO, SO_SNDTIMEO), if it has one, becomes the wait's.
void limit_by_socket(OutsideWait* w, int fd, int option);

/// poll() of this descriptor with no time: 0 where it would wait. Keeps errno.
int is_ready(int fd, short events);

/// Bytes in all, or -1 where the C library is to say what is wrong.
ssize_t total_of_parts(const iovec* parts, size_t count);
/// A copy of `parts` without the first `done` bytes, in `to`. Returns how many parts are left.
size_t skip_parts(const iovec* parts, size_t count, size_t done, iovec* to);

/// As write() and writev() of a rank that lets others run. May switch.
ssize_t write_of_rank(int fd, const void* bytes, size_t size);
ssize_t writev_of_rank(int fd, const iovec* parts, int count);

/// The functions of those names, with descriptors or without, for code at `caller`. May switch.
int poll_outside(const void* caller, pollfd* fds, nfds_t count, int timeout_ms);
int ppoll_outside(const void* caller, pollfd* fds, nfds_t count, const timespec* timeout,
                  const sigset_t* mask);
int select_outside(const void* caller, int count, fd_set* in, fd_set* out, fd_set* except,
                   timeval* timeout);
int pselect_outside(const void* caller, int count, fd_set* in, fd_set* out, fd_set* except,
                    const timespec* timeout, const sigset_t* mask);

}  // namespace fgmpi::privatize
