#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <unordered_map>

#include "exchange.h"
#include "proclet-sched/sched.h"
#include "transport/ofi/address.h"
#include "transport/ofi/fabric.h"
#include "transport/ofi/frame.h"
#include "transport/registry.h"

namespace fgmpi::transport {
namespace {

using namespace testing;

std::string message(ofi::NetworkMessageKind kind, uint32_t process, uint64_t token,
                    const std::string& rest) {
  ofi::Prefix prefix{kind, process, token};
  return std::string(reinterpret_cast<char*>(&prefix), sizeof prefix) + rest;
}
std::string hello(uint32_t process, uint64_t token, ofi::LifelineKey key) {
  ofi::Hello hello{key, ofi::kVersion, 0};
  return message(ofi::NetworkMessageKind::kHello, process, token,
                 std::string(reinterpret_cast<char*>(&hello), sizeof hello));
}
std::string record(uint32_t process, const std::string& payload) {
  Header h{};
  h.src_process = process;
  auto length = static_cast<uint32_t>(payload.size());
  return std::string(reinterpret_cast<char*>(&length), 4) +
         std::string(reinterpret_cast<char*>(&h), sizeof h) + payload;
}
std::string frame(uint32_t process, uint64_t token, const std::string& payload) {
  return message(ofi::NetworkMessageKind::kFrames, process, token, record(process, payload));
}
bool decode(const std::string& bytes, ofi::Decoded* out) {
  return ofi::decode(bytes.data(), bytes.size(), out);
}

/// The payloads of a message, and "!" when it ends badly.
std::string payloads(const std::string& bytes) {
  ofi::Decoded d;
  if (!decode(bytes, &d)) return "?";
  std::string all;
  for (ofi::OfiFrame f; ofi::next_frame(&d, 1000, &f);)
    all += std::string(static_cast<const char*>(f.payload), f.length) + ",";
  return all + (d.left ? "!" : "");
}

TEST(Access, SaysWhyAProviderIsNotUsed) {
  fi_domain_attr domain{};
  fi_info info{};
  info.domain_attr = &domain;
  info.caps = FI_MSG | FI_RMA | FI_READ | FI_WRITE;
  domain.mr_key_size = 8;
  EXPECT_EQ(ofi::why_no_access(info), "");
  domain.mr_mode = FI_MR_LOCAL | FI_MR_PROV_KEY;
  EXPECT_EQ(ofi::why_no_access(info),
            "it wants memory registered piece by piece (FI_MR_LOCAL, FI_MR_PROV_KEY)");
  domain.mr_mode = 0;
  domain.mr_key_size = 4;
  EXPECT_EQ(ofi::why_no_access(info), "its keys have 4 bytes; needed are 8");
  info.caps = FI_MSG;
  EXPECT_EQ(ofi::why_no_access(info), "it does not access memory (FI_RMA)");
}

TEST(Frame, DecodesWhatIsWellFormedOnly) {
  ofi::Decoded d;
  EXPECT_EQ(payloads(frame(3, 9, "abc")), "abc,");
  EXPECT_EQ(payloads(frame(3, 9, "abc") + record(3, "") + record(3, "de")), "abc,,de,");
  EXPECT_EQ(payloads(frame(3, 9, "abc") + record(4, "de")), "abc,!") << "names another process";
  EXPECT_EQ(payloads(frame(3, 9, "abc") + "x"), "abc,!");
  EXPECT_EQ(payloads(frame(3, 9, std::string(1001, 'x'))), "!");
  ASSERT_TRUE(decode(hello(3, 9, {{1, 2}}), &d));
  EXPECT_TRUE(d.hello.key == (ofi::LifelineKey{{1, 2}}));
  EXPECT_TRUE(decode(message(ofi::NetworkMessageKind::kBye, 3, 9, ""), &d));
  EXPECT_FALSE(decode(message(ofi::NetworkMessageKind::kBye, 3, 9, "x"), &d));
  EXPECT_FALSE(decode(hello(3, 9, {{1, 2}}) + "x", &d));
  EXPECT_FALSE(decode(message(static_cast<ofi::NetworkMessageKind>(7), 3, 9, ""), &d));
  std::string good = frame(3, 9, "abc");
  for (size_t length = 0; length < good.size(); ++length) {
    std::string got = payloads(good.substr(0, length));
    EXPECT_TRUE(got == "?" || got == "!") << length;
  }
}

TEST(Address, WhatIsPublishedIsReadBack) {
  ofi::PublishedAddress mine, theirs;
  mine.provider = "tcp;ofi_rxm";
  mine.address = std::string("\x02\x00\xff\x7f\x00\x00\x01", 7);
  mine.key = {{0x1122334455667788ull, 1}};
  mine.memory_key = ~uint64_t{0};
  mine.lifeline = 65535;
  mine.host = "node-1.example.org";
  const std::string text = mine.to_string();
  ASSERT_TRUE(theirs.parse(text));
  EXPECT_EQ(theirs.to_string(), text);
  EXPECT_EQ(theirs.provider, mine.provider);
  EXPECT_EQ(theirs.address, mine.address);
  EXPECT_TRUE(theirs.key == mine.key);
  EXPECT_EQ(theirs.memory_key, mine.memory_key);
  EXPECT_EQ(theirs.lifeline, mine.lifeline);
  EXPECT_EQ(theirs.host, mine.host);
  for (size_t size = 0; size + mine.host.size() <= text.size(); ++size)
    EXPECT_FALSE(theirs.parse(text.substr(0, size))) << size;
}

TEST(Address, NothingElseIsTaken) {
  ofi::PublishedAddress address;
  const std::string key(32, '1'), memory(16, '0');
  auto takes = [&](const std::string& provider, const std::string& bytes, const std::string& secret,
                   const std::string& port, const std::string& host) {
    return address.parse("ofi2:" + provider + ":" + bytes + ":" + secret + ":" + memory + ":" +
                         port + ":" + host);
  };
  EXPECT_TRUE(takes("net", "00ff", key, "1f90", "h"));
  EXPECT_TRUE(
      takes(std::string(39, 'n'), std::string(160, 'a'), key, "0000", std::string(40, 'h')));
  EXPECT_FALSE(
      address.parse("ofi1:net:00ff:" + key + ":" + memory + ":1f90:h"));  // earlier version
  EXPECT_FALSE(takes(std::string(40, 'n'), "00ff", key, "1f90", "h"));
  EXPECT_FALSE(takes("", "00ff", key, "1f90", "h"));
  EXPECT_FALSE(takes("Net", "00ff", key, "1f90", "h"));
  EXPECT_FALSE(takes("net", "", key, "1f90", "h"));
  EXPECT_FALSE(takes("net", "00f", key, "1f90", "h"));
  EXPECT_FALSE(takes("net", "0X", key, "1f90", "h"));
  EXPECT_FALSE(takes("net", std::string(162, 'a'), key, "1f90", "h"));
  EXPECT_FALSE(takes("net", "00ff", key.substr(1), "1f90", "h"));
  EXPECT_FALSE(takes("net", "00ff", " " + key.substr(1), "1f90", "h"));
  EXPECT_FALSE(takes("net", "00ff", "-" + key.substr(1), "1f90", "h"));
  EXPECT_FALSE(takes("net", "00ff", "0x" + key.substr(2), "1f90", "h"));
  EXPECT_FALSE(takes("net", "00ff", key, "f90", "h"));
  EXPECT_FALSE(takes("net", "00ff", key, "0x90", "h"));
  EXPECT_FALSE(takes("net", "00ff", key, "1f90", ""));
  EXPECT_FALSE(takes("net", "00ff", key, "1f90", "h\n"));
  EXPECT_FALSE(takes("net", "00ff", key, "1f90", std::string(41, 'h')));
  EXPECT_FALSE(takes("net", "00ff", key, "1f90", "h:"));
}

TEST(Gate, OnlyHoldersOfTheKeyGetIn) {
  ofi::Gate gate(ofi::LifelineKey{{11, 22}});
  ofi::Decoded d;
  auto admits = [&](const std::string& bytes) { return decode(bytes, &d) && gate.admits(d); };
  auto greets = [&](const std::string& bytes) { return decode(bytes, &d) && gate.hello(d); };
  EXPECT_FALSE(admits(frame(5, 77, "")));
  EXPECT_FALSE(greets(hello(5, 77, {{11, 23}})));
  EXPECT_FALSE(admits(frame(5, 77, "")));
  EXPECT_FALSE(gate.knows(5));
  EXPECT_TRUE(greets(hello(5, 77, {{11, 22}})));
  EXPECT_TRUE(gate.knows(5));
  EXPECT_TRUE(admits(frame(5, 77, "")));
  EXPECT_FALSE(admits(frame(5, 78, "")));
  EXPECT_FALSE(admits(frame(6, 77, "")));
  EXPECT_FALSE(greets(hello(5, 78, {{11, 22}}))) << "a second token for one process";
  EXPECT_FALSE(gate.all_have_left());
  gate.bye(5);
  EXPECT_TRUE(gate.all_have_left() && gate.has_left(5));
  EXPECT_FALSE(admits(frame(5, 77, "")));
}

TEST(Ofi, AllPairsRandomSizes) {
  expect_all_good(run_job(4, [](Member& m) {
    m.connect(make("ofi"));
    all_pairs(m, 800, 1);
    m.t->close();
  }));
}

#ifndef FGMPI_SANITIZE
/// How much of the running proclet's stack f uses, by painting it first.
[[gnu::noinline]] size_t stack_used_by(const std::function<void()>& f) {
  constexpr size_t kOwn = 512;  // of memset and this function
  char* const here = static_cast<char*>(__builtin_frame_address(0)) - kOwn;
  char* const low = sched::current()->stack_low;
  REQUIRE(here > low);
  std::memset(low, 0x5a, static_cast<size_t>(here - low));
  f();
  const char* at = low;
  while (at < here && *at == 0x5a) ++at;
  return static_cast<size_t>(here - at);
}

/// Providers may use much stack, but a proclet's stack may be 16 KiB. So sends, polls and
/// deliveries use hardly any of the proclet's stack.
TEST(Ofi, RunsWhereThereIsRoom) {
  expect_all_good(run_job(2, [](Member& m) {
    static Member* member;
    static uint64_t got;
    static size_t deepest;
    // The first table of a process lets the dynamic linker look up functions of libstdc++, for which
    // it uses 2 KiB of stack, once.
    std::unordered_map<int, int>()[0] = 0;
    member = &m;
    m.connect(make("ofi"));
    m.sink.on_frame = [&](const Header&, const void*, size_t) {
      REQUIRE(sched::on_host_stack());
      ++got;
    };
    sched::Options options;
    options.stack_size = 16 << 10;
    sched::set_options(options);
    REQUIRE(
        sched::create_ranks(
            1,
            [](void*) {
              Transport* t = member->t;
              std::string bytes(t->max_payload(), 'x');
              auto look = [&] { deepest = std::max(deepest, stack_used_by([&] { t->poll(); })); };
              constexpr int kFrames = 300;
              for (int i = 0; i < kFrames; ++i) {
                const size_t length = i % 3 ? 8 : bytes.size();
                bool sent = false;
                while (!sent) {
                  deepest = std::max(deepest, stack_used_by([&] {
                                       const int other = 1 - member->rank;
                                       sent = t->try_send(other, member->peers[other],
                                                          member->header(), bytes.data(), length);
                                     }));
                  look();
                }
              }
              while (got < kFrames) look();
            },
            nullptr)
            .ok());
    REQUIRE(sched::run() == 0);
    if (deepest > 1500) std::fprintf(stderr, "%zu bytes of a proclet's stack\n", deepest);
    REQUIRE(deepest <= 1500);
    m.meet_polling();
    m.sink.on_frame = nullptr;
    m.t->close();
  }));
}
#endif

TEST(Ofi, AllPairsThroughFewBuffers) {
  Setting send("FGMPI_OFI_SEND", "32k"), receive("FGMPI_OFI_RECV", "128k");
  expect_all_good(run_job(3, [](Member& m) {
    m.connect(make("ofi"));
    all_pairs(m, 800, 2);
    m.t->close();
  }));
}

/// Large frames of several peers arrive piece by piece in one receive buffer. The buffer is not
/// used again before all of them are whole.
TEST(Ofi, FramesSideBySideInOneBuffer) {
  Setting receive("FGMPI_OFI_RECV", "128k");
  expect_all_good(run_job(5, [](Member& m) {
    constexpr uint64_t kCount = 400;
    m.connect(make("ofi"));
    auto letters = [&](int from, uint64_t number) {
      return std::string(m.t->max_payload() - number % 7000, static_cast<char>(from * 31 + number));
    };
    uint64_t got[5] = {}, left = kCount * (m.size - 1);
    m.sink.on_frame = [&](const Header& h, const void* payload, size_t length) {
      REQUIRE(h.cookie == got[h.src_process]);
      std::string_view frame(static_cast<const char*>(payload), length);
      REQUIRE(frame == letters(static_cast<int>(h.src_process), got[h.src_process]++));
      --left;
    };
    if (m.rank == 0)
      while (left) m.t->poll();
    else
      for (uint64_t i = 0; i < kCount; ++i) m.send(0, i, letters(m.rank, i));
    m.meet_polling();
    m.sink.on_frame = nullptr;
    m.t->close();
  }));
}

/// Each process lends frames of all lengths to the next, and overwrites a payload as soon as it is
/// returned. No process polls for a while, so that the sockets are full and the provider holds the
/// lent payloads.
void lend_in_a_ring(Member& m) {
  constexpr uint64_t kCount = 600;
  constexpr size_t kAtATime = 48;
  m.connect(make("ofi"));
  const size_t least = m.t->least_lent();
  const int next = (m.rank + 1) % m.size, before = (m.rank + m.size - 1) % m.size;
  uint64_t got = 0, sent = 0, lent = 0, returned = 0;
  auto letters = [&](int from, uint64_t number) {
    const size_t most = m.t->max_payload();
    size_t n = number % 3 ? most - number * 37 % (most / 2) : number * 31 % (most / 3);
    return std::string(n, static_cast<char>(from * 31 + number));
  };
  m.sink.on_frame = [&](const Header& h, const void* payload, size_t length) {
    REQUIRE(h.cookie == got && h.src_process == static_cast<uint32_t>(before));
    REQUIRE(std::string_view(static_cast<const char*>(payload), length) == letters(before, got));
    ++got;
  };
  std::vector<std::string> places(kAtATime);
  std::vector<bool> free(kAtATime, true);
  while (got < kCount || sent < kCount || returned < lent) {
    for (size_t i = 0; i < kAtATime && sent < kCount; ++i) {
      if (!free[i]) continue;
      places[i] = letters(m.rank, sent);
      auto result = LendResult::kNoRoom;
      if (places[i].size() >= least)
        result = m.t->try_lend(next, m.peers[next], m.header(sent), places[i].data(),
                               places[i].size(), &places[i]);
      else if (m.try_send(next, sent, places[i]))
        result = LendResult::kSent;
      if (result == LendResult::kNoRoom) break;
      ++sent;
      if (result == LendResult::kLent)
        ++lent, free[i] = false;
      else
        places[i].assign(places[i].size(), '!');
    }
    if (sent % 5 == 0) usleep(300);
    m.t->poll();
    for (void* lender : m.sink.returns) {
      auto* place = static_cast<std::string*>(lender);
      place->assign(place->size(), '?');
      REQUIRE(!free[place - places.data()]);
      free[place - places.data()] = true;
      ++returned;
    }
    m.sink.returns.clear();
  }
  REQUIRE(least == SIZE_MAX ? lent == 0 : lent > kCount / 4);
  REQUIRE(m.sink.failures.empty() && m.t->refused() == 0);
  m.meet_polling();
  m.sink.on_frame = nullptr;
  m.t->close();
}

TEST(Ofi, LentPayloads) {
  for (const char* provider : {plain_sockets(), "tcp;ofi_rxm"}) {
    Setting setting("FI_PROVIDER", provider);
    SCOPED_TRACE(provider);
    expect_all_good(run_job(2, lend_in_a_ring));
    expect_all_good(run_job(3, lend_in_a_ring));
  }
}

TEST(Ofi, LentPayloadsThroughFewBuffers) {
  Setting send("FGMPI_OFI_SEND", "32k"), receive("FGMPI_OFI_RECV", "128k");
  expect_all_good(run_job(3, lend_in_a_ring));
}

int open_sockets() {
  int count = 0;
  char what[64];
  for (int fd = 0; fd < 1024; ++fd) {
    std::string link = "/proc/self/fd/" + std::to_string(fd);
    ssize_t n = readlink(link.c_str(), what, sizeof what);
    count += n > 7 && std::string_view(what, 7) == "socket:";
  }
  return count;
}

/// Eight processes in a ring: each holds connections with its two neighbours only.
TEST(Ofi, ConnectionsAreMadeOnDemand) {
  expect_all_good(run_job(8, [](Member& m) {
    m.connect(make("ofi"));
    int before = open_sockets();
    m.send((m.rank + 1) % m.size, 0, "first");
    while (m.sink.frames.empty()) m.t->poll();
    m.meet_polling();
    m.t->tick();
    // Connections to the next process and from the one before: the provider's and a lifeline each.
    int made = open_sockets() - before;
    REQUIRE(made >= 2 && made <= 4);
    m.meet_polling();
    for (int p = 0; p < m.size; ++p) m.send(p, 1, "all");
    while (m.sink.frames.size() < 9) m.t->poll();
    m.meet_polling();
    REQUIRE(open_sockets() - before >= m.size - 1);  // the count includes connections
    m.t->close();
  }));
}

/// While an object of this class exists, it stops this process at times for some milliseconds.
class Stopper {
 public:
  explicit Stopper(unsigned seed) {
    REQUIRE(pipe2(enough_, O_NONBLOCK | O_CLOEXEC) == 0);
    child_ = fork();
    if (child_ > 0) return;
    close(enough_[1]);
    std::minstd_rand random(seed);
    char end;
    for (const pid_t parent = getppid(); read(enough_[0], &end, 1) < 0;) {
      usleep(random() % 1000);
      kill(parent, SIGSTOP);
      usleep(random() % 4000);
      kill(parent, SIGCONT);
    }
    _exit(0);
  }
  ~Stopper() {
    close(enough_[1]);
    waitpid(child_, nullptr, 0);
    close(enough_[0]);
  }
  Stopper(const Stopper&) = delete;

