// Sockets that never block: writing, reading, and their poller.

#include "dynamic/socket_stream.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/passed_descriptors.h"

namespace fgmpi::dynamic {

StreamPoller& g_poller = *new StreamPoller;  // never destroyed, as programs use MPI until they end

namespace {

constexpr size_t kReadAtOnce = 256 << 10;
constexpr size_t kMostReadsAPoll = 4;
constexpr int64_t kRetry = 5'000'000;  ///< ns

uint8_t* scratch() {
  static auto* bytes = new uint8_t[kReadAtOnce];
  return bytes;
}

}  // namespace

int StreamPoller::descriptor() {
  if (epoll_ < 0) epoll_ = epoll_create1(EPOLL_CLOEXEC);
  return epoll_;
}

int64_t StreamPoller::longest_sleep() const {
  if (!resumed_.empty()) return 0;
  return retrying_.empty() ? INT64_MAX : kRetry;
}

template <class Visit>
void StreamPoller::visit_streams(std::vector<SocketStream*>* list, Visit visit) {
  if (list->empty()) return;
  const std::vector<SocketStream*> streams = std::exchange(*list, {});
  polling_ = true;
  for (SocketStream* stream : streams)
    if (!stream->closed_) visit(stream);
  polling_ = false;
  done_.clear();
}

bool StreamPoller::poll() {
  if (epoll_ < 0) return false;
  visit_streams(&resumed_, [](SocketStream* stream) { stream->deliver_unread(); });
  visit_streams(&retrying_, [](SocketStream* stream) { stream->try_next(""); });
  epoll_event events[32];
  const int count = epoll_wait(epoll_, events, 32, 0);
  if (count <= 0) return false;
  polling_ = true;
  for (int i = 0; i < count; ++i) {
    auto* stream = static_cast<SocketStream*>(events[i].data.ptr);
    if (stream->fd_ >= 0) stream->on_ready(events[i].events);
  }
  polling_ = false;
  done_.clear();
  return true;
}

void StreamPoller::destroy(std::unique_ptr<SocketStream> stream) {
  stream->close();
  if (polling_) done_.push_back(std::move(stream));
}

SocketStream::~SocketStream() { close(); }

void SocketStream::watch() {
  uint32_t events = 0;
  if (!paused_) events |= EPOLLIN;
  if (connecting_ || unsent() > 0) events |= EPOLLOUT;
  if (watched_ && events == events_) return;
  epoll_event event{};
  event.events = events;
  event.data.ptr = this;
  epoll_ctl(g_poller.descriptor(), watched_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd_, &event);
  watched_ = true;
  events_ = events;
}

void SocketStream::adopt(int fd, bool owned) {
  fd_ = fd;
  owned_ = owned;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // no effect on a local socket
  watch();
}

void SocketStream::connect(std::vector<StreamAddress> addresses) {
  addresses_ = std::move(addresses);
  next_address_ = 0;
  try_next("no address of it is known");
}

/// Tries the next address. When there is none, the stream ends; `why` is the error of the
/// last address.
void SocketStream::try_next(const std::string& why) {
  std::string last = why;
  while (next_address_ < addresses_.size()) {
    const StreamAddress& to = addresses_[next_address_];
    const int fd = socket(to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) break;
    const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&to.address), to.length);
    if (result != 0 && errno == EAGAIN) {  // the other side has a full queue of callers
      ::close(fd);
      g_poller.retrying_.push_back(this);
      return;
    }
    ++next_address_;
    if (result != 0 && errno != EINPROGRESS) {
      last = std::strerror(errno);
      ::close(fd);
      continue;
    }
    connecting_ = result != 0;
    adopt(fd, true);
    if (!connecting_) flush();
    return;
  }
  on_end(last.empty() ? std::strerror(errno) : last);
}

void SocketStream::write(const void* first, size_t first_bytes, const void* second,
                         size_t second_bytes) {
  size_t written = 0;
  if (fd_ >= 0 && !connecting_ && unsent() == 0) {
    iovec pieces[2] = {{const_cast<void*>(first), first_bytes},
                       {const_cast<void*>(second), second_bytes}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = second_bytes ? 2 : 1;
    const ssize_t n = sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) written = static_cast<size_t>(n);  // the next poll finds an error
    if (written == first_bytes + second_bytes) return;
  }
  if (out_at_ == out_.size()) out_.clear(), out_at_ = 0;
  for (auto [bytes, count] : {std::pair{first, first_bytes}, std::pair{second, second_bytes}}) {
    const size_t skipped = std::min(written, count);
    const auto* from = static_cast<const uint8_t*>(bytes) + skipped;
    out_.insert(out_.end(), from, from + (count - skipped));
    written -= skipped;
  }
  if (fd_ >= 0) watch();
}

