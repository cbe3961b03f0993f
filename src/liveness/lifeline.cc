// TCP connections between processes of different hosts whose silence or end means a loss.

#include "liveness/lifeline.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "liveness/last_heard.h"

namespace fgmpi::liveness {
namespace {

/// Most lines of a process: descriptors are scarce.
constexpr size_t kMostLines = 512;

/// Lines made in addition to one that does not open, or is silent.
constexpr int kSpares = 4;

/// Most packets in a row without an answer: single packets get lost now and then.
constexpr int kMostUnanswered = 1;

/// The other side has ended the line in order. Only receive() sets this: no line is ever shut down
/// for sending.
constexpr int kEnded = ESHUTDOWN;

socklen_t size_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

/// The port inside an internet address.
in_port_t* port_of(sockaddr_storage* address) {
  return address->ss_family == AF_INET6 ? &reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : &reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

std::string reason_of(int failure) {
  if (failure == kEnded || failure == ECONNREFUSED || failure == EPIPE)
    return "its process has ended";
  return std::string("unreachable: ") + std::strerror(failure);
}

/// True when the line gets no answers; *ago_ns: since when.
bool is_silent(const tcp_info& info, int64_t* ago_ns) {
  *ago_ns = info.tcpi_last_ack_recv * (kSecond / 1000);
  return info.tcpi_probes > kMostUnanswered;
}

bool read_tcp_info(int fd, tcp_info* info) {
  socklen_t size = sizeof *info;
  *info = {};
  return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size);
}

}  // namespace

uint16_t Lifelines::open(const sockaddr_storage& endpoint, LifelineKey key, int timeout_s) {
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

/// Makes an attempt without lines.
Lifelines::Attempt Lifelines::attempt_for(const Contact& contact, uint32_t me, int64_t until) {
  Attempt attempt;
  attempt.address = contact.address;
  *port_of(&attempt.address) = htons(contact.port);
  attempt.opening = {contact.key, me, 0};
  attempt.until = until;
  return attempt;
}

bool Lifelines::connect(uint32_t process, const sockaddr_storage& address, uint16_t port,
                        LifelineKey key, uint32_t me) {
  if (epoll_ < 0 || !port) return false;
  if (has_line(process)) return true;
  const int64_t now = now_ns();
  Attempt attempt = attempt_for({address, port, key}, me, now + timeout_s_ * kSecond);
  attempt.next = now + timeout_s_ * kSecond / 8;
  if (!add_line(process, attempt, timeout_s_)) return false;
  attempts_[process] = attempt;
  return true;
}

void Lifelines::set_find(uint32_t me, Find find) {
  me_ = me;
  find_ = std::move(find);
}

/// Opens a further line to the process.
bool Lifelines::add_line(uint32_t process, const Attempt& attempt, int timeout_s) {
  if (lines_.size() >= kMostLines) return false;
  const sockaddr_storage& to = attempt.address;
  int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  set_options(fd, timeout_s);
  // An error shows when the line is examined.
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), size_of(to)) && errno != EINPROGRESS) {
    ::close(fd);
    return false;
  }
  OpenLine& line = lines_[fd];
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

/// True when the kernel of the process's host has received the opening of a line, and has answered
/// on it lately.
bool Lifelines::is_open(uint32_t process) const {
  for (const auto& [fd, line] : lines_) {
    if (line.process != process || line.moved < sizeof(Opening)) continue;
    tcp_info info;
    int64_t ago;
    if (read_tcp_info(fd, &info) && info.tcpi_state == TCP_ESTABLISHED && info.tcpi_unacked == 0 &&
        !is_silent(info, &ago))
      return true;
  }
  return false;
}

/// Opens one more line beside those that do not open. It ends about when the first one does.
bool Lifelines::add_spare(uint32_t process, Attempt* attempt) {
  const int64_t now = now_ns();
  attempt->next = now + timeout_s_ * kSecond / 8;
  const auto left = static_cast<int>((attempt->until - now) / kSecond);
  return attempt->spares < kSpares && ++attempt->spares &&
         add_line(process, *attempt, std::max(1, left));
}

/// Begins an attempt for a process whose lines were open. nullptr: there can be none.
Lifelines::Attempt* Lifelines::attempt_again(uint32_t process, int64_t until) {
  Contact contact;
  if (!find_ || !find_(process, &contact)) return nullptr;
  return &(attempts_[process] = attempt_for(contact, me_, until));
}

void Lifelines::check_for_silence() {
  const int64_t now = now_ns();
  if (now < next_check_) return;
  next_check_ = now + timeout_s_ * kSecond / 8;
  std::vector<std::pair<uint32_t, int64_t>> silent;  // and since when
  for (const auto& [fd, line] : lines_) {
    tcp_info info;
    int64_t ago;
    if (line.process >= 0 && read_tcp_info(fd, &info) && is_silent(info, &ago))
      silent.emplace_back(static_cast<uint32_t>(line.process), now - ago);
  }
  for (const auto& [process, since] : silent)
    if (!attempts_.contains(process) && !is_open(process))
      attempt_again(process, since + timeout_s_ * kSecond);
}

void Lifelines::check_attempts() {
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
    lines_[fd] = OpenLine{};
    watch(fd, EPOLL_CTL_ADD, false);
  }
}

/// Advances the opening. False: the line is broken; *failure is a number of errno.
bool Lifelines::advance(int fd, OpenLine* line, int* failure) {
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

/// Receives the opening of a line that another process made, and then its end; nothing else
/// is ever sent.
bool Lifelines::receive(int fd, OpenLine* line, int* failure) {
  bool opening = !line->ours && line->moved < sizeof(Opening);
  char more;
  char* to = opening ? reinterpret_cast<char*>(&line->opening) + line->moved : &more;
  ssize_t n = recv(fd, to, opening ? sizeof(Opening) - line->moved : 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return true;
  if (n <= 0 || !opening) {
    *failure = n < 0 ? errno : kEnded;
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
  OpenLine& line = it->second;
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

/// Handles a broken line to the process.
void Lifelines::lose(uint32_t process, int failure) {
  if (has_line(process)) return;
  auto it = attempts_.find(process);
  Attempt* attempt = it == attempts_.end() ? nullptr : &it->second;
  const bool may_live = failure == ETIMEDOUT || failure == ECONNRESET;
  // Reached also when this process has computed for long and not examined lines without answers.
  if (may_live && !attempt) attempt = attempt_again(process, now_ns() + timeout_s_ * kSecond / 2);
  if (may_live && attempt && add_spare(process, attempt)) return;
  attempts_.erase(process);
  // Nothing arrived by TCP, but other messages did: the network is full, and the process runs.
  const int64_t now = now_ns(), timeout = timeout_s_ * kSecond;
  if (may_live && last_heard().is_recent(process, now, timeout)) {
    attempt = attempt_again(process, now + timeout);
    if (attempt && add_spare(process, attempt)) return;
    attempts_.erase(process);
  }
  broken_.emplace_back(process, reason_of(failure));
}

void Lifelines::poll(std::vector<uint32_t>* opened) {
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
  check_for_silence();
  check_attempts();
}

void Lifelines::close() {
  for (const auto& [fd, line] : lines_) ::close(fd);
  lines_.clear();
  attempts_.clear();
  find_ = nullptr;
  for (int* fd : {&listener_, &epoll_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

}  // namespace fgmpi::liveness