 private:
  pid_t child_ = -1;
  int enough_[2];  ///< the child ends when this pipe is closed
};

/// The process with the smaller address opens only its lifeline, which the other one answers.
TEST(Ofi, OnlyTheGreaterAddressOfAPairConnects) {
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("ofi"));
    const int other = 1 - m.rank;
    const bool greater = std::strcmp(m.board->addresses[m.rank], m.board->addresses[other]) > 0;
    const int before = open_sockets();
    if (!greater)
      for (int i = 0; i < 1000; ++i) {
        REQUIRE(!m.try_send(other, 0, "hello"));
        m.t->poll();
      }
    REQUIRE(open_sockets() - before == (greater ? 0 : 1));
    m.meet();
    if (greater) {
      Idle idle(m.list);
      while (m.sink.frames.empty()) idle.sleep(-1);
    } else {
      m.send(other, 0, "hello");
    }
    m.meet_polling();
    m.t->close();
  }));
}

/// The provider net (libfabric 1.17) can close a good connection when both processes of a pair ask
/// for one at the same time.
TEST(Ofi, AllBeginAtOnceWhileSomeAreStopped) {
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    expect_all_good(run_job(4, [&](Member& m) {
      m.connect(make("ofi"));
      Stopper stopper(static_cast<unsigned>(round * m.size + m.rank + 1));
      std::vector<bool> sent(m.size);
      for (int left = m.size; left > 0 || m.sink.frames.size() < 4u; m.t->poll())
        for (int p = 0; p < m.size; ++p)
          if (!sent[p] && m.try_send(p, 0, "first")) sent[p] = true, --left;
      m.meet_polling();
      m.t->tick();
      REQUIRE(m.sink.failures.empty() && m.sink.frames.size() == 4);
      m.t->close();
    }));
  }
}

