#include "liveness/lifeline.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "liveness/last_heard.h"

namespace fgmpi::liveness {
namespace {

using Broken = std::vector<std::pair<uint32_t, std::string>>;

sockaddr_storage loopback() {
  sockaddr_storage address{};
  auto* in = reinterpret_cast<sockaddr_in*>(&address);
  in->sin_family = AF_INET;
  in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// The lifelines of two processes.
struct Two {
  const LifelineKey key{{1, 2}};
  std::unique_ptr<Lifelines> first = std::make_unique<Lifelines>();
  std::unique_ptr<Lifelines> second = std::make_unique<Lifelines>();
  uint16_t first_port = first->open(loopback(), key, 10);
  uint16_t second_port = second->open(loopback(), key, 10);

  static Broken look(Lifelines* lines) {
    std::vector<uint32_t> opened;
    lines->poll(&opened);
    return lines->release_broken();
  }
  /// Waits until a broken line is found.
  static Broken wait(Lifelines* lines) {
    Broken broken;
    for (int i = 0; i < 5000 && broken.empty(); ++i, usleep(1000)) broken = look(lines);
    return broken;
  }
  void settle() {
    for (int i = 0; i < 20; ++i, usleep(1000)) {
      EXPECT_TRUE(look(first.get()).empty());
      EXPECT_TRUE(look(second.get()).empty());
    }
  }
};

TEST(Lifelines, TellBothSidesOfAnEnd) {
  for (bool opener_ends : {false, true}) {
    Two two;
    ASSERT_NE(two.first_port, 0);
    two.first->connect(7, loopback(), two.second_port, two.key, 3);
    two.settle();
    (opener_ends ? two.first : two.second)->close();
    const Broken broken = Two::wait((opener_ends ? two.second : two.first).get());
    ASSERT_EQ(broken.size(), 1u);
    EXPECT_EQ(broken[0].first, opener_ends ? 3u : 7u);
    EXPECT_EQ(broken[0].second, "its process has ended");
  }
}

TEST(Lifelines, AreHeldOncePerProcess) {
  Two two;
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(two.first->connect(7, loopback(), two.second_port, two.key, 3));
  two.settle();
  two.second->close();
  EXPECT_EQ(Two::wait(two.first.get()).size(), 1u);
}

TEST(Lifelines, WakeAndNameWhoOpenedThemOnce) {
  Two two;
  int other[2];
  ASSERT_EQ(pipe(other), 0);
  const int fd = two.second->wait_with(other[0]);
  ASSERT_NE(fd, other[0]);
  auto is_ready = [&](int ms) {
    pollfd ready{fd, POLLIN, 0};
    return poll(&ready, 1, ms) == 1;
  };
  EXPECT_FALSE(is_ready(0));
  two.first->connect(7, loopback(), two.second_port, two.key, 3);
  std::vector<uint32_t> opened, mine;
  for (int i = 0; i < 1000 && opened.empty(); ++i) {
    two.first->poll(&mine);
    EXPECT_TRUE(is_ready(5000));
    two.second->poll(&opened);
  }
  EXPECT_EQ(opened, std::vector<uint32_t>{3});
  EXPECT_TRUE(mine.empty()) << "its own line";
  EXPECT_FALSE(is_ready(0));
  EXPECT_TRUE(two.second->connect(3, loopback(), two.first_port, two.key, 7)) << "there is one";
  two.first->poll(&mine);
  EXPECT_TRUE(mine.empty());
  ASSERT_EQ(write(other[1], "x", 1), 1);
  EXPECT_TRUE(is_ready(0)) << "the descriptor beside";
  close(other[0]);
  close(other[1]);
}

TEST(Lifelines, ToAPortWithoutListenerAreBroken) {
  Two two;
  const uint16_t port = two.second_port;
  two.second->close();
  two.first->connect(7, loopback(), port, two.key, 3);
  const Broken broken = Two::wait(two.first.get());
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0], std::make_pair(7u, std::string("its process has ended")));
}

/// A listener that is full and drops the first packets of connections, as a link does that loses
/// packets.
struct FullListener {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
      filler = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_storage address = loopback();
  uint16_t port = 0;

  FullListener() {
    socklen_t size = sizeof(sockaddr_in);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd, raw, size), 0);
    EXPECT_EQ(listen(fd, 0), 0);
    EXPECT_EQ(getsockname(fd, raw, &size), 0);
    EXPECT_EQ(::connect(filler, raw, size), 0);
    port = ntohs(reinterpret_cast<sockaddr_in*>(raw)->sin_port);
  }
  ~FullListener() {
    end();
    close(filler);
  }
  void end() {
    close(fd);
    fd = -1;
  }
};

