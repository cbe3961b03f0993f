#include "datagram.h"

#include <mpi.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/strings.h"
#include "transport/host_id.h"
#include "transport/random.h"
#include "transport/registry.h"

namespace fgmpi::transport::datagram {
namespace {

constexpr int kBurst = 32;
constexpr int64_t kFlush = 5'000'000'000;

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// The socket's address has an abstract name, which is not in the file system.
socklen_t address_of(const Words& name, sockaddr_un* out) {
  *out = {};
  out->sun_family = AF_UNIX;
  int n = std::snprintf(out->sun_path + 1, sizeof out->sun_path - 1,
                        "fgmpi-%016" PRIx64 "%016" PRIx64, name.words[0], name.words[1]);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}

std::unique_ptr<Transport> make_datagram() { return std::make_unique<Datagram>(); }
std::string describe(const std::string&) { return "datagram"; }

/// Registers the transport, when the library is loaded; nothing else in it knows of this one. (A
/// transport in a folder of src/transport is registered by the name of its object.)
const Registration registration{"datagram", 300, make_datagram, describe};
const bool added = (add(registration), true);

}  // namespace

std::string Published::to_string() const {
  return format("datagram1:%s:%016" PRIx64 "%016" PRIx64 ":%016" PRIx64 "%016" PRIx64, host.c_str(),
                name.words[0], name.words[1], key.words[0], key.words[1]);
}

bool Published::parse(const std::string& text) {
  char id[80], rest;
  if (std::sscanf(text.c_str(),
                  "datagram1:%79[0-9a-f]:%16" SCNx64 "%16" SCNx64 ":%16" SCNx64 "%16" SCNx64 "%c",
                  id, &name.words[0], &name.words[1], &key.words[0], &key.words[1], &rest) != 5)
    return false;
  host = id;
  return true;
}

bool Datagram::reaches(const std::string& address) const {
  Published theirs;
  return theirs.parse(address) && theirs.host == mine_.host;
}

Status Datagram::open(const Sinks& sinks, std::string* address) {
  sink_ = sinks.frames;
  mine_.host = host_id();
  random_bytes(&mine_.name, sizeof mine_.name);
  random_bytes(&mine_.key, sizeof mine_.key);
  received_.resize(sizeof(Prefix) + sizeof(Header) + max_payload() + 1);
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un own;
  const socklen_t length = address_of(mine_.name, &own);
  if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&own), length))
    return error(MPI_ERR_OTHER, "cannot make a socket for datagrams of this host: %m");
  *address = mine_.to_string();
  return {};
}

Status Datagram::add_peer(uint32_t process, const std::string& address, uint64_t* local) {
  Published theirs;
  if (!theirs.parse(address))
    return error(MPI_ERR_OTHER,
                 "process %u published \"%s\"; allowed is an address that begins with datagram1:",
                 process, address.c_str());
  *local = peers_.size();
  by_name_[theirs.name.words[0]] = peers_.size();
  peers_.push_back({theirs.name, theirs.key, process});
  return {};
}

Datagram::Sent Datagram::send(const Peer& peer, uint64_t kind, const Header* header,
                              const void* payload, size_t length) {
  Prefix prefix{peer.key, mine_.name, kind};
  iovec pieces[3] = {{&prefix, sizeof prefix},
                     {const_cast<Header*>(header), sizeof *header},
                     {const_cast<void*>(payload), length}};
  sockaddr_un to;
  msghdr message{};
  message.msg_name = &to;
  message.msg_namelen = address_of(peer.name, &to);
  message.msg_iov = pieces;
  message.msg_iovlen = header ? 3 : 1;
  if (sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Sent::kYes;
  const bool full = errno == EAGAIN || errno == ENOBUFS || errno == EINTR || errno == ENOMEM;
  return full ? Sent::kNoRoom : Sent::kGone;
}

bool Datagram::try_send(uint32_t, uint64_t handle, const Header& header, const void* payload,
                        size_t length) {
  Peer& peer = peers_[handle];
  peer.used = true;
  if (peer.gone || peer.lost) return true;
  const Sent sent = send(peer, kFrame, &header, payload, length);
  if (sent != Sent::kYes && !starved_since_) starved_since_ = now_ns();
  if (sent == Sent::kGone) peer.lost = losses_ = true;
  return sent != Sent::kNoRoom;
}

/// Receives one datagram; returns false when there is none.
bool Datagram::take_one() {
  const ssize_t n = recv(socket_, received_.data(), received_.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (n < 0) return false;
  const auto size = static_cast<size_t>(n);
  Prefix prefix{};
  std::memcpy(&prefix, received_.data(), std::min(size, sizeof prefix));
  auto found = by_name_.find(prefix.from.words[0]);
  const bool frame = prefix.kind == kFrame && size >= sizeof prefix + sizeof(Header);
  const bool bye = prefix.kind == kBye && size == sizeof prefix;
  Peer* peer = found == by_name_.end() ? nullptr : &peers_[found->second];
  if (size >= received_.size() || !(frame || bye) || !(prefix.key == mine_.key) || !peer ||
      !(peer->name == prefix.from) || peer->gone) {
    ++refused_;
    return true;
  }
  peer->used = true;
  if (bye) {
    peer->gone = true;
    return true;
  }
  Header header;
  std::memcpy(&header, received_.data() + sizeof prefix, sizeof header);
  if (header.src_process != peer->process)
    ++refused_;
  else if (!closing_)
    sink_->deliver(header, received_.data() + sizeof prefix + sizeof header,
                   size - sizeof prefix - sizeof header);
  return true;
}

bool Datagram::poll() {
  bool any = false;
  int taken = 0;
  while (taken < kBurst && take_one()) ++taken;
  any = taken > 0;
  if (starved_since_ && (any || now_ns() - starved_since_ > kRetry)) {
    starved_since_ = 0;
    any = true;
  }
  if (losses_ && taken < kBurst) report();
  return any;
}

/// Reports lost peers. REQUIRES: all that they sent, their byes included, has been delivered.
void Datagram::report() {
  losses_ = false;
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].lost || peers_[i].gone) continue;
    peers_[i].gone = true;
    if (!closing_) sink_->peer_failed(peers_[i].process, "nobody has its socket any more");
  }
}

/// Finds out whether each peer's socket still exists: connects another socket to its name, which
/// does not wake the peer.
bool Datagram::tick() {
  bool any = poll();  // delivers what peers sent before they ended
  for (Peer& peer : peers_) {
    if (!peer.used || peer.gone) continue;
    const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un to;
    const socklen_t length = address_of(peer.name, &to);
    if (probe >= 0 && connect(probe, reinterpret_cast<sockaddr*>(&to), length) &&
        errno == ECONNREFUSED)
      peer.lost = losses_ = true;
    if (probe >= 0) ::close(probe);
  }
  if (losses_) any |= poll();
  return any;
}

void Datagram::close() {
  if (socket_ < 0) return;
  closing_ = true;
  const int64_t deadline = now_ns() + kFlush;
  for (const Peer& peer : peers_) {
    if (!peer.used) continue;
    // Peers that have sent a bye get one too: they send no more, but still receive.
    while (send(peer, kBye, nullptr, nullptr, 0) == Sent::kNoRoom && now_ns() < deadline)
      if (!poll()) usleep(100);
  }
  ::close(socket_);
  socket_ = -1;
}

}  // namespace fgmpi::transport::datagram