/// Private memory of this process in KiB.
uint64_t own_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10);
  return 0;
}

/// The KiB by which a process grows when frames of the largest size travel between all pairs.
uint64_t memory_of_a_job(int size) {
  uint64_t* most = static_cast<uint64_t*>(
      mmap(nullptr, sizeof *most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  expect_all_good(run_job(size, [&](Member& m) {
    uint64_t got = 0;
    m.sink.on_frame = [&](const Header&, const void*, size_t) { ++got; };
    m.t = nullptr;
    malloc_trim(0);  // memory that earlier tests have freed would hide new allocations
    const uint64_t before = own_memory();
    m.connect(make("ofi"));
    const std::string payload(m.t->max_payload(), 'x');
    const uint64_t kEach = 192 / m.size;  // every process receives into all of its buffers
    for (uint64_t i = 0; i < kEach; ++i)
      for (int p = 0; p < m.size; ++p) m.send(p, i, payload);
    while (got < kEach * m.size)
      if (!m.t->poll()) usleep(50);
    m.meet_polling();
    const uint64_t used = own_memory() - before;
    std::atomic_ref<uint64_t> shared(*most);
    for (uint64_t seen = shared; used > seen && !shared.compare_exchange_weak(seen, used);) {
    }
    m.t->close();
  }));
  uint64_t result = *most;
  munmap(most, sizeof *most);
  return result;
}

/// The buffers have at most FGMPI_OFI_RECV and FGMPI_OFI_SEND bytes. Eight peers need all receive
/// buffers, one peer an eighth of them. A further peer adds only the provider's memory for a
/// connection (some 10 KiB in each direction).
TEST(Ofi, BuffersDoNotGrowWithTheNumberOfPeers) {
#if defined(FGMPI_SANITIZE)
  GTEST_SKIP() << "the sanitizer's memory is not the transport's";
#endif
  Setting receive("FGMPI_OFI_RECV", "4m"), send("FGMPI_OFI_SEND", "2m");
  const uint64_t two = memory_of_a_job(2), few = memory_of_a_job(9), many = memory_of_a_job(16);
  std::printf("  2 processes: %lu KiB each, 9: %lu KiB, 16: %lu KiB\n", two, few, many);
  EXPECT_GT(few, 3000u);  // the measurement includes the buffers
  EXPECT_LT(two + 2000, few);
  EXPECT_LT(many, few + 7 * 100);
  Setting less("FGMPI_OFI_RECV", "1m");
  const uint64_t small = memory_of_a_job(16);
  std::printf("  16 processes with 3 MiB less to receive into: %lu KiB\n", small);
  EXPECT_LT(small + 2000, many);
}

TEST(Ofi, OtherProviders) {
  for (const char* provider : {"tcp;ofi_rxm", "udp;ofi_rxd", "sockets", plain_sockets()}) {
    Setting setting("FI_PROVIDER", provider);
    SCOPED_TRACE(provider);
    expect_all_good(run_job(2, [](Member& m) {
      m.connect(make("ofi"));
      all_pairs(m, 200, 3);
      m.t->close();
    }));
  }
}

TEST(Ofi, SleeperIsWokenForEveryMessage) {
  Setting spin("FGMPI_SPIN", "0");
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("ofi"));
    REQUIRE(m.t->wait_fd() >= 0);
    sleeping_ping_pong(m, 3000);
    m.t->close();
  }));
}

