// Protocols: every mode, within and between (pretended) processes, under delays, refusals and small
// limits.

#include <algorithm>
#include <optional>

#include "../setting.h"
#include "datatype/constructors.h"
#include "pt2pt/requests.h"
#include "pt2pt/short_spin.h"
#include "world.h"

namespace fgmpi::pt2pt {
namespace {

using namespace testing;

constexpr uint64_t kCtx = 256;

struct Case {
  const char* name;
  bool between;  ///< through the transport
  Loop::Read reading;
  size_t payload, room;
  int refuse, delay;
  const char* limit;  ///< FGMPI_UNEXPECTED_LIMIT
  size_t unasked = 0, lend_from = SIZE_MAX;
  int reserve = 0;  ///< percent
};
const Case kCases[] = {
    {"collocated", false, Loop::kAtOnce, 4096, 64, 0, 0, "64m"},
    {"collocated, no eager copies", false, Loop::kAtOnce, 4096, 64, 0, 0, "0"},
    {"collocated, few eager copies", false, Loop::kAtOnce, 4096, 64, 0, 0, "20k"},
    {"between", true, Loop::kAtOnce, 4096, 64, 0, 0, "64m"},
    {"between, slow", true, Loop::kLater, 4096, 8, 30, 50, "64m"},
    {"between, data frames", true, Loop::kNever, 256, 4, 20, 20, "64m"},
    {"between, no window", true, Loop::kAtOnce, 4096, 64, 0, 0, "0"},
    {"between, small window", true, Loop::kNever, 1024, 3, 10, 10, "12k"},
    {"between, in pieces", true, Loop::kNever, 4096, 64, 0, 0, "64m", 70'000},
    {"between, in pieces, slow", true, Loop::kNever, 1024, 4, 20, 20, "64m", 70'000, 100},
    {"between, in pieces, small window", true, Loop::kLater, 100, 3, 10, 10, "12k", 5'000, 50},
    {"between, lent", true, Loop::kNever, 4096, 64, 0, 0, "64m", 0, 1},
    {"between, in place", true, Loop::kNever, 4096, 8, 10, 10, "64m", 0, SIZE_MAX, 60},
    {"between, in place, in pieces", true, Loop::kLater, 256, 3, 10, 10, "12k", 5'000, SIZE_MAX,
     90},
};

class Protocols : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& c = GetParam();
    limit_.emplace("FGMPI_UNEXPECTED_LIMIT", c.limit);
    loop_.reading = c.reading;
    loop_.payload = c.payload;
    loop_.room = c.room;
    loop_.refuse = c.refuse;
    loop_.delay = c.delay;
    loop_.unasked = c.unasked;
    loop_.lend_from = c.lend_from;
    loop_.reserve = c.reserve;
  }
  void TearDown() override {
    EXPECT_TRUE(quiet());
    EXPECT_EQ(g_engine.bad_frames(), 0u);
    EXPECT_EQ(g_engine.expected_answers(), 0u);
    EXPECT_EQ(g_engine.payloads_lent(), 0u);
    EXPECT_EQ(counters().unexpected_bytes, 0u);
    limit_.reset();
    finalize();
  }
  void run(uint32_t ranks, std::function<void(uint32_t)> body) {
    int status = run_ranks(ranks, GetParam().between ? &loop_ : nullptr, std::move(body));
    EXPECT_EQ(status, 0);
  }
  Peer peer(uint32_t local) const { return {GetParam().between ? 1u : 0u, local}; }
  std::optional<test::Setting> limit_;
  Loop loop_;
};

std::vector<char> pattern(size_t n, uint32_t seed) {
  std::vector<char> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<char>(seed * 31 + i * 7 + (i >> 8));
  return v;
}

const size_t kSizes[] = {0,    1,    8,    49,   50,   100,    101,    1000,   4095,
                         4096, 4097, 4999, 5000, 5001, 69'999, 70'000, 70'001, 300'000};

TEST_P(Protocols, BlockingPingPongOfAllSizesAndModes) {
  run(2, [&](uint32_t me) {
    for (SendMode mode : {SendMode::kStandard, SendMode::kSynchronous, SendMode::kReady}) {
      for (size_t n : kSizes) {
        auto data = pattern(n, static_cast<uint32_t>(n));
        std::vector<char> got(n + 16, 'x');
        Outcome o;
        if (me == 0) {
          EXPECT_TRUE(send(bytes(data.data(), n), peer(1), 0, 5, kCtx, mode, "send").ok());
          EXPECT_TRUE(recv(bytes(got.data(), n + 16), endpoint(0), 1, 6, kCtx, "recv", &o).ok());
        } else {
          EXPECT_TRUE(recv(bytes(got.data(), n + 16), endpoint(1), MPI_ANY_SOURCE, MPI_ANY_TAG,
                           kCtx, "recv", &o)
                          .ok());
          EXPECT_TRUE(send(bytes(data.data(), n), peer(0), 1, 6, kCtx, mode, "send").ok());
        }
        EXPECT_EQ(o.source, static_cast<int>(1 - me));
        EXPECT_EQ(o.tag, me == 0 ? 6 : 5);
        ASSERT_EQ(o.bytes, n);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), got.begin()));
        EXPECT_TRUE(std::all_of(got.begin() + static_cast<long>(n), got.end(),
                                [](char c) { return c == 'x'; }));
      }
    }
  });
}

