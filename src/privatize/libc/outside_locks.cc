// Locks of files, queues of messages and System V's semaphores: the rank tries without waiting,
// again and again.
//
// The kernel's queues of waiting callers are not used. So the kernel finds no cycles of waits for
// locks of files (EDEADLK), and the first caller that tries after a release gets the lock.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "privatize/libc/outside_calls.h"
#include "privatize/libc/rank_descriptors.h"

namespace fgmpi::privatize {
namespace {

/// Calls `attempt`, which does not wait, until it succeeds or fails with another error than `busy`
/// and `busy_too`: the errors that mean that the call would wait. May switch.
template <class F>
auto try_until_done(const char* call, OutsideWait::Restart restart, int64_t deadline, int busy,
                    int busy_too, F attempt) {
  const int kept = errno;
  OutsideWait wait(call, restart, deadline);
  for (;;) {
    const auto result = attempt();
    if (result >= 0 || (errno != busy && errno != busy_too)) return result;
    if (!may_try_again(wait.a_while(), busy)) return result;
    errno = kept;
  }
}

using Fcntl = int(int, int, void*);

int fcntl_of_rank(Real<Fcntl>& real, int fd, int command, void* argument) {
  const int attempt = command == F_SETLKW ? F_SETLK : F_OFD_SETLK;
  return try_until_done("fcntl", OutsideWait::kRestarted, kNever, EAGAIN, EACCES,
                        [&] { return real(fd, attempt, argument); });
}

using Lockf = int(int, int, off_t);

int lockf_of_rank(Real<Lockf>& real, int fd, off_t size) {
  return try_until_done("lockf", OutsideWait::kRestarted, kNever, EAGAIN, EACCES,
                        [&] { return real(fd, F_TLOCK, size); });
}

constinit Real<int(int, sembuf*, size_t, const timespec*)> g_semtimedop("semtimedop");

bool waits_not(const sembuf& operation) { return operation.sem_flg & IPC_NOWAIT; }

int semop_of_rank(int set, sembuf* operations, size_t count, const timespec* timeout) {
  constexpr size_t kMost = 500;  // SEMOPM
  if (count > kMost || std::all_of(operations, operations + count, waits_not))
    return g_semtimedop(set, operations, count, timeout);
  // Where only some operations may wait, the error number would not show which of them has to:
  // another thread makes the call.
  if (std::any_of(operations, operations + count, waits_not))
    return wait_on_other_thread(
        "semop", [&] { return g_semtimedop(set, operations, count, timeout); }, kWithErrno);
  const std::unique_ptr<sembuf[]> attempt(new (std::nothrow) sembuf[count]);
  if (!attempt) return errno = ENOMEM, -1;
  std::copy_n(operations, count, attempt.get());
  std::for_each_n(attempt.get(), count, [](sembuf& o) { o.sem_flg |= IPC_NOWAIT; });
  return try_until_done("semop", OutsideWait::kNotRestarted, deadline_after(timeout), EAGAIN,
                        EAGAIN, [&] { return g_semtimedop(set, attempt.get(), count, nullptr); });
}

/// A time of CLOCK_REALTIME in the past: calls on queues with this time limit return at once. It is
/// no constant, since an emulator of processes (qemu) writes it back.
timespec g_over{0, 0};

/// A call on a queue of messages, which is a descriptor to wait for. `attempt` fails with ETIMEDOUT
/// where the call would wait. May switch.
template <class F>
auto use_queue(const char* call, mqd_t queue, short events, int64_t deadline, F attempt) {
  const int kept = errno;
  OutsideWait wait(call, OutsideWait::kRestarted, deadline);
  for (ReadyRounds rounds;;) {
    const auto result = attempt();
    if (result >= 0 || errno != ETIMEDOUT) return result;
    if (!rounds.wait(&wait, queue, events, ETIMEDOUT)) return result;
    errno = kept;
  }
}

bool is_valid_limit(const timespec* t) { return !t || is_valid_time(t); }
int64_t limit_of_queue(const timespec* t) { return t ? deadline_at(CLOCK_REALTIME, t) : kNever; }

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

#define FGMPI_OTHERS_RUN lets_others_run(__builtin_return_address(0))

FGMPI_INTERPOSE int flock(int fd, int operation) noexcept {
  static constinit Real<int(int, int)> real("flock");
  if (operation & (LOCK_NB | LOCK_UN) || !FGMPI_OTHERS_RUN) return real(fd, operation);
  return try_until_done("flock", OutsideWait::kRestarted, kNever, EWOULDBLOCK, EWOULDBLOCK,
                        [&] { return real(fd, operation | LOCK_NB); });
}

FGMPI_INTERPOSE int fcntl(int fd, int command, ...) {
  static constinit Real<Fcntl> real("fcntl");
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
    return give_descriptor(real(fd, command, argument), __builtin_return_address(0));
  if ((command != F_SETLKW && command != F_OFD_SETLKW) || !FGMPI_OTHERS_RUN)
    return real(fd, command, argument);
  return fcntl_of_rank(real, fd, command, argument);
}

FGMPI_INTERPOSE int fcntl64(int fd, int command, ...) {
  static constinit Real<Fcntl> real("fcntl64");
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
    return give_descriptor(real(fd, command, argument), __builtin_return_address(0));
  if ((command != F_SETLKW && command != F_OFD_SETLKW) || !FGMPI_OTHERS_RUN)
    return real(fd, command, argument);
  return fcntl_of_rank(real, fd, command, argument);
}

FGMPI_INTERPOSE int lockf(int fd, int command, off_t size) {
  static constinit Real<Lockf> real("lockf");
  if (command != F_LOCK || !FGMPI_OTHERS_RUN) return real(fd, command, size);
  return lockf_of_rank(real, fd, size);
}

FGMPI_INTERPOSE int lockf64(int fd, int command, off_t size) {
  static constinit Real<Lockf> real("lockf64");
  if (command != F_LOCK || !FGMPI_OTHERS_RUN) return real(fd, command, size);
  return lockf_of_rank(real, fd, size);
}

FGMPI_INTERPOSE ssize_t msgrcv(int queue, void* message, size_t size, long type, int flags) {
  static constinit Real<ssize_t(int, void*, size_t, long, int)> real("msgrcv");
  if (flags & IPC_NOWAIT || !FGMPI_OTHERS_RUN) return real(queue, message, size, type, flags);
  return try_until_done("msgrcv", OutsideWait::kNotRestarted, kNever, ENOMSG, ENOMSG,
                        [&] { return real(queue, message, size, type, flags | IPC_NOWAIT); });
}

FGMPI_INTERPOSE int msgsnd(int queue, const void* message, size_t size, int flags) {
  static constinit Real<int(int, const void*, size_t, int)> real("msgsnd");
  if (flags & IPC_NOWAIT || !FGMPI_OTHERS_RUN) return real(queue, message, size, flags);
  return try_until_done("msgsnd", OutsideWait::kNotRestarted, kNever, EAGAIN, EAGAIN,
                        [&] { return real(queue, message, size, flags | IPC_NOWAIT); });
}

FGMPI_INTERPOSE int semop(int set, sembuf* operations, size_t count) noexcept {
  static constinit Real<int(int, sembuf*, size_t)> real("semop");
  if (!FGMPI_OTHERS_RUN) return real(set, operations, count);
  return semop_of_rank(set, operations, count, nullptr);
}

FGMPI_INTERPOSE int semtimedop(int set, sembuf* operations, size_t count,
                               const timespec* timeout) noexcept {
  if (!is_valid_limit(timeout) || !FGMPI_OTHERS_RUN)
    return g_semtimedop(set, operations, count, timeout);
  return semop_of_rank(set, operations, count, timeout);
}

FGMPI_INTERPOSE ssize_t mq_timedreceive(mqd_t queue, char* to, size_t size, unsigned* priority,
                                        const timespec* until) {
  static constinit Real<ssize_t(mqd_t, char*, size_t, unsigned*, const timespec*)> real(
      "mq_timedreceive");
  if (!is_valid_limit(until) || !FGMPI_OTHERS_RUN) return real(queue, to, size, priority, until);
  return use_queue("mq_receive", queue, POLLIN, limit_of_queue(until),
                   [&] { return real(queue, to, size, priority, &g_over); });
}

FGMPI_INTERPOSE ssize_t mq_receive(mqd_t queue, char* to, size_t size, unsigned* priority) {
  static constinit Real<ssize_t(mqd_t, char*, size_t, unsigned*)> real("mq_receive");
  static constinit Real<ssize_t(mqd_t, char*, size_t, unsigned*, const timespec*)> timed(
      "mq_timedreceive");
  if (!FGMPI_OTHERS_RUN) return real(queue, to, size, priority);
  return use_queue("mq_receive", queue, POLLIN, kNever,
                   [&] { return timed(queue, to, size, priority, &g_over); });
}

FGMPI_INTERPOSE int mq_timedsend(mqd_t queue, const char* bytes, size_t size, unsigned priority,
                                 const timespec* until) {
  static constinit Real<int(mqd_t, const char*, size_t, unsigned, const timespec*)> real(
      "mq_timedsend");
  if (!is_valid_limit(until) || !FGMPI_OTHERS_RUN) return real(queue, bytes, size, priority, until);
  return use_queue("mq_send", queue, POLLOUT, limit_of_queue(until),
                   [&] { return real(queue, bytes, size, priority, &g_over); });
}

FGMPI_INTERPOSE int mq_send(mqd_t queue, const char* bytes, size_t size, unsigned priority) {
  static constinit Real<int(mqd_t, const char*, size_t, unsigned)> real("mq_send");
  static constinit Real<int(mqd_t, const char*, size_t, unsigned, const timespec*)> timed(
      "mq_timedsend");
  if (!FGMPI_OTHERS_RUN) return real(queue, bytes, size, priority);
  return use_queue("mq_send", queue, POLLOUT, kNever,
                   [&] { return timed(queue, bytes, size, priority, &g_over); });
}
