// Lifelines: is a process of another host still there, can its host still be reached?
//
// A provider's own connection shows that only when something is sent, and when a link goes down TCP
// waits for a quarter of an hour. So each pair of processes that exchange messages holds one more
// TCP connection, on which nothing is sent but what the kernels of both sides send to keep it
// alive. When a process ends, its kernel closes the line at once. When its host cannot be reached,
// the line breaks after the timeout. Neither needs the process itself, so one that computes for an
// hour is not taken for lost.
//
// On links that lose packets a line can take longer to open than the timeout is: TCP repeats the
// first packet of a connection after 1, 3 and 7 s only. So a line that is not open after an eighth
// of the timeout gets further ones beside it (kSpares), and a process is lost when the last line to
// it is broken. The same goes for an open line when two packets that keep it alive have not been
// answered.
//
// A line that is reset shows no end: a kernel resets it also when it has had no answer for the
// timeout, while its process runs. So the process is asked by another line, which is refused when
// it has ended. An end that comes in order does show one.
//
// A process that was heard by other ways meanwhile (heard.h) is not lost but asked anew, for
// another timeout.
//
// A broken line is the loss of the process at its other end, unless this process is leaving
// (liveness.h). That is up to the caller of take_broken().
//
// A new line is also news: its process has something to say to this one, or will have
// (Ofi::look_at_lines).
//
// For providers with internet addresses; others report lost links themselves.
// Thread rule: one thread; nothing blocks. look() is called at least once a second.
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
struct Key {
  uint64_t words[2];
  bool operator==(const Key&) const = default;
};

/// Where a process takes in lines, and the key that it asks for.
struct Contact {
  sockaddr_storage address;
  uint16_t port;
  Key key;
};

class Lifelines {
 public:
  /// False: unknown, or nobody wants to know any more.
  using Find = std::function<bool(uint32_t process, Contact* contact)>;

  ~Lifelines() { close(); }

  /// Listens on the address of the endpoint (any port), which is returned; 0 when there are no
  /// lifelines. `timeout_s`: how long an unreachable peer is waited for.
  uint16_t open(const sockaddr_storage& endpoint, Key key, int timeout_s);
  /// Holds a line to `process`, at the host of `address` and `port`, whose key is `key`, unless
  /// there is one. False: it cannot be held.
  bool connect(uint32_t process, const sockaddr_storage& address, uint16_t port, Key key,
               uint32_t me);
  /// How further lines are made to processes that have not answered on theirs: without it, such a
  /// line is a loss.
  void set_find(uint32_t me, Find find);
  /// Takes in new lines and moves openings along; appends the processes at the other ends of lines
  /// that are now open.
  void look(std::vector<uint32_t>* opened);
  /// A descriptor that is readable when there is something to look at, or when `other` is; `other`
  /// if there is none.
  int wait_with(int other) const;
  /// The processes whose last line look() has found broken, with the reason, each once.
  std::vector<std::pair<uint32_t, std::string>> take_broken() { return std::exchange(broken_, {}); }
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
  /// A process that has not yet answered on a line, or not lately.
  struct Attempt {
    sockaddr_storage address{};  ///< of its lines
    Opening opening{};
    int spares = 0;     ///< lines made so far after the first
    int64_t next = 0;   ///< ns: when to look whether one is open
    int64_t until = 0;  ///< ns: when the process has not answered for the timeout
  };
  void accept_all();
  void set_options(int fd, int timeout_s) const;
  bool add_line(uint32_t process, const Attempt& attempt, int timeout_s);
  bool has_line(uint32_t process) const;
  bool is_open(uint32_t process) const;
  bool add_spare(uint32_t process, Attempt* attempt);
  static Attempt attempt_for(const Contact& contact, uint32_t me, int64_t until);
  Attempt* attempt_again(uint32_t process, int64_t until);
  void look_at_attempts();
  void look_for_silence();
  void lose(uint32_t process, int failure);
  void watch(int fd, int operation, bool writable) const;
  bool receive(int fd, Line* line, int* failure);
  void go_on(int fd, std::vector<uint32_t>* opened);
  bool advance(int fd, Line* line, int* failure);
  void drop(int fd);

  Key key_{};
  int listener_ = -1;
  int epoll_ = -1;
  int timeout_s_ = 10;
  uint64_t strangers_ = 0;
  uint32_t me_ = 0;
  Find find_;
  int64_t next_look_ = 0;                                 ///< ns: for lines without answers
  std::unordered_map<int, Line> lines_;                   ///< by descriptor
  std::unordered_map<uint32_t, Attempt> attempts_;        ///< by process
  std::vector<std::pair<uint32_t, std::string>> broken_;  ///< since the last take_broken()
};

}  // namespace fgmpi::liveness
