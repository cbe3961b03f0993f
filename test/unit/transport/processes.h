// The processes of tests of transports: forked, with a board in shared memory for their barriers.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../setting.h"
#include "transport/idle.h"
#include "transport/transport.h"

namespace fgmpi::transport::testing {

inline constexpr int kMost = 16;

/// The memory that all processes of a job share.
struct Board {
  std::atomic<int> arrived;
  char addresses[kMost][256];
  std::atomic<uint64_t> numbers[16];
};

/// The replacement of EXPECT in a child, where a failed EXPECT would be lost: prints one line and
/// exits with a non-zero status.
#define REQUIRE(cond)                                                              \
  do {                                                                             \
    if (!(cond)) {                                                                 \
      std::fprintf(stderr, "%s:%d: expected was %s\n", __FILE__, __LINE__, #cond); \
      _exit(1);                                                                    \
    }                                                                              \
  } while (0)

/// A frame as it was received.
struct Got {
  Header header;
  std::string payload;
};

struct Keeper : FrameSink, MemorySink {
  std::function<void(const Header&, const void*, size_t)> on_frame;
  std::vector<Got> frames;
  std::vector<std::pair<uint32_t, std::string>> failures;
  std::vector<uint64_t> reads, accesses;
  std::vector<void*> returns;
  bool reads_ok = true;
  void deliver(const Header& header, const void* payload, size_t length) override {
    if (on_frame)
      on_frame(header, payload, length);
    else
      frames.push_back({header, std::string(static_cast<const char*>(payload), length)});
  }
  void read_done(uint64_t cookie, Status status) override {
    reads.push_back(cookie);
    reads_ok &= status.ok();
  }
  void accessed(uint64_t cookie, Status status) override {
    accesses.push_back(cookie);
    reads_ok &= status.ok();
  }
  void returned(void* lender) override { returns.push_back(lender); }
  void peer_failed(uint32_t process, const std::string& why) override {
    failures.emplace_back(process, why);
  }
};

/// One process of a job with one transport, connected to all others.
struct Member {
  int rank, size;
  Board* board;
  Keeper sink;
  std::vector<std::unique_ptr<Transport>> list;
  Transport* t = nullptr;
  std::vector<uint64_t> peers;

  /// Barrier of all processes; the n-th call of each meets the n-th of the others.
  void meet() {
    int goal = (++meetings) * size;
    board->arrived.fetch_add(1);
    while (board->arrived.load() < goal) usleep(100);
  }
  /// A barrier that receives frames meanwhile: a peer may still wait for room.
  void meet_polling() {
    int goal = (++meetings) * size;
    board->arrived.fetch_add(1);
    while (board->arrived.load() < goal)
      if (!t->poll()) usleep(50);
  }
  void connect(std::unique_ptr<Transport> transport) {
    t = transport.get();
    list.push_back(std::move(transport));
    std::string address;
    Status opened = t->open({&sink, &sink}, &address);
    if (!opened.ok()) std::fprintf(stderr, "%s\n", opened.what().c_str());
    REQUIRE(opened.ok() && address.size() <= 200);
    std::strcpy(board->addresses[rank], address.c_str());
    meet();
    peers.resize(size);
    for (int p = 0; p < size; ++p) {
      REQUIRE(t->reaches(board->addresses[p]));
      Status added = t->add_peer(p, board->addresses[p], &peers[p]);
      if (!added.ok()) std::fprintf(stderr, "%s\n", added.what().c_str());
      REQUIRE(added.ok() && peers[p] >> 63 == 0);
    }
    meet();
    t->all_connected(static_cast<uint32_t>(rank));
  }
  Header header(uint64_t cookie = 0) const {
    Header h{};
    h.src_process = rank;
    h.cookie = cookie;
    return h;
  }
  bool try_send(int to, uint64_t cookie, const std::string& payload) {
    return t->try_send(to, peers[to], header(cookie), payload.data(), payload.size());
  }
  /// Waits until the transport reports that a peer has failed. Otherwise the alarm of run_job()
  /// ends the process.
  void wait_for_a_failure() {
    for (; sink.failures.empty(); usleep(1000)) {
      t->tick();
      t->poll();
    }
    t->poll();
  }
  void send(int to, uint64_t cookie, const std::string& payload) {
    while (!try_send(to, cookie, payload)) t->poll();
  }

  int meetings = 0;
};

/// Runs body(member) in `size` processes; returns the wait status of each. After `seconds` seconds
/// all processes are killed.
inline std::vector<int> run_job(int size, const std::function<void(Member&)>& body,
                                unsigned seconds = 60) {
  void* memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Board* board = new (memory) Board{};
  std::fflush(nullptr);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; ++rank) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(seconds);
      auto* member = new Member{rank, size, board, {}, {}, nullptr, {}, 0};
      body(*member);
      _exit(0);
    }
    pids.push_back(pid);
  }
  std::vector<int> status(size);
  for (int rank = 0; rank < size; ++rank) waitpid(pids[rank], &status[rank], 0);
  munmap(memory, sizeof(Board));
  return status;
}

inline void expect_all_good(const std::vector<int>& status) {
  for (size_t i = 0; i < status.size(); ++i) {
    EXPECT_TRUE(WIFEXITED(status[i]) && WEXITSTATUS(status[i]) == 0)
        << "process " << i << (WIFSIGNALED(status[i]) ? " killed by signal " : " exit ")
        << (WIFSIGNALED(status[i]) ? WTERMSIG(status[i]) : WEXITSTATUS(status[i]));
  }
}

using fgmpi::test::set_variable;
using fgmpi::test::Setting;

}  // namespace fgmpi::transport::testing
