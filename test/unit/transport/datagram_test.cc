// Runs the tests of src/transport's transports with the one in datagram/, which uses only the
// interface.
#include "datagram/datagram.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "exchange.h"
#include "transport/host_id.h"
#include "transport/registry.h"

namespace fgmpi::transport {
namespace {

using namespace testing;

TEST(Datagram, IsFoundInTheRegistryAndGoesLast) {
  // A build without libfabric has shm and this one, which then is among the preferred two.
  const bool has_ofi = lacking().empty();
  EXPECT_EQ(make_all()[1]->name() == std::string_view("datagram"), !has_ofi);
  for (const char* wish : {"datagram", has_ofi ? "datagram,ofi" : "datagram,shm", "shm,datagram"}) {
    Setting setting("FGMPI_TRANSPORT", wish);
    EXPECT_STREQ(make_all()[wish[0] == 's']->name(), "datagram");
  }
  Setting three("FGMPI_TRANSPORT", "shm,ofi,datagram");
  Status status = settings::load();
  ASSERT_FALSE(status.ok());
  const char* allowed = has_ofi ? "at most 2 different names out of shm,ofi,datagram"
                                : "at most 2 different names out of shm,datagram";
  EXPECT_NE(status.what().find(allowed), std::string::npos) << status.what();
}

TEST(Datagram, AllPairsRandomSizes) {
  expect_all_good(run_job(4, [](Member& m) {
    m.connect(make("datagram"));
    all_pairs(m, 300, 1);
    m.t->close();
  }));
}

TEST(Datagram, SleeperIsWokenForEveryMessage) {
  Setting spin("FGMPI_SPIN", "0");
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("datagram"));
    sleeping_ping_pong(m, 5000);
    m.t->close();
  }));
}

TEST(Datagram, SenderThatSleepsIsWokenForRoom) {
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("datagram"));
    sender_sleeps_for_room(m);
    m.t->close();
  }));
}

TEST(Datagram, IdleCostsNothing) {
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("datagram"));
    idle_costs_nothing(m);
    m.t->close();
  }));
}

TEST(Datagram, KilledPeerIsReportedAfterItsLastFrames) {
  auto status = run_job(3, [](Member& m) {
    m.connect(make("datagram"));
    if (m.rank == 2) {
      for (int i = 0; i < 5; ++i) m.send(0, i, "last words");
      m.send(1, 0, "");
      kill(getpid(), SIGKILL);
    }
    if (m.rank == 1) m.send(0, 0, "");
    m.wait_for_a_failure();
    REQUIRE(m.sink.failures.size() == 1 && m.sink.failures[0].first == 2);
    if (m.rank == 0) {
      // The frame of rank 1 must have arrived before this process ends: a process sends no bye to a
      // peer from which it has received nothing.
      while (m.sink.frames.size() < 6) m.t->poll();
      int last_words = 0;
      for (const Got& got : m.sink.frames) last_words += got.payload == "last words";
      REQUIRE(last_words == 5);
    }
    for (int i = 0; i < 1000; ++i) REQUIRE(m.try_send(2, i, "anybody?"));
    m.t->poll();
    REQUIRE(m.sink.failures.size() == 1);
    m.t->close();
  });
  EXPECT_TRUE(WIFSIGNALED(status[2]));
  expect_all_good({status[0], status[1]});
}

TEST(Datagram, FinishedPeerIsNotAFailure) {
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("datagram"));
    if (m.rank == 1) {
      m.send(0, 0, "bye");
      m.t->close();
      _exit(0);
    }
    usleep(200'000);
    for (int i = 0; i < 3; ++i) m.t->tick();
    for (int i = 0; i < 3; ++i) REQUIRE(m.try_send(1, 0, "too late"));
    m.t->poll();
    REQUIRE(m.sink.frames.size() == 1 && m.sink.failures.empty());
  }));
}

TEST(Datagram, StrangersAndDamageAreRefusedAndCounted) {
  expect_all_good(run_job(1, [](Member& m) {
    m.connect(make("datagram"));
    datagram::Published own;
    REQUIRE(own.parse(m.board->addresses[0]));
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    int n = std::snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "fgmpi-%016lx%016lx",
                          own.name.words[0], own.name.words[1]);
    auto say = [&](const void* bytes, size_t length) {
      REQUIRE(sendto(fd, bytes, length, 0, reinterpret_cast<sockaddr*>(&to),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n)) >= 0);
      while (m.t->poll()) {
      }
    };
    struct {
      datagram::Prefix prefix;
      Header header;
      char payload[20000];
    } d{{own.key, own.name, datagram::kFrame}, {}, {}};
    constexpr size_t kWhole = sizeof d.prefix + sizeof d.header;
    uint64_t refused = 0;
    for (size_t length = 0; length < kWhole; length += 8, ++refused) say(&d, length);
    d.prefix.key.words[1] ^= 1;
    say(&d, kWhole), ++refused;
    d.prefix.key = own.key;
    d.prefix.from.words[0] ^= 1;
    say(&d, kWhole), ++refused;
    d.prefix.from = own.name;
    d.prefix.kind = 3;
    say(&d, kWhole), ++refused;
    d.prefix.kind = datagram::kFrame;
    d.header.src_process = 1;
    say(&d, kWhole), ++refused;
    d.header.src_process = 0;
    say(&d, kWhole + m.t->max_payload() + 1), ++refused;
    REQUIRE(m.t->refused() == refused && m.sink.frames.empty());
    say(&d, kWhole + 100);
    REQUIRE(m.t->refused() == refused && m.sink.frames.size() == 1);
    m.t->close();
  }));
}

TEST(Datagram, ReachesItsHostOnly) {
  Keeper sink;
  auto here = make("datagram"), there = make("datagram");
  std::string address, other;
  ASSERT_TRUE(here->open({&sink, &sink}, &address).ok());
  EXPECT_TRUE(here->reaches(address));
  EXPECT_FALSE(here->reaches("shm3:" + address.substr(address.find(':') + 1)));
  Setting host("FGMPI_HOST_ID", "elsewhere");
  ASSERT_TRUE(there->open({&sink, &sink}, &other).ok());
  EXPECT_FALSE(here->reaches(other));
}

}  // namespace
}  // namespace fgmpi::transport