TEST(Ofi, SenderThatSleepsIsWokenForRoom) {
  Setting send("FGMPI_OFI_SEND", "64k");
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("ofi"));
    sender_sleeps_for_room(m);
    m.t->close();
  }));
}

/// The test leaves out udp;ofi_rxd: its queue has no descriptor to wait on, and it notices lost
/// datagrams only when it is polled. So a process that waits polls 500 times a second (Ofi::sleep),
/// which takes about 1% of a processor.
TEST(Ofi, IdleCostsNothing) {
  for (const char* provider : {plain_sockets(), "tcp;ofi_rxm", "sockets"}) {
    Setting setting("FI_PROVIDER", provider);
    SCOPED_TRACE(provider);
    expect_all_good(run_job(2, [](Member& m) {
      m.connect(make("ofi"));
      idle_costs_nothing(m);
      m.t->close();
    }));
  }
}

TEST(Ofi, PlainSocketsAreTakenBeforeLayers) {
  expect_all_good(run_job(1, [](Member& m) {
    auto t = make("ofi");
    std::string address;
    REQUIRE(t->open({&m.sink, &m.sink}, &address).ok());
    // tcp;ofi_rxm is chosen only where libfabric has neither net nor a tcp with reliable datagrams.
    REQUIRE(address.find("tcp+ofi_rxm") == std::string::npos);
    if (address.find("_rxm") == std::string::npos) REQUIRE(t->max_payload() == 65536);
    t->close();
  }));
}

