// Writing to pipes, sockets and terminals that are full: bytes that do not fit are written piece by
// piece, as far as there is room.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "privatize/libc/blocked_calls.h"
#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/outside_calls.h"

namespace fgmpi::privatize {
namespace {

constinit Real<ssize_t(int, const void*, size_t)> g_write("write");
constinit Real<ssize_t(int, const iovec*, int)> g_writev("writev");
constinit Real<ssize_t(int, const void*, size_t, int)> g_send("send");
constinit Real<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> g_sendto(
    "sendto");
constinit Real<ssize_t(int, const msghdr*, int)> g_sendmsg("sendmsg");

/// Waits until the descriptor is ready for writing. Returns false where the wait has ended
/// otherwise; errno gives the reason. REQUIRES: no socket. May switch.
bool wait_for_room(OutsideWait* wait, int fd) {
  while (!is_ready(fd, POLLOUT) && waits_when_not_ready(fd, O_WRONLY))
    if (!may_try_again(wait->until_ready(fd, POLLOUT), EAGAIN)) return false;
  return true;
}

/// write() to a pipe. A pipe that is ready has room for PIPE_BUF bytes, which are written in one
/// call, so that other writers cannot come between them. May switch.
ssize_t write_to_pipe(OutsideWait* wait, int fd, const char* bytes, size_t size) {
  if (size <= PIPE_BUF) return wait_for_room(wait, fd) ? g_write(fd, bytes, size) : -1;
  if (!waits_when_not_ready(fd, O_WRONLY)) return g_write(fd, bytes, size);
  const int kept = errno;
  for (size_t done = 0; done < size;) {
    const size_t piece = std::min<size_t>(size - done, PIPE_BUF);
    const ssize_t n = wait_for_room(wait, fd) ? g_write(fd, bytes + done, piece) : -1;
    if (n > 0) {
      done += static_cast<size_t>(n);
      continue;
    }
    if (n < 0 && done == 0) return -1;
    errno = kept;
    return static_cast<ssize_t>(done);
  }
  return static_cast<ssize_t>(size);
}

/// Sends all `size` bytes on a socket. `attempt(done)` sends, without waiting, bytes that follow
/// the first `done` ones. May switch.
template <class F>
ssize_t transmit(const char* call, int fd, size_t size, F attempt) {
  OutsideWait wait(call, OutsideWait::kRestarted);
  ReadyRounds rounds;
  bool limited = false;
  const int kept = errno;
  for (size_t done = 0;;) {
    const ssize_t n = attempt(done);
    if (n >= 0) done += static_cast<size_t>(n);
    if (n == 0 || done >= size) return static_cast<ssize_t>(done);
    if (n > 0) continue;
    bool on = (errno == EAGAIN || errno == EWOULDBLOCK) && waits_when_not_ready(fd, O_WRONLY);
    if (on && !limited) limit_by_socket(&wait, fd, SO_SNDTIMEO);
    limited = true;
    on = on && rounds.wait(&wait, fd, POLLOUT, EAGAIN);
    if (on) continue;
    if (done == 0) return -1;
    errno = kept;
    return static_cast<ssize_t>(done);
  }
}

/// sendmsg() of a rank. Control data goes with the first byte. May switch.
ssize_t transmit_message(const char* call, int fd, const msghdr* message, int flags) {
  const ssize_t total = total_of_parts(message->msg_iov, message->msg_iovlen);
  if (total < 0) return g_sendmsg(fd, message, flags);
  std::unique_ptr<iovec[]> rest;
  return transmit(call, fd, static_cast<size_t>(total), [&](size_t done) -> ssize_t {
    if (done == 0) return g_sendmsg(fd, message, flags | MSG_DONTWAIT);
    if (!rest) rest.reset(new (std::nothrow) iovec[message->msg_iovlen]);
    if (!rest) return errno = ENOBUFS, -1;
    msghdr now = *message;
    now.msg_control = nullptr;
    now.msg_controllen = 0;
    now.msg_iov = rest.get();
    now.msg_iovlen = skip_parts(message->msg_iov, message->msg_iovlen, done, rest.get());
    return g_sendmsg(fd, &now, flags | MSG_DONTWAIT);
  });
}

bool lets_others_send(const void* caller, int fd, int flags) {
  return lets_others_run(caller) && !(flags & (MSG_DONTWAIT | MSG_FASTOPEN)) &&
         kind_of_descriptor(fd) == DescriptorKind::kSocket;
}

}  // namespace

ssize_t write_of_rank(int fd, const void* bytes, size_t size) {
  switch (kind_of_descriptor(fd)) {
    case DescriptorKind::kSocket:
      return transmit("write", fd, size, [=](size_t done) {
        return g_send(fd, static_cast<const char*>(bytes) + done, size - done, MSG_DONTWAIT);
      });
    case DescriptorKind::kPipe: {
      OutsideWait wait("write", OutsideWait::kRestarted);
      return write_to_pipe(&wait, fd, static_cast<const char*>(bytes), size);
    }
    case DescriptorKind::kDevice: {
      OutsideWait wait("write", OutsideWait::kRestarted);
      return wait_for_room(&wait, fd) ? g_write(fd, bytes, size) : -1;
    }
    default:
      return g_write(fd, bytes, size);
  }
}

ssize_t writev_of_rank(int fd, const iovec* parts, int count) {
  const DescriptorKind kind = kind_of_descriptor(fd);
  const ssize_t total = kind == DescriptorKind::kSocket || kind == DescriptorKind::kPipe ||
                                kind == DescriptorKind::kDevice
                            ? total_of_parts(parts, static_cast<size_t>(count))
                            : -1;
  if (total < 0) return g_writev(fd, parts, count);
  if (kind == DescriptorKind::kSocket) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = static_cast<size_t>(count);
    return transmit_message("writev", fd, &message, 0);
  }
  OutsideWait wait("writev", OutsideWait::kRestarted);
  if (kind == DescriptorKind::kDevice || total <= PIPE_BUF || !waits_when_not_ready(fd, O_WRONLY))
    return wait_for_room(&wait, fd) ? g_writev(fd, parts, count) : -1;
  size_t done = 0;
  for (int i = 0; i < count; ++i) {
    if (parts[i].iov_len == 0) continue;
    const ssize_t n =
        write_to_pipe(&wait, fd, static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    if (n < 0) return done > 0 ? static_cast<ssize_t>(done) : -1;
    done += static_cast<size_t>(n);
    if (static_cast<size_t>(n) < parts[i].iov_len) break;
  }
  return static_cast<ssize_t>(done);
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

// output.cc interposes write() and writev().

FGMPI_INTERPOSE ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  if (!lets_others_send(__builtin_return_address(0), fd, flags))
    return g_send(fd, bytes, size, flags);
  return transmit("send", fd, size, [=](size_t done) {
    return g_send(fd, static_cast<const char*>(bytes) + done, size - done, flags | MSG_DONTWAIT);
  });
}

FGMPI_INTERPOSE ssize_t sendto(int fd, const void* bytes, size_t size, int flags,
                               const sockaddr* to, socklen_t length) {
  if (!lets_others_send(__builtin_return_address(0), fd, flags))
    return g_sendto(fd, bytes, size, flags, to, length);
  return transmit("sendto", fd, size, [=](size_t done) {
    return g_sendto(fd, static_cast<const char*>(bytes) + done, size - done, flags | MSG_DONTWAIT,
                    to, length);
  });
}

FGMPI_INTERPOSE ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (!lets_others_send(__builtin_return_address(0), fd, flags))
    return g_sendmsg(fd, message, flags);
  return transmit_message("sendmsg", fd, message, flags);
}