TEST(Lifelines, AreTriedAgainWherePacketsAreLost) {
  FullListener listener;
  Lifelines lines;
  const LifelineKey key{{1, 2}};
  ASSERT_NE(lines.open(loopback(), key, 2), 0);
  lines.set_find(3, [&](uint32_t, Contact* contact) {
    *contact = {loopback(), listener.port, key};
    return true;
  });
  ASSERT_TRUE(lines.connect(7, loopback(), listener.port, key, 3));
  // The first line sends its first packet at once and after 1 s; it would send another after the
  // timeout. The loops end by the clock, since each pause takes several times as long on a busy
  // machine.
  const auto start = std::chrono::steady_clock::now();
  const auto full_until = start + std::chrono::milliseconds(1200);
  for (; std::chrono::steady_clock::now() < full_until; usleep(1000))
    EXPECT_TRUE(Two::look(&lines).empty());
  ::close(accept(listener.fd, nullptr, nullptr));  // the filler
  int line = -1;
  for (; std::chrono::steady_clock::now() < start + std::chrono::milliseconds(4200); usleep(1000)) {
    EXPECT_TRUE(Two::look(&lines).empty());
    if (line < 0) line = accept(listener.fd, nullptr, nullptr);
  }
  uint64_t opening[3];
  ASSERT_EQ(recv(line, opening, sizeof opening, MSG_WAITALL), ssize_t{sizeof opening});
  EXPECT_EQ(opening[1], key.words[1]);
  EXPECT_EQ(opening[2], 3u);
  ::close(line);
  listener.end();
  EXPECT_EQ(Two::wait(&lines), (Broken{{7, "its process has ended"}}));
}

TEST(Lifelines, ThatNeverOpenAreBrokenByTheTimeout) {
  FullListener listener;
  Lifelines lines;
  ASSERT_NE(lines.open(loopback(), LifelineKey{}, 2), 0);
  ASSERT_TRUE(lines.connect(7, loopback(), listener.port, LifelineKey{}, 3));
  EXPECT_EQ(Two::wait(&lines), (Broken{{7, "unreachable: Connection timed out"}}));
}

/// A process that consists of sockets only, so that a test can make the kernel behave as a network.
struct BareProcess {
  static constexpr uint32_t kNumber = 7;
  const LifelineKey key{{5, 6}};
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  uint16_t port = 0;

  BareProcess() {
    sockaddr_storage address = loopback();
    socklen_t size = sizeof(sockaddr_in);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener, raw, size), 0);
    EXPECT_EQ(listen(listener, 8), 0);
    EXPECT_EQ(getsockname(listener, raw, &size), 0);
    port = ntohs(reinterpret_cast<sockaddr_in*>(raw)->sin_port);
  }
  ~BareProcess() { end(); }
  void end() {
    if (listener >= 0) close(listener);
    listener = -1;
  }
  Lifelines::Find find() const {
    return [this](uint32_t process, Contact* contact) {
      *contact = {loopback(), port, key};
      return process == kNumber;
    };
  }
  /// Accepts a line of process 3, which must send its number and this process's key.
  int take_line(Lifelines* lines, int ms = 5000) const {
    int fd = -1;
    for (int i = 0; i < ms && fd < 0; ++i, usleep(1000)) {
      EXPECT_EQ(Two::look(lines), Broken());
      fd = accept(listener, nullptr, nullptr);
    }
    uint64_t opening[3] = {};
    for (int i = 0; i < 100 && recv(fd, opening, sizeof opening, MSG_PEEK | MSG_DONTWAIT) < 24;
         ++i, usleep(1000))
      Two::look(lines);
    EXPECT_EQ(recv(fd, opening, sizeof opening, MSG_DONTWAIT), ssize_t{sizeof opening});
    EXPECT_EQ(opening[0], key.words[0]);
    EXPECT_EQ(opening[1], key.words[1]);
    EXPECT_EQ(opening[2], 3u);
    return fd;
  }
  /// Opens a line to the process with that key.
  int open_line(uint16_t to, const LifelineKey& its_key) const {
    sockaddr_storage address = loopback();
    reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(to);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(sockaddr_in)), 0);
    const uint64_t opening[3] = {its_key.words[0], its_key.words[1], kNumber};
    EXPECT_EQ(write(fd, opening, sizeof opening), ssize_t{sizeof opening});
    return fd;
  }
  /// Resets a line, as a kernel does that has received no answer within the timeout.
  static void reset(int fd) {
    linger now{1, 0};
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close(fd);
  }
  /// Makes the kernel drop all packets of the line on their way to this process.
  static void lose_packets(int fd) {
    sock_filter none{BPF_RET | BPF_K, 0, 0, 0};
    sock_fprog program{1, &none};
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
  }
};