TEST(Ofi, ALayerThatFiProviderNamesIsTaken) {
  Setting setting("FI_PROVIDER", "tcp,ofi_rxm");
  expect_all_good(run_job(1, [](Member& m) {
    auto t = make("ofi");
    std::string address;
    REQUIRE(t->open({&m.sink, &m.sink}, &address).ok());
    REQUIRE(address.find("tcp+ofi_rxm") != std::string::npos);
    t->close();
  }));
}

void read_a_peers_memory(Member& m) {
  constexpr size_t kBytes = 40'000'001;
  std::string mine(kBytes, '\0'), theirs(kBytes, '\0');
  for (size_t i = 0; i < kBytes; ++i) mine[i] = static_cast<char>(i * 7 + i / 4096 + m.rank);
  m.board->numbers[m.rank] = reinterpret_cast<uint64_t>(mine.data());
  m.connect(make("ofi"));
  int from = (m.rank + 1) % m.size;
  ReadResult result = m.t->memory_reader()->read(from, m.peers[from], m.board->numbers[from],
                                                 theirs.data(), kBytes, 42);
  REQUIRE(result == ReadResult::kPending);
  char small[100];
  REQUIRE(m.t->memory_reader()->read(from, m.peers[from], m.board->numbers[from] + 10, small, 100,
                                     43) == ReadResult::kPending);
  while (m.sink.reads.size() < 2) m.t->poll();
  REQUIRE(m.sink.reads_ok);
  for (size_t i = 0; i < kBytes; ++i)
    REQUIRE(theirs[i] == static_cast<char>(i * 7 + i / 4096 + from));
  REQUIRE(std::memcmp(small, theirs.data() + 10, 100) == 0);
  m.meet_polling();
  m.t->close();
}

