// The check of each newcomer at hydra's port before hydra sees it.

#include "launcher/hydra/hydra_newcomers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace fgmpi::launcher {
namespace {

/// Numbers of proxies are below this: more than any job has hosts.
constexpr int kMostProxies = 1 << 20;
/// The most connections that have not sent a number; beyond this many, the oldest is closed.
constexpr size_t kMostSilent = 256;

bool is_listener(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}

/// Sets how many bytes make the socket readable.
void set_least(int fd, int bytes) { setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes); }

}  // namespace

void Newcomers::accept_newcomers(int listener) {
  fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
  for (int fd; (fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    set_least(fd, sizeof(int));
    newcomers_.push_back({listener, fd, false});
    if (newcomers_.size() <= kMostSilent) continue;
    const auto oldest = std::find_if(newcomers_.begin(), newcomers_.end(),
                                     [](const Newcomer& n) { return !n.is_proxy; });
    if (oldest == newcomers_.end()) continue;
    close(oldest->fd);
    newcomers_.erase(oldest);
  }
}

/// Reads the number that has arrived, and leaves it in the connection. Where it is no proxy's,
/// closes the connection and sets its descriptor to -1.
void Newcomers::check_newcomer(Newcomer* newcomer) {
  int number = -1;
  const ssize_t got = recv(newcomer->fd, &number, sizeof number, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto bytes = static_cast<size_t>(std::max<ssize_t>(got, 0));
  newcomer->is_proxy = bytes == sizeof number && number >= 0 && number < kMostProxies &&
                       std::find(proxies_.begin(), proxies_.end(), number) == proxies_.end();
  if (newcomer->is_proxy) {
    proxies_.push_back(number);
    set_least(newcomer->fd, 1);
    fcntl(newcomer->fd, F_SETFD, 0);  // accept() returns descriptors without FD_CLOEXEC
  } else {                            // another number, or the end of the connection
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

void Newcomers::record_proxy_number(int fd, int number) {
  const auto end = std::find(pairs_.begin(), pairs_.end(), fd);
  if (end == pairs_.end()) return;
  pairs_.erase(end);
  proxies_.push_back(number);
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
