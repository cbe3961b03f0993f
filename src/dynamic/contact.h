// The addresses of a process of another job, and the keys that only processes know to which they
// were given.
//
//   contact     HOSTID:NAME:PORT:ADDRESS,ADDRESS...   NAME: of a socket on the host (16 hexadecimal
//                                                     digits)
//   card        CONTACT:KEY                           of a process, for the other processes of jobs
//                                                     that it is connected with
//   port name   fgmpi1:CONTACT:NUMBER:KEY             of MPI_Open_port; at most MPI_MAX_PORT_NAME
//                                                     with the null
//
// Thread rule: none (no shared state).
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fgmpi::dynamic {

struct SecretKey {
  std::array<uint8_t, 16> bytes{};
  static SecretKey draw();
  std::string to_string() const;
  bool parse(std::string_view text);
  /// Compares in the same time whether keys differ early or late.
  bool same(const SecretKey& other) const;
};

struct ProcessContact {
  std::string host_id;  ///< transport/host_id.h
  std::string name;
  uint16_t port = 0;                   ///< 0: none
  std::vector<std::string> addresses;  ///< IPv4, in the order in which to try them

  std::string to_string() const;
  /// Removes a contact from the front of `text`. Returns false for anything else.
  bool parse(std::string_view* text);
};

struct ProcessCard {
  ProcessContact contact;
  SecretKey key;
  std::string to_string() const;
  bool parse(std::string_view text);
};

struct PortName {
  ProcessContact contact;
  uint32_t number = 0;
  SecretKey key;
  std::string to_string() const;
  bool parse(std::string_view text);
};

struct StreamAddress {
  sockaddr_storage address{};
  socklen_t length = 0;
};
/// The address of the socket with that name on this host (the abstract namespace: no file).
StreamAddress local_address(const std::string& name);
/// The addresses to try: the socket on the host if the host is the same, else those of the network.
std::vector<StreamAddress> addresses_of(const ProcessContact& contact);
/// This host's IPv4 addresses, at most four, the loopback's last.
std::vector<std::string> own_addresses();

}  // namespace fgmpi::dynamic
