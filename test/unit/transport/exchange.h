// The traffic that every transport must carry: all pairs, random sizes, order, checksums.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "processes.h"

namespace fgmpi::transport::testing {

/// The provider of libfabric that uses sockets without a layer in between (ofi/fabric.cc): it was
/// called net before 1.18.
inline const char* plain_sockets() {
  void* library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  auto* version =
      reinterpret_cast<uint32_t (*)()>(library ? dlsym(library, "fi_version") : nullptr);
  return version && version() >= (1u << 16 | 18) ? "tcp" : "net";
}

/// A payload that depends only on source, destination and number, so that the receiver can check
/// it.
inline std::string make_payload(int from, int to, uint64_t number, size_t most) {
  std::minstd_rand random(from * 1000003 + to * 10007 + number);
  size_t scale = random() % 3 ? 64 : random() % 8 ? 8000 : most;
  size_t length = random() % (std::min(scale, most) + 1);
  std::string payload(length, '\0');
  uint64_t word = random() | uint64_t{random()} << 31;
  for (size_t i = 0; i < length;
       i += sizeof word, word = word * 6364136223846793005u + 1442695040888963407u)
    std::memcpy(payload.data() + i, &word, std::min(sizeof word, length - i));
  return payload;
}

/// Each process sends `count` frames to every process (itself too), in random order, and checks the
/// frames that it receives.
inline void all_pairs(Member& m, uint64_t count, uint64_t seed) {
  std::vector<uint64_t> sent(m.size), received(m.size);
  uint64_t left = count * m.size;
  m.sink.on_frame = [&](const Header& h, const void* payload, size_t length) {
    int from = static_cast<int>(h.src_process);
    REQUIRE(from < m.size && h.cookie == received[from]);
    std::string expected = make_payload(from, m.rank, received[from]++, m.t->max_payload());
    REQUIRE(expected == std::string(static_cast<const char*>(payload), length));
    --left;
  };
  std::mt19937 random(seed + m.rank);
  for (uint64_t to_send = count * m.size; to_send || left;) {
    int to = random() % m.size;
    if (to_send && sent[to] < count &&
        m.try_send(to, sent[to], make_payload(m.rank, to, sent[to], m.t->max_payload()))) {
      ++sent[to];
      --to_send;
    }
    if (!to_send || random() % 16 == 0) m.t->poll();
  }
  m.meet_polling();
  m.sink.on_frame = nullptr;
  REQUIRE(m.sink.failures.empty() && m.t->refused() == 0);
}

/// A ping-pong in which each side sleeps in the kernel for every message: lost wake-ups would hang
/// it.
inline void sleeping_ping_pong(Member& m, uint64_t rounds) {
  Idle idle(m.list);
  uint64_t got = 0;
  m.sink.on_frame = [&](const Header&, const void*, size_t) { ++got; };
  int other = 1 - m.rank;
  for (uint64_t i = 0; i < rounds; ++i) {
    if (m.rank == 0) m.send(other, i, "x");
    while (got <= i) idle.sleep(-1);
    if (m.rank == 1) m.send(other, i, "y");
  }
  m.meet();
  m.sink.on_frame = nullptr;
}

/// Process 0 sends more than there is room for, and sleeps whenever it is refused. Process 1
/// receives at times.
inline void sender_sleeps_for_room(Member& m) {
  Idle idle(m.list);
  constexpr uint64_t kFrames = 3000;
  std::string payload(5000, 'p');
  uint64_t got = 0;
  m.sink.on_frame = [&](const Header& h, const void*, size_t length) {
    REQUIRE(h.cookie == got && length == payload.size());
    ++got;
  };
  if (m.rank == 0) {
    for (uint64_t i = 0; i < kFrames; ++i)
      while (!m.try_send(1, i, payload)) idle.sleep(-1);
  } else {
    while (got < kFrames) {
      if (got % 7 == 0) usleep(200);
      idle.sleep(-1);
    }
  }
  m.meet_polling();
  m.sink.on_frame = nullptr;
}

inline int64_t ns_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// A process waits for two seconds after some traffic, and nothing arrives. The test counts how
/// often the process wakes up (four sleeps and two checks of the peers) and its own processor time:
/// neither depends on the load of the machine.
inline void idle_costs_nothing(Member& m) {
  all_pairs(m, 20, 1);
  Idle idle(m.list);
  while (idle.poll()) {
  }
  const uint64_t sleeps = idle.kernel_sleeps();
  const int64_t cpu = ns_of(CLOCK_PROCESS_CPUTIME_ID), end = ns_of(CLOCK_MONOTONIC) + 2'000'000'000;
  while (ns_of(CLOCK_MONOTONIC) < end) idle.sleep(500'000'000);
  const uint64_t woken = idle.kernel_sleeps() - sleeps;
  const int64_t used = ns_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  if (woken > 20 || used > 50'000'000)
    std::fprintf(stderr, "woken %llu times, %lld us of processor time\n",
                 static_cast<unsigned long long>(woken), static_cast<long long>(used / 1000));
  REQUIRE(woken <= 20 && used <= 50'000'000);
  m.meet();
}

}  // namespace fgmpi::transport::testing
