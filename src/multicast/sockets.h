// UDP sockets of the multicast. Each process has one of its own, by which it sends and receives
// what is sent to it alone. It has another one for each group whose address it has joined.
//
// IPv4 groups are in 239.0.0.0/8 (administratively scoped, RFC 2365), IPv6 ones in ff12::/16
// (transient, link-local, RFC 4291). All traffic stays on one interface: memberships and sends name
// it, and a group's socket is bound to the group's address, so that it receives nothing else.
// Memberships end with the sockets, hence with the process, however it ends.
//
// Thread rule: one thread. Nothing here blocks or switches.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "multicast/datagram.h"

namespace fgmpi::multicast {

/// An address and a port, in the form that members send to each other.
struct MulticastAddress {
  uint8_t family = 0;  ///< 4 or 6; 0: none
  uint8_t zero = 0;
  uint16_t port = 0;
  unsigned char address[16] = {};
  bool operator==(const MulticastAddress&) const = default;
};
static_assert(sizeof(MulticastAddress) == 20);

/// The interface that FGMPI_OFI_INTERFACE names by its name or one of its addresses; else the first
/// one that is up, is no loopback, and can multicast.
struct Interface {
  std::string name;
  unsigned index = 0;
  size_t mtu = 0;
  MulticastAddress own;  ///< its address; port 0
};
Status find_interface(Interface* out);

/// A file descriptor that is closed with its owner.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  bool operator==(const SocketAddress& other) const;
};
SocketAddress socket_address(const MulticastAddress& place, unsigned interface);

/// Opens the process's own socket, on a port that the kernel picks: *port. `ttl`: hops of what it
/// sends to groups; `own_host`: other processes of this host receive it, too.
Status open_own(const Interface& interface, int ttl, bool own_host, Socket* out, uint16_t* port);
/// Opens a socket that receives what is sent to the group's address on the interface.
Status join(const Interface& interface, const MulticastAddress& group, Socket* out);
/// Bytes of datagrams that a socket's receive buffer holds, as far as the kernel reports.
size_t room_of(const Socket& socket);

/// Datagrams to be sent, stored until flush(). Runs of equal length to one address are sent by one
/// call, and divided by the kernel or the network card (UDP_SEGMENT) where these can.
class Outbox {
 public:
  explicit Outbox(const Socket* socket) : socket_(socket) { bytes_.reserve(kRoom); }
  /// Appends a datagram and makes its tag; flushes first when there is no room. Drops the datagram
  /// when there is no room even then.
  void add(const SocketAddress& to, DatagramHeader header, const void* payload, size_t length,
           const GroupKey& key);
  /// Stores an acknowledgement that may leave later, until release(). It replaces an older one
  /// of the same transfer. A process acknowledges a transfer to one other process, its parent
  /// in the tree.
  void batch(const SocketAddress& to, DatagramHeader header, const GroupKey& key);
  /// Makes the stored acknowledgements leave with the next flush().
  void release();
  bool holds() const { return !held_.empty(); }
  /// Sends what the socket has room for; the rest stays.
  void flush();
  /// Sets the length of datagrams that fit packets of the interface; longer ones are not
  /// put together.
  void set_most_segment(size_t bytes) { most_segment_ = bytes; }
  bool empty() const { return entries_.empty(); }
  uint64_t dropped() const { return dropped_; }

 private:
  struct BundleEntry {
    SocketAddress to;
    size_t at, length;
  };
  struct BatchedDatagram {
    SocketAddress to;
    DatagramHeader header;  ///< with its tag
  };
  static constexpr size_t kRoom = 256 << 10;
  /// False: there is no room, and the datagram is dropped.
  bool append(const SocketAddress& to, const DatagramHeader& header, const void* payload,
              size_t length);
  size_t send_some(size_t first);

  const Socket* socket_;
  std::vector<char> bytes_;
  std::vector<BundleEntry> entries_;
  std::vector<BatchedDatagram> held_;
  bool segments_ = true;
  size_t most_segment_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace fgmpi::multicast
