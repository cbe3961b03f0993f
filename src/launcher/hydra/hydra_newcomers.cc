// The check of each newcomer at hydra's port before hydra sees it.

#include "launcher/hydra/hydra_newcomers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace fgmpi::launcher {
namespace {

/// Numbers of proxies and of groups are below this: more than any job has hosts.
constexpr uint32_t kMostProxies = 1 << 20;
constexpr char kSignature[4] = {'H', 'Y', 'D', '\0'};
/// The shortest greetings, without and with a signature.
constexpr int kShortGreeting = 4, kSignedGreeting = 8;
/// The most connections that have not sent a greeting; beyond this many, the oldest is closed.
constexpr size_t kMostSilent = 256;

bool is_listener(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}

/// Sets how many bytes make the socket readable.
void set_least(int fd, int bytes) { setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes); }

bool is_signed(const char* bytes, size_t count) {
  return count >= sizeof kSignature && !std::memcmp(bytes, kSignature, sizeof kSignature);
}

}  // namespace

std::optional<uint64_t> find_greeter(const char* bytes, size_t count) {
  uint32_t numbers[2] = {0, 0};  // group, number
  if (is_signed(bytes, count) && count == kLongestGreeting)
    std::memcpy(numbers, bytes + sizeof kSignature, sizeof numbers);
  else if (is_signed(bytes, count) && count == kSignedGreeting)
    std::memcpy(&numbers[1], bytes + sizeof kSignature, sizeof numbers[1]);
  else if (!is_signed(bytes, count) && count == kShortGreeting)
    std::memcpy(&numbers[1], bytes, sizeof numbers[1]);
  else
    return {};
  if (numbers[0] >= kMostProxies || numbers[1] >= kMostProxies) return {};
  return uint64_t{numbers[0]} << 32 | numbers[1];
}

void Newcomers::accept_newcomers(int listener) {
  fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
  for (int fd; (fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    set_least(fd, kShortGreeting);
    newcomers_.push_back({listener, fd, false, kShortGreeting});
    if (newcomers_.size() <= kMostSilent) continue;
    const auto oldest = std::find_if(newcomers_.begin(), newcomers_.end(),
                                     [](const Newcomer& n) { return !n.is_proxy; });
    if (oldest == newcomers_.end()) continue;
    close(oldest->fd);
    newcomers_.erase(oldest);
  }
}

/// Reads the greeting that has arrived, and leaves it in the connection. Where it is no proxy's,
/// closes the connection and sets its descriptor to -1. A proxy sends its greeting at once, and
/// nothing more before hydra has answered, so what is there is the whole.
void Newcomers::check_newcomer(Newcomer* newcomer) {
  char bytes[kLongestGreeting];
  const ssize_t got = recv(newcomer->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto count = static_cast<size_t>(std::max<ssize_t>(got, 0));
  if (is_signed(bytes, count) && count < kSignedGreeting && newcomer->least < kSignedGreeting) {
    set_least(newcomer->fd, newcomer->least = kSignedGreeting);
    return;
  }
  const std::optional<uint64_t> proxy = find_greeter(bytes, count);
  newcomer->is_proxy =
      proxy && std::find(proxies_.begin(), proxies_.end(), *proxy) == proxies_.end();
  if (newcomer->is_proxy) {
    proxies_.push_back(*proxy);
    set_least(newcomer->fd, 1);
    fcntl(newcomer->fd, F_SETFD, 0);  // accept() returns descriptors without FD_CLOEXEC
  } else {                            // something else, or the end of the connection
    close(newcomer->fd);
    newcomer->fd = -1;
  }
}

int Newcomers::poll(int (*real)(pollfd*, nfds_t, int), pollfd* fds, nfds_t count, int timeout) {
  for (;;) {
    std::vector<pollfd> all(fds, fds + count);
    for (const Newcomer& n : newcomers_) all.push_back({n.is_proxy ? -1 : n.fd, POLLIN, 0});
    const bool ready = std::any_of(newcomers_.begin(), newcomers_.end(),
                                   [](const Newcomer& n) { return n.is_proxy; });
    int events = real(all.data(), all.size(), ready ? 0 : timeout);
    if (events < 0) return events;
    for (size_t i = 0; i < newcomers_.size(); ++i)
      if (all[count + i].revents) check_newcomer(&newcomers_[i]);
    std::erase_if(newcomers_, [](const Newcomer& n) { return n.fd < 0; });
    for (nfds_t i = 0; i < count; ++i)
      if ((all[i].revents & POLLIN) && is_listener(all[i].fd)) accept_newcomers(all[i].fd);
    events = 0;
    for (nfds_t i = 0; i < count; ++i) {
      if ((fds[i].events & POLLIN) && is_listener(fds[i].fd)) {
        const bool any = std::any_of(newcomers_.begin(), newcomers_.end(), [&](const Newcomer& n) {
          return n.is_proxy && n.listener == fds[i].fd;
        });
        all[i].revents = any ? POLLIN : 0;
      }
      fds[i].revents = all[i].revents;
      events += fds[i].revents != 0;
    }
    // A caller with a time limit calls poll() again itself.
    if (events > 0 || timeout >= 0) return events;
  }
}

void Newcomers::record_read(int fd, const char* bytes, size_t count) {
  const auto end = std::find(pairs_.begin(), pairs_.end(), fd);
  const std::optional<uint64_t> proxy = find_greeter(bytes, count);
  if (end == pairs_.end() || !proxy) return;
  pairs_.erase(end);
  proxies_.push_back(*proxy);
}

int Newcomers::next_proxy(int listener) {
  const auto first = std::find_if(newcomers_.begin(), newcomers_.end(), [&](const Newcomer& n) {
    return n.is_proxy && n.listener == listener;
  });
  if (first == newcomers_.end()) return -1;
  const int fd = first->fd;
  newcomers_.erase(first);
  return fd;
}

}  // namespace fgmpi::launcher
