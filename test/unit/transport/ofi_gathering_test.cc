#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "exchange.h"
#include "transport/registry.h"

namespace fgmpi::transport {
namespace {

using namespace testing;

/// Segments with data that all connections of this process have sent.
uint64_t segments_sent() {
  uint64_t sum = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size)) sum += info.tcpi_data_segs_out;
  }
  return sum;
}

/// Frames that a process sends while a poll delivers leave together when that poll ends.
TEST(Ofi, AnswersToManyFramesAreOneMessage) {
  Setting provider("FI_PROVIDER", plain_sockets());
  expect_all_good(run_job(2, [](Member& m) {
    constexpr uint64_t kCount = 4;  // outside of a poll so few frames are never gathered
    m.connect(make("ofi"));
    m.send(1 - m.rank, 0, "first");
    while (m.sink.frames.empty()) m.t->poll();
    m.meet_polling();
    uint64_t got = 0;
    m.sink.on_frame = [&](const Header& h, const void*, size_t) {
      REQUIRE(h.cookie == got++);
      if (m.rank == 1) REQUIRE(m.try_send(0, h.cookie, "answer"));
    };
    for (uint64_t i = 0; m.rank == 0 && i < kCount; ++i) REQUIRE(m.try_send(1, i, "question"));
    // All questions wait in the socket of process 1 before it polls.
    if (m.rank == 0) m.t->poll();
    m.meet();
    const uint64_t before = segments_sent();
    REQUIRE(before > 0);
    while (got < kCount) m.t->poll();
    if (m.rank == 1) REQUIRE(segments_sent() - before <= kCount / 2);
    m.meet_polling();
    m.sink.on_frame = nullptr;
    m.t->close();
  }));
}

}  // namespace
}  // namespace fgmpi::transport
