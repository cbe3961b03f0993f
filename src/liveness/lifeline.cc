#include "liveness/lifeline.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fgmpi::liveness {
namespace {

/// More lines than this are not held: descriptors are scarce.
constexpr size_t kMostLines = 512;

socklen_t size_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

/// The port inside an internet address.
in_port_t* port_of(sockaddr_storage* address) {
  return address->ss_family == AF_INET6 ? &reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : &reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

std::string reason_of(int failure) {
  if (failure == ECONNREFUSED || failure == ECONNRESET || failure == EPIPE)
    return "its process has ended";
  return std::string("unreachable: ") + std::strerror(failure);
}

}  // namespace

uint16_t Lifelines::open(const sockaddr_storage& endpoint, Key key, int timeout_s) {
  if (endpoint.ss_family != AF_INET && endpoint.ss_family != AF_INET6) return 0;
  key_ = key;
  timeout_s_ = timeout_s;
  sockaddr_storage address = endpoint;
  *port_of(&address) = 0;
  socklen_t size = size_of(address);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  listener_ = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (epoll_ < 0 || listener_ < 0 || bind(listener_, raw, size) || listen(listener_, SOMAXCONN) ||
      getsockname(listener_, raw, &size)) {
    close();
    return 0;
  }
  watch(listener_, EPOLL_CTL_ADD, false);
  return ntohs(*port_of(&address));
}

void Lifelines::set_options(int fd) const {
  auto set = [&](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, timeout_s_ / 4));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, timeout_s_ / 8));
  set(IPPROTO_TCP, TCP_KEEPCNT, 6);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, timeout_s_ * 1000);
}

bool Lifelines::connect(uint32_t process, const sockaddr_storage& address, uint16_t port, Key key,
                        uint32_t me) {
  if (epoll_ < 0 || !port) return false;
  for (const auto& [fd, line] : lines_)
    if (line.process == process) return true;
  if (lines_.size() >= kMostLines) return false;
  int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  set_options(fd);
  sockaddr_storage to = address;
  *port_of(&to) = htons(port);
  // An error shows when the line is looked at.
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), size_of(to)) && errno != EINPROGRESS) {
    ::close(fd);
    return false;
  }
  Line& line = lines_[fd];
  line.opening = {key, me, 0};
  line.ours = true;
  line.process = process;
  watch(fd, EPOLL_CTL_ADD, true);
  return true;
}

int Lifelines::wait_with(int other) const {
  if (epoll_ < 0 || other < 0) return other;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = -1;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, other, &event) ? other : epoll_;
}

void Lifelines::watch(int fd, int operation, bool writable) const {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | (writable ? uint32_t{EPOLLOUT} : 0u);
  event.data.fd = fd;
  epoll_ctl(epoll_, operation, fd, &event);
}

void Lifelines::accept_all() {
  for (;;) {
    int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (lines_.size() >= kMostLines * 2) {
      ::close(fd);
      continue;
    }
    set_options(fd);
    lines_[fd] = Line{};
    watch(fd, EPOLL_CTL_ADD, false);
  }
}

/// Moves the opening along. False: the line is broken, and `why` says how.
bool Lifelines::advance(int fd, Line* line, std::string* why) {
  int failure = 0;
  socklen_t size = sizeof failure;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure) {
    *why = reason_of(failure);
    return false;
  }
  if (line->ours && line->moved < sizeof(Opening)) {
    auto* bytes = reinterpret_cast<const char*>(&line->opening);
    ssize_t n =
        send(fd, bytes + line->moved, sizeof(Opening) - line->moved, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) line->moved += static_cast<size_t>(n);
    if (line->moved == sizeof(Opening)) watch(fd, EPOLL_CTL_MOD, false);
  }
  return receive(fd, line, why);
}

/// Only the opening of a line that another process made is ever received; then the end.
bool Lifelines::receive(int fd, Line* line, std::string* why) {
  bool opening = !line->ours && line->moved < sizeof(Opening);
  char more;
  char* to = opening ? reinterpret_cast<char*>(&line->opening) + line->moved : &more;
  ssize_t n = recv(fd, to, opening ? sizeof(Opening) - line->moved : 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return true;
  if (n <= 0 || !opening) {
    *why = reason_of(n < 0 ? errno : ECONNRESET);
    return false;
  }
  line->moved += static_cast<size_t>(n);
  if (line->moved < sizeof(Opening)) return true;
  if (!(line->opening.key == key_)) {
    ++strangers_;
    return false;
  }
  line->process = line->opening.process;
  return true;
}

void Lifelines::drop(int fd) {
  ::close(fd);
  lines_.erase(fd);
}

void Lifelines::go_on(int fd, std::vector<uint32_t>* opened) {
  auto it = lines_.find(fd);
  if (it == lines_.end()) return;
  Line& line = it->second;
  const bool known = line.process >= 0;
  std::string why;
  if (advance(fd, &line, &why)) {
    if (!known && line.process >= 0) opened->push_back(static_cast<uint32_t>(line.process));
    return;
  }
  if (line.process >= 0) broken_.emplace_back(static_cast<uint32_t>(line.process), why);
  drop(fd);
}

void Lifelines::look(std::vector<uint32_t>* opened) {
  if (epoll_ < 0) return;
  epoll_event events[64];
  int n;
  do {
    n = epoll_wait(epoll_, events, 64, 0);
    for (int i = 0; i < n; ++i) {
      if (events[i].data.fd == listener_)
        accept_all();
      else
        go_on(events[i].data.fd, opened);
    }
  } while (n == 64);
}

void Lifelines::close() {
  for (const auto& [fd, line] : lines_) ::close(fd);
  lines_.clear();
  for (int* fd : {&listener_, &epoll_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

}  // namespace fgmpi::liveness