TEST_P(Protocols, TruncationLosesNothingElse) {
  run(2, [&](uint32_t me) {
    for (size_t n : {size_t{64}, size_t{9000}, size_t{200'000}}) {
      auto data = pattern(n, 3);
      if (me == 0) {
        for (int i = 0; i < 3; ++i)
          EXPECT_TRUE(
              send(bytes(data.data(), n), peer(1), 0, i, kCtx, SendMode::kStandard, "send").ok());
      } else {
        for (int i = 0; i < 3; ++i) {
          std::vector<char> got(n, 'x');
          Outcome o;
          size_t room = i == 1 ? n / 2 : n;
          Status s = recv(bytes(got.data(), room), endpoint(1), 0, i, kCtx, "recv", &o);
          EXPECT_EQ(s.error_class(), i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
          EXPECT_EQ(o.bytes, room);
          EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<long>(room), data.begin()));
          EXPECT_TRUE(std::all_of(got.begin() + static_cast<long>(room), got.end(),
                                  [](char c) { return c == 'x'; }));
        }
      }
    }
  });
}

TEST_P(Protocols, SynchronousSendWaitsForItsMatch) {
  run(2, [&](uint32_t me) {
    static int receiving;
    if (me == 0) receiving = 0;
    int round = 0;
    for (size_t n : {size_t{8}, size_t{100'000}}) {
      ++round;
      std::vector<char> data(n);
      if (me == 0) {
        Request* r;
        EXPECT_TRUE(isend(bytes(data.data(), n), peer(1), 0, 1, kCtx, SendMode::kSynchronous,
                          "issend", nullptr, &r)
                        .ok());
        while (!test(r, "MPI_Test")) {
        }
        EXPECT_EQ(receiving, round);
        free_request(r);
      } else {
        for (int i = 0; i < 50; ++i) sched::yield();
        receiving = round;
        Outcome o;
        EXPECT_TRUE(recv(bytes(data.data(), n), endpoint(1), 0, 1, kCtx, "recv", &o).ok());
      }
    }
  });
}

/// All ranks send to all, in random order and modes, and receive with random wildcards. Messages of
/// one source must arrive in order.
TEST_P(Protocols, RandomTrafficKeepsOrder) {
  constexpr uint32_t kRanks = 5;
  constexpr int kEach = 60;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    run(kRanks, [&](uint32_t me) {
      std::mt19937_64 random(seed * 100 + me);
      struct Out {
        std::vector<char> data;
        Request* request;
      };
      std::vector<Out> out;
      out.reserve(kRanks * kEach);
      uint32_t sent[kRanks] = {}, seen[kRanks] = {};
      uint32_t to_send = kRanks * kEach, to_receive = kRanks * kEach;
      std::vector<char> in(40'000);
      while (to_send + to_receive > 0) {
        if (to_send > 0 && (to_receive == 0 || random() % 3 != 0)) {
          uint32_t to = static_cast<uint32_t>(random() % kRanks);
          while (sent[to] == kEach) to = (to + 1) % kRanks;
          size_t n = 8 + (random() % 8 == 0 ? random() % 39'000 : random() % 300);
          out.push_back({pattern(n, me), nullptr});
          uint32_t head[2] = {me, sent[to]++};
          memcpy(out.back().data.data(), head, 8);
          SendMode mode = random() % 4 == 0 ? SendMode::kSynchronous : SendMode::kStandard;
          ASSERT_TRUE(isend(bytes(out.back().data.data(), n), peer(to), static_cast<int32_t>(me),
                            static_cast<int32_t>(n), kCtx, mode, "isend", nullptr,
                            &out.back().request)
                          .ok());
          --to_send;
        } else {
          int32_t source = MPI_ANY_SOURCE;
          if (random() % 2) {
            uint32_t s = static_cast<uint32_t>(random() % kRanks);
            while (seen[s] == kEach) s = (s + 1) % kRanks;
            source = static_cast<int32_t>(s);
          }
          Outcome o;
          if (to_send > 0 && !iprobe(endpoint(me), source, MPI_ANY_TAG, kCtx, &o)) continue;
          ASSERT_TRUE(
              recv(bytes(in.data(), in.size()), endpoint(me), source, MPI_ANY_TAG, kCtx, "recv", &o)
                  .ok());
          uint32_t head[2];
          memcpy(head, in.data(), 8);
          ASSERT_EQ(static_cast<int32_t>(head[0]), o.source);
          ASSERT_EQ(head[1], seen[head[0]]++);
          ASSERT_EQ(static_cast<int32_t>(o.bytes), o.tag);
          auto expected = pattern(o.bytes, head[0]);
          ASSERT_EQ(memcmp(in.data() + 8, expected.data() + 8, o.bytes - 8), 0);
          --to_receive;
        }
        if (random() % 4 == 0) sched::yield();
      }
      for (Out& o : out) {
        wait(o.request, "wait");
        free_request(o.request);
      }
    });
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST_P(Protocols, ProbesSeeWhatTheReceiveThenGets) {
  run(3, [&](uint32_t me) {
    for (int i = 0; i < 40; ++i) {
      size_t n = static_cast<size_t>(i) * 997;
      auto data = pattern(n, me);
      if (me != 0) {
        EXPECT_TRUE(send(bytes(data.data(), n), peer(0), static_cast<int32_t>(me), i, kCtx,
                         SendMode::kStandard, "send")
                        .ok());
        continue;
      }
      for (int from = 1; from <= 2; ++from) {
        Outcome probed, o;
        std::vector<char> got(n);
        if (i % 4 == 0) {
          EXPECT_TRUE(probe(endpoint(0), MPI_ANY_SOURCE, i, kCtx, "probe", &probed).ok());
          EXPECT_TRUE(
              recv(bytes(got.data(), n), endpoint(0), probed.source, probed.tag, kCtx, "recv", &o)
                  .ok());
        } else if (i % 4 == 1) {
          while (!iprobe(endpoint(0), from, MPI_ANY_TAG, kCtx, &probed)) {
          }
          EXPECT_TRUE(
              recv(bytes(got.data(), n), endpoint(0), probed.source, probed.tag, kCtx, "recv", &o)
                  .ok());
        } else {
          Message* message;
          if (i % 4 == 2)
            EXPECT_TRUE(mprobe(endpoint(0), from, i, kCtx, "mprobe", &probed, &message).ok());
          else
            while (!improbe(endpoint(0), from, i, kCtx, &probed, &message)) {
            }
          if (i % 8 < 4) {
            EXPECT_TRUE(mrecv(bytes(got.data(), n), message, "mrecv", &o).ok());
          } else {
            Request* r;
            EXPECT_TRUE(imrecv(bytes(got.data(), n), message, "imrecv", nullptr, &r).ok());
            wait(r, "wait");
            o.source = r->outcome.source;
            o.bytes = r->outcome.bytes;
            free_request(r);
          }
        }
        EXPECT_EQ(probed.bytes, n);
        EXPECT_EQ(o.bytes, n);
        EXPECT_EQ(got, pattern(n, static_cast<uint32_t>(o.source)));
      }
    }
  });
}

/// Memory for elements of `bytes` bytes, `extent` bytes apart, or a row of them.
struct Layout {
  datatype::Type type;
  int64_t size, extent;
  std::vector<char> memory;
  Layout(int64_t bytes, int64_t distance, size_t most)
      : size(bytes), extent(distance), memory(most * static_cast<size_t>(distance), 'x') {
    datatype::Type byte, row;
    EXPECT_TRUE(datatype::make_contiguous(false, bytes, byte, &row).ok());
    EXPECT_TRUE(datatype::make_resized(false, 0, distance, row, &type).ok());
  }
  Buffer buffer(size_t n) { return {memory.data(), static_cast<int64_t>(n), type}; }
  char& at(size_t i) {
    const auto k = static_cast<int64_t>(i);
    return memory[static_cast<size_t>(k / size * extent + k % size)];
  }
};

TEST_P(Protocols, DataWithGapsArrivesWhereItShould) {
  constexpr size_t kMost = 6000, kBytes = 6 * kMost;
  run(2, [&](uint32_t me) {
    const SendMode modes[] = {SendMode::kStandard, SendMode::kSynchronous};
    Layout layouts[] = {{6, 6, kMost}, {6, 8, kMost}, {3, 7, 2 * kMost}, {2, 3, 3 * kMost}};
    for (int i = 0; i < 120; ++i) {
      const size_t elements = i % 5 ? static_cast<size_t>(i) * 3 % 60 : static_cast<size_t>(i) * 49;
      const size_t n = 6 * std::min(elements, kMost);
      Layout& out = layouts[i % 4];
      Layout& in = layouts[i / 4 % 4];
      const auto data = pattern(n, static_cast<uint32_t>(i));
      if (me == 0) {
        for (size_t k = 0; k < n; ++k) out.at(k) = data[k];
        EXPECT_TRUE(send(out.buffer(n / static_cast<size_t>(out.size)), peer(1), 0, i, kCtx,
                         modes[i % 2], "send")
                        .ok());
        continue;
      }
      std::fill(in.memory.begin(), in.memory.end(), 'x');
      if (i % 3 == 0) sched::yield();
      Outcome o;
      EXPECT_TRUE(recv(in.buffer(kBytes / static_cast<size_t>(in.size)), endpoint(1), 0, i, kCtx,
                       "recv", &o)
                      .ok());
      EXPECT_EQ(o.bytes, n);
      for (size_t k = 0; k < n; ++k) ASSERT_EQ(in.at(k), data[k]) << i << ", byte " << k;
      for (size_t k = 0; k < n; ++k) in.at(k) = 'x';
      EXPECT_EQ(std::count(in.memory.begin(), in.memory.end(), 'x'),
                static_cast<int64_t>(in.memory.size()));
    }
  });
  EXPECT_TRUE(GetParam().reserve == 0 || loop_.filled > 30);
}

TEST_P(Protocols, CancelledReceivesAndSendsAreGone) {
  run(2, [&](uint32_t me) {
    std::vector<char> data(200'000), got(200'000);
    Outcome o;
    if (me == 0) {
      Request* r;
      EXPECT_TRUE(irecv(bytes(got.data(), 8), endpoint(0), 1, 9, kCtx, "irecv", nullptr, &r).ok());
      r->cancel();
      wait(r, "wait");
      EXPECT_TRUE(r->outcome.cancelled);
      free_request(r);
      EXPECT_TRUE(isend(bytes(data.data(), data.size()), peer(1), 0, 1, kCtx,
                        SendMode::kSynchronous, "issend", nullptr, &r)
                      .ok());
      r->cancel();
      wait(r, "wait");  // must return although no rank receives the message
      EXPECT_TRUE(r->outcome.cancelled);
      free_request(r);
      EXPECT_TRUE(
          send(bytes(data.data(), 8), peer(1), 0, 2, kCtx, SendMode::kStandard, "send").ok());
    } else {
      EXPECT_TRUE(recv(bytes(got.data(), 8), endpoint(1), 0, 2, kCtx, "recv", &o).ok());
      EXPECT_FALSE(iprobe(endpoint(1), MPI_ANY_SOURCE, MPI_ANY_TAG, kCtx, &o));
    }
  });
}

TEST_P(Protocols, PersistentRequestsRunAgainAndAgain) {
  run(2, [&](uint32_t me) {
    std::vector<char> data(20'000), got(20'000);
    Request* r[2];
    int32_t other = static_cast<int32_t>(1 - me), mine = static_cast<int32_t>(me);
    EXPECT_TRUE(send_init(bytes(data.data(), data.size()), peer(1 - me), mine, 4, kCtx,
                          SendMode::kStandard, "s", nullptr, &r[0])
                    .ok());
    EXPECT_TRUE(
        recv_init(bytes(got.data(), got.size()), endpoint(me), other, 4, kCtx, "r", nullptr, &r[1])
            .ok());
    for (uint32_t round = 0; round < 20; ++round) {
      auto fresh = pattern(data.size(), round * 2 + me);
      std::copy(fresh.begin(), fresh.end(), data.begin());
      EXPECT_TRUE(r[1]->start().ok());
      EXPECT_TRUE(r[0]->start().ok());
      wait_all(r, 2, "waitall");
      EXPECT_EQ(got, pattern(got.size(), round * 2 + 1 - me));
      r[0]->active = r[1]->active = false;
    }
    free_request(r[0]);
    free_request(r[1]);
  });
}

TEST_P(Protocols, BufferedSendsReturnAndDetachWaits) {
  run(2, [&](uint32_t me) {
    constexpr int kMessages = 50;
    constexpr size_t kBytes = 3000;
    std::vector<char> got(kBytes);
    if (me == 0) {
      std::vector<char> attached(kMessages * (kBytes + MPI_BSEND_OVERHEAD));
      RankBuffers buffers;
      BufferPlace& place = buffers.own;
      auto data = pattern(kBytes, 0);
      EXPECT_EQ(bsend(place.attached, bytes(data.data(), 8), peer(1), 0, 0, kCtx).error_class(),
                MPI_ERR_BUFFER);
      EXPECT_TRUE(
          attach_buffer(&buffers, &place, attached.data(), static_cast<int64_t>(attached.size()))
              .ok());
      EXPECT_EQ(attach_buffer(&buffers, &place, attached.data(), 10).error_class(), MPI_ERR_BUFFER);
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < kMessages; ++i) {
          data = pattern(kBytes, static_cast<uint32_t>(i));
          Status s = bsend(place.attached, bytes(data.data(), kBytes), peer(1), 0, i, kCtx);
          ASSERT_TRUE(s.ok()) << s.what();
          std::fill(data.begin(), data.end(), 'y');
        }
        void* address;
        int64_t size;
        EXPECT_TRUE(detach_buffer(&place, &address, &size, "detach").ok());
        EXPECT_EQ(address, attached.data());
        EXPECT_EQ(size, static_cast<int64_t>(attached.size()));
        EXPECT_TRUE(
            attach_buffer(&buffers, &place, attached.data(), static_cast<int64_t>(attached.size()))
                .ok());
      }
      void* address;
      int64_t size;
      EXPECT_TRUE(detach_buffer(&place, &address, &size, "detach").ok());
    } else {
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < kMessages; ++i) {
          Outcome o;
          int tag = (i * 7) % kMessages;
          EXPECT_TRUE(recv(bytes(got.data(), kBytes), endpoint(1), 0, tag, kCtx, "recv", &o).ok());
          EXPECT_EQ(got, pattern(kBytes, static_cast<uint32_t>(tag)));
        }
      }
    }
  });
}

TEST_P(Protocols, FlushesCountWhatWasInTheBuffer) {
  constexpr size_t kBytes = 200000;  // waits in the sender's process
  for (bool automatic : {false, true})
    run(2, [&](uint32_t me) {
      std::vector<char> data = pattern(kBytes, 1), got(kBytes);
      if (me == 0) {
        std::vector<char> memory(automatic ? 0 : 4 * (kBytes + MPI_BSEND_OVERHEAD));
        auto buffers = std::make_unique<RankBuffers>();
        BufferPlace place;
        ASSERT_TRUE(attach_buffer(buffers.get(), &place,
                                  automatic ? kBufferAutomatic : memory.data(),
                                  static_cast<int64_t>(memory.size()))
                        .ok());
        Request* nothing = iflush_buffer(place.attached, "flush", nullptr);
        EXPECT_TRUE(nothing->complete());
        free_request(nothing);
        auto put = [&](int tag) {
          ASSERT_TRUE(
              bsend(place.attached, bytes(data.data(), kBytes), peer(1), 0, tag, kCtx).ok());
        };
        put(0);
        Request* first = iflush_buffer(place.attached, "flush", nullptr);
        Request* again = iflush_buffer(place.attached, "flush", nullptr);
        put(1);
        Request* second = iflush_buffer(place.attached, "flush", nullptr);
        put(2);
        EXPECT_FALSE(first->complete());
        wait(first, "wait");  // the receiver takes message 0 alone
        EXPECT_TRUE(again->complete());
        EXPECT_FALSE(second->complete());
        free_request(first);
        free_request(again);
        free_request(second);  // nobody waits for it
        int go = 1;
        EXPECT_TRUE(
            send(bytes(&go, sizeof go), peer(1), 0, 9, kCtx, SendMode::kStandard, "send").ok());
        EXPECT_TRUE(flush_buffer(&place, "flush").ok());
        // A buffer with messages outlives its place.
        put(3);
        {
          BufferPlace gone;
          ASSERT_TRUE(attach_buffer(buffers.get(), &gone, kBufferAutomatic, 0).ok());
          ASSERT_TRUE(bsend(gone.attached, bytes(data.data(), kBytes), peer(1), 0, 4, kCtx).ok());
        }
        EXPECT_TRUE(
            send(bytes(&go, sizeof go), peer(1), 0, 9, kCtx, SendMode::kStandard, "send").ok());
        flush_all_buffers(buffers.get(), "flush");
        void* address;
        int64_t size;
        EXPECT_TRUE(detach_buffer(&place, &address, &size, "detach").ok());
        EXPECT_EQ(address, automatic ? kBufferAutomatic : memory.data());
        EXPECT_EQ(size, static_cast<int64_t>(memory.size()));
        EXPECT_EQ(buffers->first, nullptr);
      } else {
        Outcome o;
        int go;
        for (int tag : {0, -1, 2, 1, -1, 4, 3}) {
          Buffer into = tag < 0 ? bytes(&go, sizeof go) : bytes(got.data(), kBytes);
          EXPECT_TRUE(recv(into, endpoint(1), 0, tag < 0 ? 9 : tag, kCtx, "recv", &o).ok());
          if (tag >= 0) {
            EXPECT_EQ(got, data);
          }
        }
      }
    });
}

TEST_P(Protocols, ExchangesInARing) {
  constexpr uint32_t kRanks = 4;
  run(kRanks, [&](uint32_t me) {
    for (size_t n : kSizes) {
      for (int form = 0; form < 3; ++form) {
        auto data = pattern(n, me);
        std::vector<char> got(n);
        Exchange x;
        x.send = bytes(data.data(), n);
        x.recv = form == 1 ? x.send : bytes(got.data(), n);
        x.replace = form == 1;
        x.to = peer((me + 1) % kRanks);
        x.source_rank = static_cast<int32_t>(me);
        x.at = endpoint(me);
        x.source = static_cast<int32_t>((me + kRanks - 1) % kRanks);
        x.ctx = kCtx;
        if (form < 2) {
          Outcome o;
          EXPECT_TRUE(sendrecv(x, "sendrecv", &o).ok());
        } else {
          Request* r;
          EXPECT_TRUE(isendrecv(x, "isendrecv", nullptr, &r).ok());
          wait(r, "wait");
          free_request(r);
        }
        EXPECT_EQ(form == 1 ? data : got, pattern(n, (me + kRanks - 1) % kRanks));
      }
    }
  });
}

/// A producer runs far ahead of a slow consumer: unexpected bytes stay within the limit.
TEST_P(Protocols, UnexpectedBytesAreBounded) {
  std::string limit = GetParam().limit;
  const uint64_t allowed = limit == "64m"   ? 64 << 20
                           : limit == "20k" ? 20 << 10
                           : limit == "12k" ? 12 << 10
                                            : 0;
  run(2, [&](uint32_t me) {
    std::vector<char> data(1000);
    for (int i = 0; i < 3000; ++i) {
      if (me == 0) {
        EXPECT_TRUE(
            send(bytes(data.data(), data.size()), peer(1), 0, 0, kCtx, SendMode::kStandard, "send")
                .ok());
      } else {
        Outcome o;
        EXPECT_TRUE(
            recv(bytes(data.data(), data.size()), endpoint(1), 0, 0, kCtx, "recv", &o).ok());
        sched::yield();
        sched::yield();
      }
    }
  });
  EXPECT_LE(counters().unexpected_bytes_peak, allowed);
}

/// Short messages past the window wait at the receiver, as a request to send would. So receiving
/// them costs no round trip, in any order.
TEST_P(Protocols, FewBytesPastTheWindowNeedNoRoundTrip) {
  if (!GetParam().between) return;
  constexpr int kCount = 300;  // more than the small window holds
  run(2, [&](uint32_t me) {
    std::vector<char> data(56, 'x'), got(56);
    if (me == 0) {
      std::vector<Request*> requests(kCount);
      for (int i = 0; i < kCount; ++i)
        EXPECT_TRUE(isend(bytes(data.data(), data.size()), peer(1), 0, i, kCtx, SendMode::kStandard,
                          "isend", nullptr, &requests[i])
                        .ok());
      wait_all(requests.data(), requests.size(), "wait");
      for (Request* r : requests) free_request(r);
    } else {
      Outcome o;
      for (int i = kCount - 1; i >= 0; --i) {
        EXPECT_TRUE(recv(bytes(got.data(), got.size()), endpoint(1), 0, i, kCtx, "recv", &o).ok());
        EXPECT_EQ(got, data);
      }
      while (!quiet()) progress();  // the last credits have to leave
    }
  });
  EXPECT_EQ(loop_.sent[kRequest], 0u);
  EXPECT_EQ(loop_.sent[kEager] + loop_.sent[kEagerPastLimit], uint64_t{kCount});
}

TEST_P(Protocols, MessagesOfTheProcessItself) {
  if (!GetParam().between) return;
  run(1, [&](uint32_t) {
    for (size_t n : kSizes) {
      auto data = pattern(n, 1);
      std::vector<char> got(n);
      Request *s, *r;
      EXPECT_TRUE(process_irecv(1, kCtx, 7, got.data(), n, "c", &r).ok() || true);
      // The pretended process 1 has our own rank 0 as its source.
      r->cancel();
      wait(r, "c");
      free_request(r);
      EXPECT_TRUE(process_isend(1, kCtx, 7, data.data(), n, "c", &s).ok());
      EXPECT_TRUE(process_recv(0, kCtx, 7, got.data(), n, "c").ok());
      wait(s, "c");
      free_request(s);
      EXPECT_EQ(got, data);
      EXPECT_TRUE(process_isend(1, kCtx, 8, data.data(), n, "c", &s).ok());
      std::vector<uint8_t> any;
      EXPECT_TRUE(process_recv(0, kCtx, 8, &any, "c").ok());
      wait(s, "c");
      free_request(s);
      EXPECT_EQ(any.size(), n);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Protocols, ::testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
});

void run_alone(uint32_t ranks, std::function<void(uint32_t)> body) {
  int status = run_ranks(ranks, nullptr, std::move(body));
  EXPECT_EQ(status, 0);
}

TEST(Requests, WaitAnyAndHandles) {
  run_alone(2, [&](uint32_t me) {
    char data[8] = {};
    if (me == 0) {
      for (int i = 0; i < 10; ++i) {
        sched::yield();
        EXPECT_TRUE(send(bytes(data, 8), {0, 1}, 0, 9 - i, kCtx, SendMode::kStandard, "send").ok());
      }
      return;
    }
    Request* r[10];
    char got[10][8];
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(irecv(bytes(got[i], 8), endpoint(1), 0, i, kCtx, "irecv", nullptr, &r[i]).ok());
      MPI_Request h = handle_of(r[i]);
      EXPECT_EQ(find_request(h), r[i]);
      EXPECT_EQ(handle_of(r[i]), h);
    }
    Request* dup[3] = {r[9], r[9], nullptr};
    wait_all(dup, 3, "waitall");
    EXPECT_TRUE(r[9]->complete());
    for (int done = 0; done < 10; ++done) {
      wait_any(r, 10, "waitany");
      int i = 0;
      while (!r[i] || !r[i]->complete()) ++i;
      MPI_Request h = handle_of(r[i]);
      free_request(r[i]);
      EXPECT_EQ(find_request(h), nullptr);
      r[i] = nullptr;
    }
    EXPECT_EQ(find_request(0), nullptr);
    EXPECT_EQ(find_request(MPI_REQUEST_NULL), nullptr);
    EXPECT_EQ(find_request(0x12345678), nullptr);
  });
  finalize();
}

TEST(Requests, FreedWhileActiveGoesWhenComplete) {
  run_alone(2, [&](uint32_t me) {
    static char got[8];
    if (me == 1) {
      Request* r;
      EXPECT_TRUE(irecv(bytes(got, 8), endpoint(1), 0, 1, kCtx, "irecv", nullptr, &r).ok());
      MPI_Request h = handle_of(r);
      free_request(r);
      EXPECT_EQ(find_request(h), nullptr);
      Outcome o;
      EXPECT_TRUE(recv(bytes(nullptr, 0), endpoint(1), 0, 2, kCtx, "recv", &o).ok());
      EXPECT_EQ(std::string(got), "hello");
    } else {
      EXPECT_TRUE(send(bytes("hello", 6), {0, 1}, 0, 1, kCtx, SendMode::kStandard, "send").ok());
      EXPECT_TRUE(send(bytes(nullptr, 0), {0, 1}, 0, 2, kCtx, SendMode::kStandard, "send").ok());
    }
  });
  finalize();
}

/// Slow polls (system calls) keep the core from other processes. So a wait that does not park makes
/// only a few of them, and none where other processes need the core.
TEST(Waiting, InPlaceIsShort) {
  Loop loop;
  const int status = run_ranks(1, &loop, [&](uint32_t) {
    bool done = false;
    auto polls_of_a_wait = [&] {
      const uint64_t before = loop.polls;
      g_engine.spin(&done);
      return loop.polls - before;
    };
    EXPECT_GE(polls_of_a_wait(), 4u);
    loop.poll_ns = 20'000;
    EXPECT_LE(polls_of_a_wait(), 16u);
    loop.poll_ns = 0;
    g_longest_short_spin = 0;
    EXPECT_EQ(polls_of_a_wait(), 0u);
    g_longest_short_spin = kLongestShortSpin;
  });
  EXPECT_EQ(status, 0);
  finalize();
}

TEST(Deadlock, IsReportedWithItsCycle) {
  ::testing::internal::CaptureStderr();
  int status = run_ranks(3, nullptr, [&](uint32_t me) {
    static Naming naming;
    naming.locate = [](uint64_t, int32_t rank, Peer* out) {
      *out = {0, static_cast<uint32_t>(rank)};
      return true;
    };
    set_naming(naming);
    char data[8];
    Outcome o;
    (void)recv(bytes(data, 8), endpoint(me), static_cast<int32_t>((me + 1) % 3), 7, kCtx,
               "MPI_Recv", &o);
  });
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 1);
  EXPECT_NE(text.find("rank 1 in MPI_Recv: source 2, tag 7"), std::string::npos) << text;
  EXPECT_NE(text.find("cycle"), std::string::npos) << text;
  set_naming({});
}

TEST(Handles, TheLastOneIsAnErrorAndTheRestGoesOn) {
  int status = run_ranks(1, nullptr, [&](uint32_t me) {
    char data[8] = {};
    Request* one = nullptr;
    ASSERT_TRUE(irecv(bytes(data, 8), endpoint(me), 0, 1, kCtx, "MPI_Irecv", nullptr, &one).ok());
    ASSERT_TRUE(need_handle().ok());
    const MPI_Request handle = handle_of(one);
    // All other handles are created for the same request.
    const uint32_t before = g_requests.live();
    while (need_handle().ok()) ASSERT_GE(g_requests.create(one), 0);
    EXPECT_EQ(g_requests.live(), kIndexMask);
    Status none = need_handle();
    EXPECT_EQ(none.error_class(), MPI_ERR_NO_MEM);
    EXPECT_NE(none.what().find("33554431 request handles"), std::string::npos) << none.what();
    EXPECT_FALSE(fast::has_free_handle());
    // Requests that have a handle still work, and a freed handle is used again.
    EXPECT_EQ(find_request(handle), one);
    const uint32_t mine = one->handle & kIndexMask;
    uint32_t freed = 0;
    for (uint32_t i = kIndexMask; i-- > 0;) {
      if (i == mine) continue;
      g_requests.destroy(i);
      EXPECT_TRUE(freed++ || need_handle().ok());
    }
    EXPECT_EQ(g_requests.live(), before);
    ASSERT_TRUE(send(bytes(data, 8), {0, me}, 0, 1, kCtx, SendMode::kStandard, "MPI_Send").ok());
    EXPECT_TRUE(one->complete());
    free_request(one);
    g_requests.trim();
  });
  EXPECT_EQ(status, 0);
  finalize();
}

}  // namespace
}  // namespace fgmpi::pt2pt
