// How long a message takes to a process that is asleep in the kernel, beside the bare kernel in the
// same run.
//   usage: wake_latency [rounds]      prints one line a way: the median and the 95th percentile in
//                                     microseconds
//
// The receiver has no spin (FGMPI_SPIN=0) and the sender pauses 2 ms before each message, so that
// the receiver sleeps every time. The time is from before the send to the delivery, by the clock
// that both processes share.
//   futex, eventfd, tcp    a futex in shared memory; an eventfd in epoll; a byte over the loopback
//                          in epoll
//   shm, ofi               a frame of 8 bytes through that transport and Idle::sleep
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "transport/idle.h"
#include "transport/registry.h"

using namespace fgmpi::transport;

namespace {

constexpr unsigned kPauseUs = 2000;

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void require(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

struct Board {
  std::atomic<uint32_t> word;  ///< futex: messages sent
  std::atomic<int> arrived;    ///< at meetings
  std::atomic<int64_t> sent;   ///< when the message under way was sent
  std::atomic<int> taken;      ///< messages received
  char addresses[2][256];
};

/// A way for a message of no content to get from process 0 to process 1.
class Way {
 public:
  virtual ~Way() = default;
  virtual void open(int me, Board* board) { (void)me, (void)board; }
  virtual void send() = 0;
  /// Returns when a message has come.
  virtual void await() = 0;
};

class Futex final : public Way {
  Board* board_ = nullptr;
  uint32_t seen_ = 0;

 public:
  void open(int, Board* board) override { board_ = board; }
  void send() override {
    board_->word.fetch_add(1);
    syscall(SYS_futex, &board_->word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  void await() override {
    while (board_->word.load() == seen_)
      syscall(SYS_futex, &board_->word, FUTEX_WAIT, seen_, nullptr, nullptr, 0);
    ++seen_;
  }
};

/// Made before the processes part: bytes written to one descriptor wake who has the other one in
/// epoll.
class Descriptor final : public Way {
  int to_, from_, epoll_ = epoll_create1(0);
  size_t bytes_;

 public:
  Descriptor(int to, int from, size_t bytes) : to_(to), from_(from), bytes_(bytes) {
    epoll_event event{};
    event.events = EPOLLIN;
    require(epoll_ctl(epoll_, EPOLL_CTL_ADD, from_, &event) == 0, "epoll_ctl");
  }
  void send() override {
    const uint64_t one = 1;
    require(write(to_, &one, bytes_) == static_cast<ssize_t>(bytes_), "write");
  }
  void await() override {
    epoll_event event;
    while (epoll_wait(epoll_, &event, 1, -1) != 1) {
    }
    uint64_t bytes;
    require(read(from_, &bytes, bytes_) == static_cast<ssize_t>(bytes_), "read");
  }
};

std::unique_ptr<Way> eventfd_way() {
  const int fd = eventfd(0, 0);
  return std::make_unique<Descriptor>(fd, fd, 8);
}

std::unique_ptr<Way> tcp_way() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const int listener = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);
  require(!bind(listener, raw, size) && !listen(listener, 1) &&
              !getsockname(listener, raw, &size) && !connect(to, raw, size),
          "loopback");
  const int from = accept(listener, nullptr, nullptr), on = 1;
  setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return std::make_unique<Descriptor>(to, from, 1);
}

class Frames final : public Way, FrameSink {
  std::vector<std::unique_ptr<Transport>> list_;
  std::unique_ptr<Idle> idle_;
  uint64_t peer_ = 0, got_ = 0, awaited_ = 0;
  uint32_t me_ = 0;

  void deliver(const Header&, const void*, size_t) override { ++got_; }
  void returned(void*) override {}  // this program lends nothing
  void peer_failed(uint32_t process, const std::string& why) override {
    std::fprintf(stderr, "process %u: %s\n", process, why.c_str());
    std::exit(1);
  }
  static void check(const fgmpi::Status& status) {
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.what().c_str());
    if (!status.ok()) std::exit(1);
  }
  static void meet(Board* board, int goal) {
    board->arrived.fetch_add(1);
    while (board->arrived.load() < goal) usleep(100);
  }

 public:
  explicit Frames(std::unique_ptr<Transport> transport) { list_.push_back(std::move(transport)); }
  void open(int me, Board* board) override {
    me_ = static_cast<uint32_t>(me);
    std::string address;
    check(list_[0]->open({.frames = this}, &address));
    std::strncpy(board->addresses[me], address.c_str(), 255);
    meet(board, 2);
    check(list_[0]->add_peer(1 - me_, board->addresses[1 - me], &peer_));
    meet(board, 4);
    list_[0]->all_connected(me_);
    idle_ = std::make_unique<Idle>(list_);
  }
  void send() override {
    Header h{};
    h.src_process = me_;
    while (!list_[0]->try_send(1 - me_, peer_, h, "8 bytes", 8)) list_[0]->poll();
    list_[0]->poll();
  }
  void await() override {
    ++awaited_;
    while (got_ < awaited_) idle_->sleep(-1);
  }
};

void measure(const char* name, Way* way, int rounds) {
  void* memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* board = new (memory) Board{};
  const pid_t child = fork();
  way->open(child == 0, board);
  if (child == 0) {
    std::vector<double> us;
    for (int i = -10; i < rounds; ++i) {
      way->await();
      if (i >= 0) us.push_back(1e-3 * static_cast<double>(now_ns() - board->sent.load()));
      board->taken.fetch_add(1);
    }
    std::sort(us.begin(), us.end());
    std::printf("%-8s %8.1f %8.1f\n", name, us[us.size() / 2], us[us.size() * 95 / 100]);
    std::fflush(stdout);
    _exit(0);
  }
  for (int i = 0; i < rounds + 10; ++i) {
    usleep(kPauseUs);
    board->sent.store(now_ns());
    way->send();
    while (board->taken.load() <= i) usleep(50);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 500;
  setenv("FGMPI_SPIN", "0", 1);
  std::printf("%-8s %8s %8s   us, %d messages to a sleeper\n", "way", "median", "95%", rounds);
  std::fflush(stdout);
  Futex futex;
  measure("futex", &futex, rounds);
  measure("eventfd", eventfd_way().get(), rounds);
  measure("tcp", tcp_way().get(), rounds);
  Frames shm(make("shm"));
  measure("shm", &shm, rounds);
  Frames ofi(make("ofi"));
  measure("ofi", &ofi, rounds);
  // The transports of the sender end with it: its peers are gone.
  std::fflush(nullptr);
  _exit(0);
}
