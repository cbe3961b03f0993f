// UDP sockets for multicast, and the outboxes of datagrams that are sent together.

#include "multicast/sockets.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <mpi.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/settings.h"

namespace fgmpi::multicast {
namespace {

/// The requested size. Without privilege the kernel grants at most what net.core.rmem_max
/// allows (twice it).
constexpr int kReceiveRoom = 4 << 20;
constexpr int kSendRoom = 1 << 20;
/// Limits of the kernel for one call with UDP_SEGMENT.
constexpr size_t kMostSegments = 64, kMostSegmented = 60'000;
constexpr size_t kMostMessages = 32;
/// Most acknowledgements that are held until other datagrams leave.
constexpr size_t kMostBatched = 32;

Status failed(const char* what) {
  return error(MPI_ERR_OTHER, "multicast: %s: %s", what, std::strerror(errno));
}

bool place_of(const sockaddr* address, MulticastAddress* out) {
  *out = {};
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET) {
    out->family = 4;
    std::memcpy(out->address, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return true;
  }
  if (address->sa_family == AF_INET6) {
    out->family = 6;
    std::memcpy(out->address, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
    return true;
  }
  return false;
}

/// The text of an address, without a scope.
std::string text_of(const MulticastAddress& place) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(place.family == 4 ? AF_INET : AF_INET6, place.address, text, sizeof text);
  return text;
}

/// Writes the tag in front of a datagram.
void sign(void* datagram, size_t length, const GroupKey& key) {
  const uint64_t tag = tag_of_datagram(datagram, length, key);
  std::memcpy(datagram, &tag, sizeof tag);
}

bool is_link_local(const MulticastAddress& place) {
  return place.family == 6 && place.address[0] == 0xfe && (place.address[1] & 0xc0) == 0x80;
}

size_t mtu_of(const std::string& name) {
  Socket any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (!any || ioctl(any.fd(), SIOCGIFMTU, &request) != 0) return 1280;
  return static_cast<size_t>(request.ifr_mtu);
}

template <class T>
int set(const Socket& s, int level, int option, const T& value) {
  return setsockopt(s.fd(), level, option, &value, sizeof value);
}

Socket open_udp(const MulticastAddress& place) {
  return Socket(
      socket(place.family == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void enlarge(const Socket& s) {
  if (set(s, SOL_SOCKET, SO_RCVBUFFORCE, kReceiveRoom) != 0)
    set(s, SOL_SOCKET, SO_RCVBUF, kReceiveRoom);
  if (set(s, SOL_SOCKET, SO_SNDBUFFORCE, kSendRoom) != 0) set(s, SOL_SOCKET, SO_SNDBUF, kSendRoom);
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Status find_interface(Interface* out) {
  const std::string& wanted = settings::text(settings::kOfiInterface);
  const std::string plain = wanted.substr(0, wanted.find('%'));
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return failed("cannot list the network interfaces");
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  // IPv4 is preferred where there is an address; of IPv6, the address of the link, which every
  // interface has.
  int best = 0;
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    MulticastAddress own;
    if (!(i->ifa_flags & IFF_UP) || !place_of(i->ifa_addr, &own)) continue;
    const bool by_address = !wanted.empty() && text_of(own) == plain;
    const bool by_name = wanted == i->ifa_name;
    if (!wanted.empty() && !by_address && !by_name) continue;
    if (wanted.empty() && (i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_MULTICAST)))
      continue;
    if (own.family == 6 && !is_link_local(own) && !(i->ifa_flags & IFF_LOOPBACK)) continue;
    const int rank = by_address ? 3 : own.family == 4 ? 2 : 1;
    if (rank <= best) continue;
    best = rank;
    out->name = i->ifa_name;
    out->index = if_nametoindex(i->ifa_name);
    out->own = own;
  }
  if (best == 0)
    return error(
        MPI_ERR_OTHER, "multicast: no interface %s",
        wanted.empty() ? "is up and can multicast" : ("is FGMPI_OFI_INTERFACE=" + wanted).c_str());
  out->mtu = mtu_of(out->name);
  return {};
}

SocketAddress socket_address(const MulticastAddress& place, unsigned interface) {
  SocketAddress out;
  if (place.family == 4) {
    auto* a = reinterpret_cast<sockaddr_in*>(&out.storage);
    a->sin_family = AF_INET;
    a->sin_port = htons(place.port);
    std::memcpy(&a->sin_addr, place.address, 4);
    out.length = sizeof *a;
  } else {
    auto* a = reinterpret_cast<sockaddr_in6*>(&out.storage);
    a->sin6_family = AF_INET6;
    a->sin6_port = htons(place.port);
    std::memcpy(&a->sin6_addr, place.address, 16);
    a->sin6_scope_id = interface;
    out.length = sizeof *a;
  }
  return out;
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  return length == other.length && std::memcmp(&storage, &other.storage, length) == 0;
}

Status open_own(const Interface& interface, int ttl, bool own_host, Socket* out, uint16_t* port) {
  const int loop = own_host;
  Socket s = open_udp(interface.own);
  if (!s) return failed("cannot make a socket");
  enlarge(s);
  int refused;
  if (interface.own.family == 4) {
    ip_mreqn where{};
    where.imr_ifindex = static_cast<int>(interface.index);
    refused = set(s, IPPROTO_IP, IP_MULTICAST_IF, where) |
              set(s, IPPROTO_IP, IP_MULTICAST_TTL, ttl) |
              set(s, IPPROTO_IP, IP_MULTICAST_LOOP, loop);
  } else {
    refused = set(s, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface.index)) |
              set(s, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, ttl) |
              set(s, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loop);
  }
  if (refused) return failed("cannot send to groups");
  SocketAddress address = socket_address(interface.own, interface.index);
  if (bind(s.fd(), reinterpret_cast<sockaddr*>(&address.storage), address.length) != 0)
    return failed("cannot bind a socket");
  if (getsockname(s.fd(), reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0)
    return failed("cannot find out a socket's port");
  // The port is at the same offset in both kinds of addresses.
  *port = ntohs(reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port);
  *out = std::move(s);
  return {};
}

Status join(const Interface& interface, const MulticastAddress& group, Socket* out) {
  Socket s = open_udp(group);
  if (!s) return failed("cannot make a socket");
  enlarge(s);
  int refused = set(s, SOL_SOCKET, SO_REUSEADDR, 1);  // several processes of a host join it
  const SocketAddress address = socket_address(group, interface.index);
  if (bind(s.fd(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0)
    return failed("cannot bind a socket to a group's address");
  if (group.family == 4) {
    ip_mreqn membership{};
    std::memcpy(&membership.imr_multiaddr, group.address, 4);
    membership.imr_ifindex = static_cast<int>(interface.index);
    refused |=
        set(s, IPPROTO_IP, IP_MULTICAST_ALL, 0) | set(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, membership);
  } else {
    ipv6_mreq membership{};
    std::memcpy(&membership.ipv6mr_multiaddr, group.address, 16);
    membership.ipv6mr_interface = interface.index;
    refused |= set(s, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0) |
               set(s, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, membership);
  }
  if (refused) return failed("cannot join a group");
  *out = std::move(s);
  return {};
}

size_t room_of(const Socket& socket) {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, &length) != 0) return 0;
  return static_cast<size_t>(std::max(bytes, 0));
}

void Outbox::add(const SocketAddress& to, DatagramHeader header, const void* payload, size_t length,
                 const GroupKey& key) {
  if (append(to, header, payload, length))
    sign(&bytes_[entries_.back().at], entries_.back().length, key);
}

bool Outbox::append(const SocketAddress& to, const DatagramHeader& header, const void* payload,
                    size_t length) {
  const size_t bytes = sizeof header + length;
  if (bytes_.size() + bytes > kRoom) flush();
  if (bytes_.size() + bytes > kRoom) {
    ++dropped_;
    return false;
  }
  const size_t at = bytes_.size();
  bytes_.resize(at + bytes);
  std::memcpy(&bytes_[at], &header, sizeof header);
  if (length) std::memcpy(&bytes_[at + sizeof header], payload, length);
  entries_.push_back({to, at, bytes});
  return true;
}

void Outbox::batch(const SocketAddress& to, DatagramHeader header, const GroupKey& key) {
  sign(&header, sizeof header, key);
  for (BatchedDatagram& held : held_) {
    const DatagramHeader& h = held.header;
    if (h.group != header.group || h.root != header.root || h.serial != header.serial) continue;
    held = {to, header};
    return;
  }
  if (held_.size() == kMostBatched) release();
  held_.push_back({to, header});
}

void Outbox::release() {
  for (const BatchedDatagram& held : held_) append(held.to, held.header, nullptr, 0);
  held_.clear();
}

/// Sends entries from `first` on in one call; returns how many are done (sent, or
/// impossible to send).
size_t Outbox::send_some(size_t first) {
  mmsghdr messages[kMostMessages] = {};
  iovec places[kMostMessages];
  alignas(cmsghdr) char controls[kMostMessages][CMSG_SPACE(sizeof(uint16_t))];
  size_t ends[kMostMessages];
  unsigned count = 0;
  for (size_t i = first; i < entries_.size() && count < kMostMessages; ++count) {
    BundleEntry& head = entries_[i];
    size_t bytes = head.length, end = i + 1;
    while (segments_ && head.length <= most_segment_ && end < entries_.size() &&
           end - i < kMostSegments && entries_[end - 1].length == head.length &&
           entries_[end].length <= head.length && bytes + entries_[end].length <= kMostSegmented &&
           entries_[end].to == head.to)
      bytes += entries_[end++].length;
    places[count] = {&bytes_[head.at], bytes};
    msghdr& m = messages[count].msg_hdr;
    m.msg_name = &head.to.storage;
    m.msg_namelen = head.to.length;
    m.msg_iov = &places[count];
    m.msg_iovlen = 1;
    if (end - i > 1) {
      m.msg_control = controls[count];
      m.msg_controllen = sizeof controls[count];
      cmsghdr* c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = SOL_UDP;
      c->cmsg_type = UDP_SEGMENT;
      c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
      const uint16_t each = static_cast<uint16_t>(head.length);
      std::memcpy(CMSG_DATA(c), &each, sizeof each);
    }
    ends[count] = i = end;
  }
  const int sent = sendmmsg(socket_->fd(), messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) return ends[sent - 1] - first;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS) return 0;
  if (segments_ && ends[0] - first > 1) {  // this socket has no segmentation
    segments_ = false;
    return 0;
  }
  ++dropped_;  // e.g. ENETUNREACH, EPERM of a firewall: treated as a loss
  return ends[0] - first;
}

void Outbox::flush() {
  size_t done = 0;
  while (done < entries_.size()) {
    const bool segments = segments_;
    const size_t gone = send_some(done);
    if (gone == 0 && segments == segments_) break;
    done += gone;
  }
  if (done == entries_.size()) {
    entries_.clear();
    bytes_.clear();
    return;
  }
  if (done == 0) return;
  const size_t from = entries_[done].at;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(done));
  for (BundleEntry& e : entries_) e.at -= from;
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(from));
}

}  // namespace fgmpi::multicast