bool SocketStream::write_with_descriptor(const void* bytes, size_t count, int descriptor) {
  if (fd_ < 0 || connecting_) return false;
  DescriptorMessage<1> message(bytes, count);
  message.put(&descriptor);
  return sendmsg(fd_, message.header(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(count);
}

void SocketStream::wake_other() {
  const char byte = 0;
  if (fd_ >= 0) send(fd_, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void SocketStream::flush() {
  bool moved = false;
  while (unsent() > 0) {
    const ssize_t n = send(fd_, out_.data() + out_at_, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0) return finish(std::strerror(errno));
    out_at_ += static_cast<size_t>(n);
    moved = true;
  }
  if (unsent() == 0) {
    std::vector<uint8_t>().swap(out_);
    out_at_ = 0;
  }
  watch();
  if (moved) on_room();
}

void SocketStream::on_ready(uint32_t events) {
  if (connecting_) {
    int code = 0;
    socklen_t length = sizeof code;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &code, &length);
    connecting_ = false;
    if (code) {
      const std::string why = std::strerror(code);
      epoll_ctl(g_poller.descriptor(), EPOLL_CTL_DEL, fd_, nullptr);
      watched_ = false;
      ::close(fd_);
      fd_ = -1;
      return try_next(why);
    }
  }
  if (events & EPOLLOUT) flush();
  if (fd_ < 0) return;
  if (paused_) {
    if (!(events & (EPOLLHUP | EPOLLERR))) return;
    // Bytes that the other side sent before it closed are read when the stream goes on.
    char one;
    if (recv(fd_, &one, 1, MSG_PEEK | MSG_DONTWAIT) <= 0 && in_.empty())
      return finish("it has closed the connection");
    epoll_ctl(g_poller.descriptor(), EPOLL_CTL_DEL, fd_, nullptr);
    watched_ = false;
  } else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
    read_all();
  }
}

void SocketStream::on_descriptor(int descriptor) { ::close(descriptor); }

/// Receives into scratch(), and passes on descriptors that came.
ssize_t SocketStream::receive(size_t most) {
  DescriptorMessage<1> message(scratch(), most);
  const ssize_t n = recvmsg(fd_, message.header(), MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  int descriptor;
  if (n >= 0 && message.take(&descriptor)) on_descriptor(descriptor);
  return n;
}

void SocketStream::read_all() {
  for (size_t turn = 0; turn < kMostReadsAPoll && fd_ >= 0 && !paused_; ++turn) {
    const size_t most = std::min(kReadAtOnce, wanted());
    const ssize_t n = receive(most);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) return finish(n == 0 ? "it has closed the connection" : std::strerror(errno));
    const auto count = static_cast<size_t>(n);
    if (in_.empty()) {
      const size_t used = on_bytes(scratch(), count);
      if (used < count) in_.assign(scratch() + used, scratch() + count);
    } else {
      in_.insert(in_.end(), scratch(), scratch() + count);
      deliver_unread();
    }
  }
}

void SocketStream::deliver_unread() {
  if (paused_) return;
  const size_t used = on_bytes(in_.data(), in_.size());
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(used));
  if (in_.empty()) std::vector<uint8_t>().swap(in_);
}

bool SocketStream::hung_up() const {
  pollfd other{fd_, POLLRDHUP, 0};
  return fd_ < 0 ||
         (::poll(&other, 1, 0) == 1 && (other.revents & (POLLRDHUP | POLLHUP | POLLERR)));
}

bool SocketStream::has_news() const {
  if (std::find(g_poller.resumed_.begin(), g_poller.resumed_.end(), this) !=
      g_poller.resumed_.end())
    return true;
  pollfd mine{fd_, POLLIN, 0};
  return fd_ >= 0 && ::poll(&mine, 1, 0) == 1;
}

bool SocketStream::local() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  return fd_ >= 0 && !connecting_ &&
         getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
         address.ss_family == AF_UNIX;
}

pid_t SocketStream::peer_process() const {
  ucred who{};
  socklen_t length = sizeof who;
  return local() && getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 ? who.pid : 0;
}

bool SocketStream::under_way() const {
  if (unsent() > 0) return true;
  // Bytes written to a local socket are with their reader at once; SIOCOUTQ of such a socket counts
  // unread bytes.
  if (fd_ < 0 || local()) return false;
  int unacknowledged = 0;
  return ioctl(fd_, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0;
}

void SocketStream::shut_down() {
  if (fd_ >= 0) ::shutdown(fd_, SHUT_WR);
}

void SocketStream::pause(bool paused) {
  paused_ = paused;
  if (!paused && !in_.empty()) g_poller.resumed_.push_back(this);
  if (fd_ >= 0) watch();
}

void SocketStream::finish(const std::string& why) {
  close();
  on_end(why);
}

void SocketStream::close() {
  std::erase(g_poller.retrying_, this);
  std::erase(g_poller.resumed_, this);
  closed_ = true;
  const int fd = release();
  if (fd >= 0 && owned_) ::close(fd);
}

int SocketStream::release() {
  const int fd = fd_;
  if (fd >= 0 && watched_) epoll_ctl(g_poller.descriptor(), EPOLL_CTL_DEL, fd, nullptr);
  watched_ = false;
  fd_ = -1;
  return fd;
}

int listen_locally(const std::string& name) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const StreamAddress at = local_address(name);
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&at.address), at.length) == 0 &&
      listen(fd, SOMAXCONN) == 0)
    return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

int listen_to_network(uint16_t* port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t length = sizeof address;
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(fd, SOMAXCONN) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    *port = ntohs(address.sin_port);
    return fd;
  }
  if (fd >= 0) ::close(fd);
  return -1;
}

}  // namespace fgmpi::dynamic
