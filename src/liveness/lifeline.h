// Lifelines: is a process of another host still running, and can its host still be reached?
//
// A provider's own connection shows that only when something is sent, and when a link goes down TCP
// waits for a quarter of an hour. So each pair of processes that exchange messages has one more TCP
// connection, on which only the kernels of both sides send, to keep it alive. When a process ends,
// its kernel closes the line at once. When its host cannot be reached, the line breaks after the
// timeout. Neither needs the process itself, so a process that computes for an hour does not count
// as lost.
//
// On links that lose packets a line may take longer to open than the timeout: TCP repeats the first
// packet of a connection only after 1, 3 and 7 s. So further lines (kSpares) are opened beside a
// line that is not open after an eighth of the timeout, and a process is lost when the last line to
// it is broken. The same is done for an open line when two packets that keep it alive have not been
// answered.
//
// A reset line does not prove an end: a kernel also resets a line when it has had no answer for the
// timeout, while its process runs. So the process is asked by another line, which is refused when
// the process has ended. A line that is closed in order does prove an end.
//
// A process that was heard in another way meanwhile (last_heard.h) is not lost. It is asked anew,
// for another timeout.
//
// A broken line means that the process at its other end is lost, unless this process is leaving
// (liveness.h). The caller of release_broken() decides that.
//
// A new line is also a message: its process wants to send something to this one
// (Ofi::poll_lines).
//
// Lifelines are for providers with internet addresses; other providers report lost links
// themselves.
// Thread rule: one thread; nothing blocks. poll() is called at least once a second.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fgmpi::liveness {

/// 128 random bits that only processes of the job know.
struct LifelineKey {
  uint64_t words[2];
  bool operator==(const LifelineKey&) const = default;
};

/// Where a process accepts lines, and the key that it demands.
struct Contact {
  sockaddr_storage address;
  uint16_t port;
  LifelineKey key;
};

class Lifelines {
 public:
  /// Finds how to reach a process. False: unknown, or nothing waits for the process any more.
  using Find = std::function<bool(uint32_t process, Contact* contact)>;

  ~Lifelines() { close(); }

  /// Listens on the address of the endpoint, at any port, and returns the port; 0 when there are no
  /// lifelines. `timeout_s`: after how long an unreachable peer is lost.
  uint16_t open(const sockaddr_storage& endpoint, LifelineKey key, int timeout_s);
  /// Opens a line to `process`, at the host of `address` and at `port`, with its key, unless there
  /// is one. False: no line can be made.
  bool connect(uint32_t process, const sockaddr_storage& address, uint16_t port, LifelineKey key,
               uint32_t me);
  /// Sets how further lines are made to processes that do not answer on theirs. Without it, a line
  /// without an answer is a loss.
  void set_find(uint32_t me, Find find);
  /// Accepts new lines and advances their openings; appends the processes at the other ends of
  /// lines that are now open.
  void poll(std::vector<uint32_t>* opened);
  /// A descriptor that is readable when poll() has something to do, or when `other` is readable;
  /// `other` itself if there are no lifelines.
  int wait_with(int other) const;
  /// The processes whose last line poll() has found broken, with the reason, each once.
  std::vector<std::pair<uint32_t, std::string>> release_broken() {
    return std::exchange(broken_, {});
  }
  void close();
  /// How many connections did not have the key.
  uint64_t strangers() const { return strangers_; }

 private:
  /// The first bytes on a line.
  struct Opening {
    LifelineKey key;
    uint32_t process;
    uint32_t zero;
  };
  struct OpenLine {
    Opening opening{};     ///< to be sent, or as far as received
    size_t moved = 0;      ///< bytes of `opening` sent or received
    bool ours = false;     ///< this process opened the line
    int64_t process = -1;  ///< at the other end; -1: not known yet
  };
  /// A process that has not answered on a line yet, or not lately.
  struct Attempt {
    sockaddr_storage address{};  ///< of its lines
    Opening opening{};
    int spares = 0;    ///< lines made so far after the first
    int64_t next = 0;  ///< ns: when to check whether a line is open
    /// The time (ns) at which the process has not answered for the timeout.
    int64_t until = 0;
  };
  void accept_all();
  void set_options(int fd, int timeout_s) const;
  bool add_line(uint32_t process, const Attempt& attempt, int timeout_s);
  bool has_line(uint32_t process) const;
  bool is_open(uint32_t process) const;
  bool add_spare(uint32_t process, Attempt* attempt);
  static Attempt attempt_for(const Contact& contact, uint32_t me, int64_t until);
  Attempt* attempt_again(uint32_t process, int64_t until);
  void check_attempts();
  void check_for_silence();
  void lose(uint32_t process, int failure);
  void watch(int fd, int operation, bool writable) const;
  bool receive(int fd, OpenLine* line, int* failure);
  void go_on(int fd, std::vector<uint32_t>* opened);
  bool advance(int fd, OpenLine* line, int* failure);
  void drop(int fd);

  LifelineKey key_{};
  int listener_ = -1;
  int epoll_ = -1;
  int timeout_s_ = 10;
  uint64_t strangers_ = 0;
  uint32_t me_ = 0;
  Find find_;
  int64_t next_check_ = 0;                          ///< ns: next check for lines without answers
  std::unordered_map<int, OpenLine> lines_;         ///< by descriptor
  std::unordered_map<uint32_t, Attempt> attempts_;  ///< by process
  std::vector<std::pair<uint32_t, std::string>> broken_;  ///< since the last release_broken()
};

}  // namespace fgmpi::liveness
