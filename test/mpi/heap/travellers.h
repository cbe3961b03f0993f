// Ranks that go from process to process (fgmpi_give_rank, base/checkpoint_link.h), for programs: the first rank of each process
// stays and takes those that come; all others may travel. Records go by memory that the processes share, at an address that is
// free in all of them.
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../../../src/base/checkpoint_link.h"

namespace travellers {

using fgmpi::checkpoint::MovingRank;

constexpr int kMostProcesses = 8, kMostLetters = 256;

/// A record on its way, and whether the process that has it is the taker or is told of the arrival.
struct Letter {
  std::atomic<uint32_t> state;  ///< 0: free, 1: written to, 2: full
  bool has_arrived;
  MovingRank rank;
};
struct Process {
  std::atomic<int> pid;
  int64_t take_began, take_ended;  ///< of the rank that came last: ns
  Letter letters[kMostLetters];
};
struct SharedMemory {
  std::atomic<int> at_home;  ///< travellers that travel no more
  Process processes[kMostProcesses];
};
inline SharedMemory& shared() { return *reinterpret_cast<SharedMemory*>(uintptr_t{1} << 43); }

[[noreturn]] inline void fail(const char* what, const char* why) {
  std::fprintf(stderr, "FAILED: %s: %s\n", what, why);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// Maps the shared memory into this process. Called by the first rank of each.
inline void begin(const char* path, int process) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(SharedMemory)) != 0) fail("the file of records", path);
  void* at = mmap(&shared(), sizeof(SharedMemory), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
  if (at != &shared()) fail("mmap", path);
  close(file);
  shared().processes[process].pid = getpid();
}

inline void post(const MovingRank* rank, int process, bool has_arrived) {
  for (Letter& letter : shared().processes[process].letters) {
    uint32_t free = 0;
    if (!letter.state.compare_exchange_strong(free, 1)) continue;
    letter.rank = *rank;
    letter.has_arrived = has_arrived;
    letter.state.store(2, std::memory_order_release);
    return;
  }
  std::abort();
}

inline int process_of(int pid) {
  for (int p = 0; p < kMostProcesses; ++p)
    if (shared().processes[p].pid == pid) return p;
  return -1;
}

/// Goes on in another process. Returns null there; else the reason why it stays.
inline const char* travel(int process) {
  return fgmpi_give_rank(
      [](const MovingRank* rank, void* to) {
        post(rank, static_cast<int>(reinterpret_cast<intptr_t>(to)), false);
      },
      reinterpret_cast<void*>(intptr_t{process}));
}

inline int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Takes what has come to this process. Returns how many ranks.
inline int take_all(int process) {
  int taken = 0;
  for (Letter& letter : shared().processes[process].letters) {
    if (letter.state.load(std::memory_order_acquire) != 2) continue;
    if (letter.has_arrived) {
      fgmpi_rank_has_arrived(&letter.rank);
    } else {
      uint32_t index;
      shared().processes[process].take_began = now();
      const char* const reason = fgmpi_take_rank(&letter.rank, &index);
      shared().processes[process].take_ended = now();
      if (reason) fail("a rank is not taken", reason);
      post(&letter.rank, process_of(letter.rank.giver), true);
      ++taken;
    }
    letter.state.store(0, std::memory_order_release);
  }
  return taken;
}

/// Lets ranks of this process run, and takes others, until all travellers are at home.
inline void serve(int process, int travellers) {
  while (shared().at_home < travellers) {
    take_all(process);
    sched_yield();
  }
  take_all(process);
}

}  // namespace travellers
