// A third transport, which shows that the interface suffices for one outside of src/transport:
// Unix-domain datagrams between processes of one host.
//
// A process has one socket, under an abstract name. The kernel keeps some ten datagrams for it: no
// event tells when there is room again, so a refused sender tries again soon (as over libfabric).
// Datagrams begin with the receiver's 128-bit key, which travels through the launcher alone:
//
//   | receiver's key 16 | sender's name 16 | kind 8 | Header 48 | payload |      kind 1: a frame
//   | receiver's key 16 | sender's name 16 | kind 8 |                            kind 2: a bye
//
// This transport is slower than src/transport/shm by far, and is not in the library that users get.
// It shares only the interface with the other transports, and a library with it passes tests of
// test/mpi (test/mpi/transport/third.sh). Thread rule: one thread. Only close() blocks, for a few
// seconds at most.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "transport/transport.h"

namespace fgmpi::transport::datagram {

struct Words {
  uint64_t words[2];
  bool operator==(const Words&) const = default;
};
struct Prefix {
  Words key;
  Words from;
  uint64_t kind;
};
static_assert(sizeof(Prefix) == 40);
inline constexpr uint64_t kFrame = 1, kBye = 2;

/// "datagram1:HOSTID:NAME:KEY", all hexadecimal.
struct Published {
  std::string host;
  Words name{};
  Words key{};

  std::string to_string() const;
  bool parse(const std::string& text);
};

class Datagram final : public Transport {
 public:
  ~Datagram() override { close(); }
  const char* name() const override { return "datagram"; }
  bool reaches(const std::string& address) const override;
  Status open(const Sinks& sinks, std::string* address) override;
  Status add_peer(uint32_t process, const std::string& address, uint64_t* local) override;
  size_t max_payload() const override { return 16 << 10; }
  bool try_send(uint32_t process, uint64_t peer, const Header& header, const void* payload,
                size_t length) override;
  bool poll() override;
  bool arm() override { return !losses_; }
  int wait_fd() const override { return socket_; }
  int64_t longest_sleep() const override { return starved_since_ ? kRetry : INT64_MAX; }
  bool tick() override;
  uint64_t refused() const override { return refused_; }
  void close() override;

 private:
  static constexpr int64_t kRetry = 100'000;  // ns
  enum class Sent { kYes, kNoRoom, kGone };
  struct Peer {
    Words name;
    Words key;
    uint32_t process;
    bool used = false;  ///< frames went to it or came from it
    bool lost = false;  ///< its socket is closed: gone once all that it sent was received
    bool gone = false;  ///< it has sent a bye, or has failed
  };
  Sent send(const Peer& peer, uint64_t kind, const Header* header, const void* payload,
            size_t length);
  bool take_one();
  void report();

  FrameSink* sink_ = nullptr;
  Published mine_;
  int socket_ = -1;
  std::vector<Peer> peers_;
  std::unordered_map<uint64_t, size_t> by_name_;  ///< by the first word of the name
  bool losses_ = false;                           ///< some peer is lost and not yet gone
  std::string received_;                          ///< room for one datagram
  uint64_t refused_ = 0;
  int64_t starved_since_ = 0;
  bool closing_ = false;
};

}  // namespace fgmpi::transport::datagram
