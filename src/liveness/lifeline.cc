#include "liveness/lifeline.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"

namespace fgmpi::liveness {
namespace {

/// More lines than this are not held: descriptors are scarce.
constexpr size_t kMostLines = 512;

/// Lines made beside one that does not open.
constexpr int kSpares = 4;

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

void Lifelines::set_options(int fd, int timeout_s) const {
  auto set = [&](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, timeout_s / 4));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, timeout_s / 8));
  set(IPPROTO_TCP, TCP_KEEPCNT, 6);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, timeout_s * 1000);
}

bool Lifelines::connect(uint32_t process, const sockaddr_storage& address, uint16_t port, Key key,
                        uint32_t me) {
  if (epoll_ < 0 || !port) return false;
  if (has_line(process)) return true;
  Attempt attempt;
  attempt.address = address;
  *port_of(&attempt.address) = htons(port);
  attempt.opening = {key, me, 0};
  attempt.next = now_ns() + timeout_s_ * kSecond / 8;
  if (!add_line(process, attempt, timeout_s_)) return false;
  attempts_[process] = attempt;
  return true;
}

/// A further line to the process.
bool Lifelines::add_line(uint32_t process, const Attempt& attempt, int timeout_s) {
  if (lines_.size() >= kMostLines) return false;
  const sockaddr_storage& to = attempt.address;
  int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  set_options(fd, timeout_s);
  // An error shows when the line is looked at.
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), size_of(to)) && errno != EINPROGRESS) {
    ::close(fd);
    return false;
  }
  Line& line = lines_[fd];
  line.opening = attempt.opening;
  line.ours = true;
  line.process = process;
  watch(fd, EPOLL_CTL_ADD, true);
  return true;
}

bool Lifelines::has_line(uint32_t process) const {
  for (const auto& [fd, line] : lines_)
    if (line.process == process) return true;
  return false;
}

/// Whether the kernel of the process's host has taken in the opening of a line of ours.
bool Lifelines::is_open(uint32_t process) const {
  for (const auto& [fd, line] : lines_) {
    if (line.process != process) continue;
    if (!line.ours) return true;
    tcp_info info{};
    socklen_t size = sizeof info;
    if (line.moved == sizeof(Opening) && !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) &&
        info.tcpi_unacked == 0)
      return true;
  }
  return false;
}

/// One more line beside those that do not open. It ends about when the first one does.
bool Lifelines::add_spare(uint32_t process, Attempt* attempt) {
  attempt->next = now_ns() + timeout_s_ * kSecond / 8;
  return attempt->spares < kSpares && ++attempt->spares &&
         add_line(process, *attempt, std::max(1, timeout_s_ / 2));
}

void Lifelines::look_at_attempts() {
  const int64_t now = attempts_.empty() ? 0 : now_ns();
  for (auto it = attempts_.begin(); it != attempts_.end();) {
    auto& [process, attempt] = *it;
    if (now < attempt.next) {
      ++it;
    } else if (is_open(process)) {
      for (const auto& [fd, line] : lines_)
        if (line.process == process && line.ours) set_options(fd, timeout_s_);
      it = attempts_.erase(it);
    } else {
      add_spare(process, &attempt);
      ++it;
    }
  }
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
    set_options(fd, timeout_s_);
    lines_[fd] = Line{};
    watch(fd, EPOLL_CTL_ADD, false);
  }
}

/// Moves the opening along. False: the line is broken by that failure, a number of errno.
bool Lifelines::advance(int fd, Line* line, int* failure) {
  socklen_t size = sizeof *failure;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, failure, &size);
  if (*failure) return false;
  if (line->ours && line->moved < sizeof(Opening)) {
    auto* bytes = reinterpret_cast<const char*>(&line->opening);
    ssize_t n =
        send(fd, bytes + line->moved, sizeof(Opening) - line->moved, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) line->moved += static_cast<size_t>(n);
    if (line->moved == sizeof(Opening)) watch(fd, EPOLL_CTL_MOD, false);
  }
  return receive(fd, line, failure);
}

/// Only the opening of a line that another process made is ever received; then the end.
bool Lifelines::receive(int fd, Line* line, int* failure) {
  bool opening = !line->ours && line->moved < sizeof(Opening);
  char more;
  char* to = opening ? reinterpret_cast<char*>(&line->opening) + line->moved : &more;
  ssize_t n = recv(fd, to, opening ? sizeof(Opening) - line->moved : 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return true;
  if (n <= 0 || !opening) {
    *failure = n < 0 ? errno : ECONNRESET;
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
  int failure = 0;
  if (advance(fd, &line, &failure)) {
    if (!known && line.process >= 0) opened->push_back(static_cast<uint32_t>(line.process));
    return;
  }
  const int64_t process = line.process;
  drop(fd);
  if (process >= 0) lose(static_cast<uint32_t>(process), failure);
}

/// A line to the process is broken.
void Lifelines::lose(uint32_t process, int failure) {
  if (has_line(process)) return;
  auto it = attempts_.find(process);
  // Here also when this process has computed all the time and not looked for lines that do not open.
  if (it != attempts_.end() && failure == ETIMEDOUT && add_spare(process, &it->second)) return;
  if (it != attempts_.end()) attempts_.erase(it);
  broken_.emplace_back(process, reason_of(failure));
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
  look_at_attempts();
}

void Lifelines::close() {
  for (const auto& [fd, line] : lines_) ::close(fd);
  lines_.clear();
  attempts_.clear();
  for (int* fd : {&listener_, &epoll_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

}  // namespace fgmpi::liveness