TEST(Lifelines, ThatAreResetShowNoEndOfAProcessThatTakesInOthers) {
  for (bool opened_by_us : {false, true}) {
    BareProcess other;
    Lifelines lines;
    const LifelineKey key{{1, 2}};
    const uint16_t port = lines.open(loopback(), key, 10);
    lines.set_find(3, other.find());
    int line;
    if (opened_by_us) {
      ASSERT_TRUE(lines.connect(other.kNumber, loopback(), other.port, other.key, 3));
      line = other.take_line(&lines);
    } else {
      line = other.open_line(port, key);
      std::vector<uint32_t> opened;
      for (int i = 0; i < 5000 && opened.empty(); ++i, usleep(1000)) lines.poll(&opened);
      ASSERT_EQ(opened, std::vector<uint32_t>{other.kNumber});
    }
    for (int i = 0; i < 3; ++i) {
      other.reset(line);
      line = other.take_line(&lines);
    }
    other.end();
    other.reset(line);
    EXPECT_EQ(Two::wait(&lines), (Broken{{other.kNumber, "its process has ended"}}));
  }
}

/// Opens a line to the process, and loses all packets of the line from then on.
void open_silent_line(BareProcess* other, Lifelines* lines, int timeout, int* line) {
  ASSERT_NE(lines->open(loopback(), LifelineKey{}, timeout), 0);
  lines->set_find(3, other->find());
  ASSERT_TRUE(lines->connect(other->kNumber, loopback(), other->port, other->key, 3));
  *line = other->take_line(lines);
  other->lose_packets(*line);
}

TEST(Lifelines, WithoutAnswersGetOthersBeside) {
  for (int timeout : {2, 4}) {
    BareProcess other;
    Lifelines lines;
    int first = -1;
    ASSERT_NO_FATAL_FAILURE(open_silent_line(&other, &lines, timeout, &first));
    const int second = other.take_line(&lines);
    for (int i = 0; i < 1000 * (timeout + 1); ++i, usleep(1000))
      EXPECT_EQ(Two::look(&lines), Broken());
    close(second);
    EXPECT_EQ(Two::wait(&lines), (Broken{{other.kNumber, "its process has ended"}}));
    close(first);
  }
}

TEST(Lifelines, WithoutAnswersAreBrokenWhereNoOtherOpens) {
  BareProcess other;
  Lifelines lines;
  int first = -1;
  ASSERT_NO_FATAL_FAILURE(open_silent_line(&other, &lines, 2, &first));
  other.lose_packets(other.listener);
  Broken broken = Two::wait(&lines);
  EXPECT_EQ(broken, (Broken{{other.kNumber, "unreachable: Connection timed out"}}));
  close(first);
}

TEST(Lifelines, AreNoLossOfAProcessThatIsHeardByOtherWays) {
  BareProcess other;
  Lifelines lines;
  int first = -1;
  ASSERT_NO_FATAL_FAILURE(open_silent_line(&other, &lines, 2, &first));
  other.lose_packets(other.listener);
  for (int64_t until = now_ns() + 7 * kSecond; now_ns() < until; usleep(1000)) {
    last_heard().record(other.kNumber, now_ns());
    ASSERT_EQ(Two::look(&lines), Broken());
  }
  // The process is not heard any more.
  Broken broken = Two::wait(&lines);
  if (broken.empty()) broken = Two::wait(&lines);
  EXPECT_EQ(broken, (Broken{{other.kNumber, "unreachable: Connection timed out"}}));
  close(first);
}

TEST(Lifelines, OfStrangersAreRefusedAndCounted) {
  Two two;
  two.first->connect(7, loopback(), two.second_port, LifelineKey{{1, 3}}, 3);
  for (int i = 0; i < 5000 && two.second->strangers() == 0; ++i, usleep(1000)) {
    EXPECT_TRUE(Two::look(two.second.get()).empty());
    Two::look(two.first.get());
  }
  EXPECT_EQ(two.second->strangers(), 1u);
}

TEST(Lifelines, ThatEndBeforeTheyHaveSaidWhoseTheyAreAreNobodys) {
  Two two;
  sockaddr_storage address = loopback();
  reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(two.second_port);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(sockaddr_in)), 0);
  ASSERT_EQ(write(fd, &two.key, sizeof two.key), static_cast<ssize_t>(sizeof two.key));
  two.settle();
  close(fd);
  two.settle();
}

TEST(Lifelines, AreNoneWithoutInternetAddresses) {
  Lifelines lines;
  sockaddr_storage address{};
  address.ss_family = AF_UNIX;
  EXPECT_EQ(lines.open(address, LifelineKey{}, 10), 0);
  EXPECT_EQ(lines.wait_with(5), 5);
  EXPECT_FALSE(lines.connect(7, loopback(), 1, LifelineKey{}, 3));
  EXPECT_TRUE(Two::look(&lines).empty());
}

}  // namespace
}  // namespace fgmpi::liveness