TEST(Ofi, ReadsAPeersMemory) {
  Setting reads("FGMPI_OFI_READ", "on");
  for (const char* provider : {"tcp;ofi_rxm", plain_sockets()}) {
    Setting setting("FI_PROVIDER", provider);
    SCOPED_TRACE(provider);
    expect_all_good(run_job(3, read_a_peers_memory));
  }
}

/// Each process has a wrong key of the other. The one with the greater address connects, the other
/// one only opens a lifeline; both connections are refused and counted.
TEST(Ofi, StrangersAreRefusedAndCounted) {
  expect_all_good(run_job(2, [](Member& m) {
    m.t = (m.list.push_back(make("ofi")), m.list[0].get());
    std::string address;
    REQUIRE(m.t->open({&m.sink, &m.sink}, &address).ok());
    std::strcpy(m.board->addresses[m.rank], address.c_str());
    m.meet();
    m.peers.resize(2);
    const int other = 1 - m.rank;
    std::string theirs = m.board->addresses[other];
    const bool connects = address > theirs;
    size_t key = theirs.size();
    for (int field = 0; field < 3; ++field) key = theirs.rfind(':', key - 1);
    --key;  // the last digit of the key
    theirs[key] = theirs[key] == '0' ? '1' : '0';
    REQUIRE(m.t->add_peer(other, theirs, &m.peers[other]).ok());
    m.t->all_connected(static_cast<uint32_t>(m.rank));
    if (connects) {
      while (m.t->refused() < 1) m.t->poll();
      for (int i = 0; i < 3; ++i) m.send(other, i, "let me in");
    } else {
      while (m.t->refused() < 5) {  // the hello and three frames count too, each a message
        REQUIRE(!m.try_send(other, 0, "let me in"));
        m.t->poll();
      }
    }
    REQUIRE(m.sink.frames.empty());
    m.meet_polling();
    m.t->close();
  }));
}

