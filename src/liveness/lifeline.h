// Lifelines: is the peer's process still there, is its host still reachable?
//
// The provider's connections tell only when something is sent, and a link that goes down makes them
// wait for a quarter of an hour. So each pair of processes that talk holds one idle TCP connection
// more, which the kernels of both sides keep alive: a process that ends closes it at once, a host
// that cannot be reached breaks it after the timeout. The application need not answer, so a process
// that computes for an hour is not taken for dead.
//
// For providers with internet addresses; others report lost links themselves.
// Thread rule: one thread; nothing blocks. Looked at by tick(), about once a second.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fgmpi::liveness {

/// 128 random bits that only processes of the job know.
struct Key {
  uint64_t words[2];
  bool operator==(const Key&) const = default;
};

class Lifelines {
 public:
  ~Lifelines() { close(); }

  /// Listens on the address of the endpoint (any port), which is returned; 0 when there are no
  /// lifelines. `timeout_s`: how long an unreachable peer is waited for.
  uint16_t open(const sockaddr_storage& endpoint, Key key, int timeout_s);
  /// Holds a line to `process`, at the host of `address` and `port`, whose key is `key`.
  void connect(uint32_t process, const sockaddr_storage& address, uint16_t port, Key key,
               uint32_t me);
  /// Takes in new lines; appends the processes whose line broke, with the reason.
  void tick(std::vector<std::pair<uint32_t, std::string>>* broken);
  void close();
  /// Connections that did not know the key.
  uint64_t strangers() const { return strangers_; }

 private:
  /// What a line begins with.
  struct Opening {
    Key key;
    uint32_t process;
    uint32_t zero;
  };
  struct Line {
    Opening opening{};     ///< to be sent, or as far as received
    size_t moved = 0;      ///< bytes of it
    bool ours = false;     ///< we opened it
    int64_t process = -1;  ///< at the other end, when known
  };
  void accept_all();
  void set_options(int fd) const;
  void watch(int fd, int operation, bool writable) const;
  bool receive(int fd, Line* line, std::string* why);
  bool advance(int fd, Line* line, std::string* why);
  void drop(int fd);

  Key key_{};
  int listener_ = -1;
  int epoll_ = -1;
  int timeout_s_ = 10;
  uint64_t strangers_ = 0;
  std::unordered_map<int, Line> lines_;  ///< by descriptor
};

}  // namespace fgmpi::liveness
