// Reading from pipes, sockets, terminals and descriptors of events; accepting and making
// connections.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "base/clock.h"
#include "base/raw_call.h"
#include "privatize/libc/blocked_calls.h"
#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/outside_calls.h"

namespace fgmpi::privatize {
namespace {

constinit Real<ssize_t(int, void*, size_t)> g_read("read");
constinit Real<ssize_t(int, const iovec*, int)> g_readv("readv");
constinit Real<ssize_t(int, void*, size_t, int)> g_recv("recv");
constinit Real<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> g_recvfrom("recvfrom");
constinit Real<ssize_t(int, msghdr*, int)> g_recvmsg("recvmsg");
constinit Real<int(int, sockaddr*, socklen_t*, int)> g_accept4("accept4");
constinit Real<int(int, const sockaddr*, socklen_t)> g_connect("connect");

bool would_wait(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK); }

/// Waits until the descriptor is ready, then reads by `real`. REQUIRES: no socket. May switch.
template <class F>
ssize_t read_when_ready(const char* call, int fd, F real) {
  if (!is_ready(fd, POLLIN) && waits_when_not_ready(fd, O_RDONLY)) {
    OutsideWait wait(call, OutsideWait::kRestarted);
    do
      if (!may_try_again(wait.until_ready(fd, POLLIN), EAGAIN)) return -1;
    while (!is_ready(fd, POLLIN));
  }
  return real();
}

/// Receives once from a socket. `attempt` receives without waiting. May switch.
template <class F>
ssize_t receive(const char* call, int fd, F attempt) {
  const int kept = errno;
  ssize_t result = attempt();
  if (!would_wait(result) || !waits_when_not_ready(fd, O_RDONLY)) return result;
  OutsideWait wait(call, OutsideWait::kRestarted);
  limit_by_socket(&wait, fd, SO_RCVTIMEO);
  for (ReadyRounds rounds; would_wait(result); result = attempt())
    if (!rounds.wait(&wait, fd, POLLIN, EAGAIN)) return -1;
  if (result >= 0) errno = kept;
  return result;
}

int option_of(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : 0;
}

/// MSG_WAITALL on a stream socket. `attempt(done)` receives, without waiting, bytes that follow the
/// first `done` ones; `is_last()`: true where what was received ends the call early. May switch.
template <class Attempt, class IsLast>
ssize_t receive_all(const char* call, int fd, size_t size, Attempt attempt, IsLast is_last) {
  size_t done = 0;
  OutsideWait wait(call, OutsideWait::kRestarted);
  ReadyRounds rounds;
  bool limited = false;
  const int kept = errno;
  for (;;) {
    const ssize_t n = attempt(done);
    if (n > 0) done += static_cast<size_t>(n);
    const bool over = n == 0 || done >= size || (n > 0 && is_last());
    if (over) errno = kept;
    if (over) return static_cast<ssize_t>(done);
    if (n > 0) continue;
    bool on = would_wait(n) && waits_when_not_ready(fd, O_RDONLY);
    if (on && !limited) limit_by_socket(&wait, fd, SO_RCVTIMEO);
    limited = true;
    on = on && rounds.wait(&wait, fd, POLLIN, EAGAIN);
    if (on) continue;
    if (done == 0) return -1;
    errno = kept;
    return static_cast<ssize_t>(done);
  }
}

/// MSG_WAITALL with MSG_PEEK on a stream socket: waits until `size` bytes have arrived, or no more
/// will. `attempt` receives without waiting. May switch.
template <class F>
ssize_t peek_all(const char* call, int fd, size_t size, F attempt) {
  const int kept = errno;
  OutsideWait wait(call, OutsideWait::kRestarted);
  limit_by_socket(&wait, fd, SO_RCVTIMEO);
  for (;;) {
    const ssize_t n = attempt();
    if (n == 0 || n >= static_cast<ssize_t>(size)) return n;
    if ((n < 0 && !would_wait(n)) || !waits_when_not_ready(fd, O_RDONLY)) return n;
    if (n > 0 && is_ready(fd, POLLRDHUP)) return n;
    if (!may_try_again(wait.a_while(), EAGAIN)) return n > 0 ? (errno = kept, n) : -1;
    errno = kept;
  }
}

/// Flags of calls that go to the C library: those that never wait, or where an attempt without
/// waiting would be no different.
constexpr int kDirect = MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB;

bool gathers(int fd, int flags, size_t size) {
  // Local sockets (AF_UNIX) show only the first piece to MSG_PEEK.
  return flags & MSG_WAITALL && size > 0 && option_of(fd, SO_TYPE) == SOCK_STREAM &&
         !(flags & MSG_PEEK && option_of(fd, SO_DOMAIN) == AF_UNIX);
}

ssize_t receive_from(const char* call, int fd, void* to, size_t size, int flags, sockaddr* from,
                     socklen_t* length) {
  const int at_once = (flags & ~MSG_WAITALL) | MSG_DONTWAIT;
  auto attempt = [=](size_t done) {
    return g_recvfrom(fd, static_cast<char*>(to) + done, size - done, at_once, from, length);
  };
  if (!gathers(fd, flags, size)) return receive(call, fd, [=] { return attempt(0); });
  if (flags & MSG_PEEK) return peek_all(call, fd, size, [=] { return attempt(0); });
  return receive_all(call, fd, size, attempt, [] { return false; });
}

/// Receives a message in pieces. Its control data is that of the first piece that has any.
/// May switch.
ssize_t gather_message(const char* call, int fd, size_t size, msghdr* message, int flags) {
  const std::unique_ptr<iovec[]> rest(new (std::nothrow) iovec[message->msg_iovlen]);
  if (!rest) return errno = ENOBUFS, -1;
  const size_t room_for_control = message->msg_controllen;
  bool has_control = false;
  auto attempt = [&](size_t done) {
    msghdr now = *message;
    now.msg_iov = rest.get();
    now.msg_iovlen = skip_parts(message->msg_iov, message->msg_iovlen, done, rest.get());
    now.msg_controllen = has_control ? 0 : room_for_control;
    if (done > 0) now.msg_namelen = 0;
    const ssize_t n = g_recvmsg(fd, &now, flags);
    if (n < 0) return n;
    if (done == 0) message->msg_namelen = now.msg_namelen;
    if (!has_control) message->msg_controllen = now.msg_controllen;
    has_control = has_control || now.msg_controllen > 0;
    message->msg_flags = now.msg_flags;
    return n;
  };
  // The kernel, too, reads no further once a piece has brought descriptors.
  const bool is_of_this_host = option_of(fd, SO_DOMAIN) == AF_UNIX;
  return receive_all(call, fd, size, attempt, [&] { return is_of_this_host && has_control; });
}

ssize_t receive_message(const char* call, int fd, msghdr* message, int flags) {
  const ssize_t size = total_of_parts(message->msg_iov, message->msg_iovlen);
  const int at_once = (flags & ~MSG_WAITALL) | MSG_DONTWAIT;
  const msghdr given = *message;
  auto attempt = [=] {
    message->msg_namelen = given.msg_namelen;
    message->msg_controllen = given.msg_controllen;
    return g_recvmsg(fd, message, at_once);
  };
  if (size < 0 || !gathers(fd, flags, static_cast<size_t>(size))) return receive(call, fd, attempt);
  if (flags & MSG_PEEK) return peek_all(call, fd, static_cast<size_t>(size), attempt);
  return gather_message(call, fd, static_cast<size_t>(size), message, at_once);
}

/// recvmmsg() of a rank. The time limit is checked only after a message has arrived, as the kernel
/// does. May switch.
int receive_messages(int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  const int64_t deadline = deadline_after(limit);
  const int kept = errno;
  int received = 0;
  for (unsigned i = 0; i < count; ++i) {
    msghdr* message = &messages[i].msg_hdr;
    const int how = flags & ~MSG_WAITFORONE;
    const bool waits = i == 0 || !(flags & MSG_WAITFORONE);
    const ssize_t n = waits ? receive_message("recvmmsg", fd, message, how)
                            : g_recvmsg(fd, message, how | MSG_DONTWAIT);
    if (n < 0) break;
    messages[i].msg_len = static_cast<unsigned>(n);
    ++received;
    if (limit) *limit = to_timespec(std::max<int64_t>(deadline - now_ns(), 0));
    if ((limit && now_ns() >= deadline) || message->msg_flags & MSG_OOB) break;
  }
  if (received == 0 && count > 0) return -1;
  errno = kept;
  return received;
}

bool lets_others_receive(const void* caller, int fd, int flags) {
  return lets_others_run(caller) && !(flags & kDirect) &&
         kind_of_descriptor(fd) == DescriptorKind::kSocket;
}

ssize_t read_of_rank(const char* call, int fd, void* to, size_t size) {
  switch (kind_of_descriptor(fd)) {
    case DescriptorKind::kNeverWaits:
    case DescriptorKind::kUnknown:
      return g_read(fd, to, size);
    case DescriptorKind::kSocket:
      if (size > 0) return receive(call, fd, [=] { return g_recv(fd, to, size, MSG_DONTWAIT); });
      return g_read(fd, to, size);
    default:
      return read_when_ready(call, fd, [=] { return g_read(fd, to, size); });
  }
}

ssize_t readv_of_rank(int fd, const iovec* to, int count) {
  switch (kind_of_descriptor(fd)) {
    case DescriptorKind::kNeverWaits:
    case DescriptorKind::kUnknown:
      return g_readv(fd, to, count);
    case DescriptorKind::kSocket: {
      const bool any = count > 0 && count <= IOV_MAX &&
                       std::any_of(to, to + count, [](const iovec& v) { return v.iov_len > 0; });
      if (!any) return g_readv(fd, to, count);
      return receive("readv", fd, [=] {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(to);
        message.msg_iovlen = static_cast<size_t>(count);
        return g_recvmsg(fd, &message, MSG_DONTWAIT);
      });
    }
    default:
      return read_when_ready("readv", fd, [=] { return g_readv(fd, to, count); });
  }
}

/// accept() of a rank. Another thread makes the call itself, which may wait although the socket was
/// ready: another process that has the socket may accept the connection first. May switch.
int accept_of_rank(const char* call, int fd, sockaddr* from, socklen_t* length, int flags) {
  if (kind_of_descriptor(fd) != DescriptorKind::kSocket || !option_of(fd, SO_ACCEPTCONN) ||
      !waits_when_not_ready(fd, O_RDWR))
    return g_accept4(fd, from, length, flags);
  if (!is_ready(fd, POLLIN)) {
    OutsideWait wait(call, OutsideWait::kRestarted);
    limit_by_socket(&wait, fd, SO_RCVTIMEO);
    do
      if (!may_try_again(wait.until_ready(fd, POLLIN), EAGAIN)) return -1;
    while (!is_ready(fd, POLLIN));
  }
  sockaddr_storage address;
  socklen_t size = length ? std::min<socklen_t>(*length, sizeof address) : 0;
  const int made = wait_on_other_thread(
      call,
      [&] {
        return g_accept4(fd, from ? reinterpret_cast<sockaddr*>(&address) : nullptr,
                         from ? &size : nullptr, flags);
      },
      kWithErrno);
  if (made >= 0 && from && length) {
    std::copy_n(reinterpret_cast<char*>(&address),
                std::min({size, *length, socklen_t{sizeof address}}),
                reinterpret_cast<char*>(from));
    *length = size;
  }
  return made;
}

/// Begins to connect without waiting: the socket has O_NONBLOCK during the system call only.
int begin_to_connect(int fd, const sockaddr* to, socklen_t length) {
  const long flags = raw_call(SYS_fcntl, fd, F_GETFL);
  raw_call(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK);
  const int result = g_connect(fd, to, length);
  raw_call(SYS_fcntl, fd, F_SETFL, flags);
  return result;
}

int connect_of_rank(int fd, const sockaddr* to, socklen_t length) {
  if (kind_of_descriptor(fd) != DescriptorKind::kSocket || !waits_when_not_ready(fd, O_RDWR) ||
      option_of(fd, SO_TYPE) == SOCK_DGRAM)
    return g_connect(fd, to, length);
  const int kept = errno;
  OutsideWait wait("connect", OutsideWait::kRestarted);
  limit_by_socket(&wait, fd, SO_SNDTIMEO);
  for (;;) {
    if (begin_to_connect(fd, to, length) == 0) return 0;
    if (errno == EAGAIN) {  // a local socket has no room for more connections
      if (!may_try_again(wait.a_while(), EAGAIN)) return -1;
      continue;
    }
    if (errno != EINPROGRESS && errno != EALREADY) return -1;
    do
      if (!may_try_again(wait.until_ready(fd, POLLOUT), EINPROGRESS)) return -1;
    while (!is_ready(fd, POLLOUT));
    errno = kept;
    return g_connect(fd, to, length);  // returns how the connection attempt has ended
  }
}

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

#define FGMPI_CALLER __builtin_return_address(0)
/// Returns the result of the C library's function, unless `others_run`. Meanwhile another thread of
/// the rank may end the rank (blocked_calls.h).
#define FGMPI_UNLESS_OTHERS_RUN(others_run, ...) \
  if (!(others_run)) {                           \
    InKernel marked(FGMPI_CALLER);               \
    return __VA_ARGS__;                          \
  }

FGMPI_INTERPOSE ssize_t read(int fd, void* to, size_t size) {
  if (can_never_wait(fd)) return g_read(fd, to, size);
  FGMPI_UNLESS_OTHERS_RUN(lets_others_run(FGMPI_CALLER), g_read(fd, to, size));
  return read_of_rank("read", fd, to, size);
}

FGMPI_INTERPOSE ssize_t __read_chk(int fd, void* to, size_t size, size_t room) {
  static constinit Real<ssize_t(int, void*, size_t, size_t)> real("__read_chk");
  FGMPI_UNLESS_OTHERS_RUN(size <= room && lets_others_run(FGMPI_CALLER), real(fd, to, size, room));
  return read_of_rank("read", fd, to, size);
}

FGMPI_INTERPOSE ssize_t readv(int fd, const iovec* to, int count) {
  if (can_never_wait(fd)) return g_readv(fd, to, count);
  FGMPI_UNLESS_OTHERS_RUN(lets_others_run(FGMPI_CALLER), g_readv(fd, to, count));
  return readv_of_rank(fd, to, count);
}

FGMPI_INTERPOSE ssize_t recv(int fd, void* to, size_t size, int flags) {
  FGMPI_UNLESS_OTHERS_RUN(lets_others_receive(FGMPI_CALLER, fd, flags),
                          g_recv(fd, to, size, flags));
  return receive_from("recv", fd, to, size, flags, nullptr, nullptr);
}

FGMPI_INTERPOSE ssize_t __recv_chk(int fd, void* to, size_t size, size_t room, int flags) {
  static constinit Real<ssize_t(int, void*, size_t, size_t, int)> real("__recv_chk");
  FGMPI_UNLESS_OTHERS_RUN(size <= room && lets_others_receive(FGMPI_CALLER, fd, flags),
                          real(fd, to, size, room, flags));
  return receive_from("recv", fd, to, size, flags, nullptr, nullptr);
}

FGMPI_INTERPOSE ssize_t recvfrom(int fd, void* to, size_t size, int flags, sockaddr* from,
                                 socklen_t* length) {
  FGMPI_UNLESS_OTHERS_RUN(lets_others_receive(FGMPI_CALLER, fd, flags),
                          g_recvfrom(fd, to, size, flags, from, length));
  return receive_from("recvfrom", fd, to, size, flags, from, length);
}

FGMPI_INTERPOSE ssize_t __recvfrom_chk(int fd, void* to, size_t size, size_t room, int flags,
                                       sockaddr* from, socklen_t* length) {
  static constinit Real<ssize_t(int, void*, size_t, size_t, int, sockaddr*, socklen_t*)> real(
      "__recvfrom_chk");
  FGMPI_UNLESS_OTHERS_RUN(size <= room && lets_others_receive(FGMPI_CALLER, fd, flags),
                          real(fd, to, size, room, flags, from, length));
  return receive_from("recvfrom", fd, to, size, flags, from, length);
}

FGMPI_INTERPOSE ssize_t recvmsg(int fd, msghdr* message, int flags) {
  FGMPI_UNLESS_OTHERS_RUN(lets_others_receive(FGMPI_CALLER, fd, flags),
                          g_recvmsg(fd, message, flags));
  return receive_message("recvmsg", fd, message, flags);
}

FGMPI_INTERPOSE int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags,
                             timespec* timeout) {
  static constinit Real<int(int, mmsghdr*, unsigned, int, timespec*)> real("recvmmsg");
  FGMPI_UNLESS_OTHERS_RUN(
      (!timeout || is_valid_time(timeout)) && lets_others_receive(FGMPI_CALLER, fd, flags),
      real(fd, messages, count, flags, timeout));
  return receive_messages(fd, messages, count, flags, timeout);
}

FGMPI_INTERPOSE int accept(int fd, sockaddr* from, socklen_t* length) {
  static constinit Real<int(int, sockaddr*, socklen_t*)> real("accept");
  FGMPI_UNLESS_OTHERS_RUN(lets_others_run(FGMPI_CALLER), real(fd, from, length));
  return accept_of_rank("accept", fd, from, length, 0);
}

FGMPI_INTERPOSE int accept4(int fd, sockaddr* from, socklen_t* length, int flags) {
  FGMPI_UNLESS_OTHERS_RUN(lets_others_run(FGMPI_CALLER), g_accept4(fd, from, length, flags));
  return accept_of_rank("accept4", fd, from, length, flags);
}

FGMPI_INTERPOSE int connect(int fd, const sockaddr* to, socklen_t length) {
  FGMPI_UNLESS_OTHERS_RUN(lets_others_run(FGMPI_CALLER), g_connect(fd, to, length));
  return connect_of_rank(fd, to, length);
}