/// A killed peer is noticed by the failing send, or by the broken lifeline where the provider goes
/// on trying to connect.
void killed_peer_is_reported(Member& m) {
  m.connect(make("ofi"));
  if (m.rank == 1) {
    for (int i = 0; i < 20; ++i) m.send(0, i, "last words");
    while (m.sink.frames.empty()) m.t->poll();
    kill(getpid(), SIGKILL);
  }
  while (m.sink.frames.size() < 20) m.t->poll();
  m.send(1, 0, "");
  Idle idle(m.list);
  time_t start = time(nullptr);
  while (m.sink.failures.empty() && time(nullptr) - start < 20) {
    m.try_send(1, 0, "anybody?");
    idle.sleep(1'000'000);
  }
  REQUIRE(m.sink.failures.size() == 1 && m.sink.failures[0].first == 1);
  REQUIRE(time(nullptr) - start < 5);
  std::fprintf(stderr, "%s\n", m.sink.failures[0].second.c_str());
  m.t->close();
}

/// Waits for the answers to so many accesses.
void await_accesses(Member& m, size_t count) {
  while (m.sink.accesses.size() < count)
    if (!m.t->poll()) usleep(20);
  REQUIRE(m.sink.reads_ok && m.sink.accesses.size() == count);
  m.sink.accesses.clear();
}

/// Each process writes into, reads from and adds to memory of the next one, which only polls.
void access_in_a_ring(Member& m, bool with_atomics) {
  constexpr size_t kBytes = 9 << 20;  // several pieces
  m.connect(make("ofi"));
  std::vector<char> mine(kBytes, static_cast<char>('a' + m.rank)), target(kBytes), seen(kBytes);
  alignas(8) static uint64_t word = 100;
  const uint64_t key = m.t->granted_memory()->grant_access();
  REQUIRE(key != 0 && m.t->granted_memory()->grant_access() == key);
  m.t->granted_memory()->withdraw_access();
  m.board->numbers[m.rank * 3] = key;
  m.board->numbers[m.rank * 3 + 1] = reinterpret_cast<uint64_t>(target.data());
  m.board->numbers[m.rank * 3 + 2] = reinterpret_cast<uint64_t>(&word);
  m.meet();
  const int next = (m.rank + 1) % m.size, before = (m.rank + m.size - 1) % m.size;
  Access write{.kind = Access::Kind::kWrite};
  write.key = m.board->numbers[next * 3];
  write.remote = m.board->numbers[next * 3 + 1];
  write.source = mine.data();
  write.length = kBytes;
  write.cookie = 1;
  m.t->granted_memory()->access(m.peers[next], write);
  await_accesses(m, 1);
  Access read = write;
  read.kind = Access::Kind::kRead;
  read.result = seen.data();
  for (size_t i = 0; i < 16; ++i) {  // small accesses at the same time
    read.remote = write.remote + i * 1000;
    read.result = seen.data() + i * 1000;
    read.length = 1000;
    m.t->granted_memory()->access(m.peers[next], read);
  }
  await_accesses(m, 16);
  REQUIRE(std::memcmp(seen.data(), mine.data(), 16000) == 0);
  m.meet_polling();
  for (char c : target) REQUIRE(c == static_cast<char>('a' + before));
  const size_t most =
      m.t->granted_memory()->most_atomic(Access::Kind::kFetch, AtomicOp::kSum, AtomicType::kUint64);
  REQUIRE((most >= 8) == with_atomics);
  if (with_atomics) {
    const uint64_t one = 1, other = 7;
    uint64_t old = 0, swapped = 0;
    const uint64_t expected = 101;
    Access add{.kind = Access::Kind::kFetch};
    add.op = AtomicOp::kSum;
    add.type = AtomicType::kUint64;
    add.key = write.key;
    add.remote = m.board->numbers[next * 3 + 2];
    add.source = &one;
    add.result = &old;
    add.length = sizeof one;
    m.t->granted_memory()->access(m.peers[next], add);
    await_accesses(m, 1);
    REQUIRE(old == 100);
    Access swap = add;
    swap.kind = Access::Kind::kSwap;
    swap.op = AtomicOp::kSwapIfEqual;
    swap.source = &other;
    swap.compare = &expected;
    swap.result = &swapped;
    m.t->granted_memory()->access(m.peers[next], swap);
    await_accesses(m, 1);
    REQUIRE(swapped == 101);
    add.kind = Access::Kind::kAtomic;
    m.t->granted_memory()->access(m.peers[next], add);
    await_accesses(m, 1);
    m.meet_polling();
    REQUIRE(word == 8);
  }
  m.meet_polling();
  m.t->granted_memory()->withdraw_access();
  m.t->close();
}

TEST(Ofi, AccessesToMemoryOfPeers) {
  Setting wanted("FGMPI_RMA_NETWORK", "provider");
  for (const char* provider : {plain_sockets(), "tcp;ofi_rxm", "sockets"}) {
    Setting setting("FI_PROVIDER", provider);
    SCOPED_TRACE(provider);
    const bool with_atomics = std::string_view(provider) == "tcp;ofi_rxm";
    expect_all_good(run_job(3, [&](Member& m) { access_in_a_ring(m, with_atomics); }));
  }
}

TEST(Ofi, KilledPeerIsReported) {
  for (const char* provider : {"tcp;ofi_rxm", plain_sockets()}) {
    Setting setting("FI_PROVIDER", provider);
    SCOPED_TRACE(provider);
    auto status = run_job(2, killed_peer_is_reported);
    EXPECT_TRUE(WIFSIGNALED(status[1]));
    expect_all_good({status[0]});
  }
}

TEST(Ofi, KilledPeerIsReportedToOneWhoOnlyWaits) {
  auto status = run_job(3, [](Member& m) {
    m.connect(make("ofi"));
    Idle idle(m.list);
    // Process 0 has sent to 1, and 1 has sent to 2: so 0 and 2 have a lifeline with 1, which 0 or 1
    // has opened.
    if (m.rank < 2) m.send(m.rank + 1, 0, "hello");
    if (m.rank > 0)
      while (m.sink.frames.empty()) idle.sleep(-1);
    m.meet_polling();
    if (m.rank == 1) {
      for (int i = 0; i < 3; ++i) m.t->tick();
      usleep(100'000);
      m.t->tick();
      kill(getpid(), SIGKILL);
    }
    time_t start = time(nullptr);
    while (m.sink.failures.empty() && time(nullptr) - start < 20) idle.sleep(1'000'000'000);
    REQUIRE(m.sink.failures.size() == 1 && m.sink.failures[0].first == 1);
    REQUIRE(m.sink.failures[0].second.find("its process has ended") != std::string::npos);
    REQUIRE(time(nullptr) - start < 5);
    m.t->close();
  });
  EXPECT_TRUE(WIFSIGNALED(status[1]));
  expect_all_good({status[0], status[2]});
}

}  // namespace
}  // namespace fgmpi::transport
