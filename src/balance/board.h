// The board of a host: what the processes of a job that share it know of each other's load
// (FGMPI_BALANCE=on). One memory object for each host, made by the first process there.
//
//   | header 64 B | process 0, 64 B | process 1 | ... | rank 0, 80 B | rank 1 | ... |
//
// Processes and ranks have their numbers in the job, so those of other hosts leave gaps, whose
// pages are never touched. A line is written by its process, but for `asks`, which a process takes
// back that sends a rank there, and for loads, which it changes then. A rank's entry is written by
// the process in which the rank runs, so it need not go along when the rank moves.
//
// All values are estimates: two processes that change one at once may lose one of the changes.
//
// Thread rule: the scheduler's thread. Nothing here switches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "balance/windowed_time.h"
#include "base/status.h"
#include "transport/memory_object.h"

namespace fgmpi::balance {

struct LoadBoardHeader {
  std::atomic<uint32_t> asking{0};  ///< processes that ask for a rank
};

struct alignas(64) ProcessLine {
  std::atomic<uint32_t> asks{0};   ///< it is idle, and nobody has sent it a rank since
  std::atomic<uint32_t> moves{0};  ///< ranks that it has sent to others
  std::atomic<int64_t> idle_since{0};
  std::atomic<int64_t> idle{0};      ///< ns in which it had nothing to run, so far
  std::atomic<int64_t> computed{0};  ///< ns of processor time of its ranks, so far
  WindowedTime load;
  std::atomic<uint32_t> burst{0};        ///< ns that one of its ranks runs at a time, lately
  std::atomic<uint32_t> homecomings{0};  ///< of `moves`, those that went home
};
static_assert(sizeof(ProcessLine) == 64);

/// Receivers that are remembered of a rank's messages.
inline constexpr uint32_t kPartners = 8;

struct RankLoad {
  std::atomic<int64_t> computed{0};   ///< ns so far
  std::atomic<int64_t> came_with{0};  ///< `computed` when it has come to its process
  WindowedTime load;
  std::atomic<uint32_t> burst{0};  ///< ns that it runs at a time, lately
  std::atomic<uint32_t> place{0};  ///< the process where it is, and 1; 0: it has never moved
  /// A sketch of whom it sends to: receivers of messages that are drawn, world ranks. `drawn`: how
  /// many have been.
  std::atomic<uint32_t> drawn{0}, partners[kPartners];
};
static_assert(sizeof(RankLoad) == 80);

class LoadBoard {
 public:
  /// Makes the board of a host, for a job of these sizes.
  Status make(uint32_t processes, uint32_t ranks);
  Status open(const transport::MemoryObjectName& name, uint32_t processes, uint32_t ranks);
  const transport::MemoryObjectName& name() const { return object_.name(); }
  bool exists() const { return object_.base() != nullptr; }

  LoadBoardHeader& header() { return *reinterpret_cast<LoadBoardHeader*>(object_.base()); }
  ProcessLine& process(uint32_t p) {
    return reinterpret_cast<ProcessLine*>(object_.base() + kLine)[p];
  }
  RankLoad& rank(uint32_t world_rank) {
    return reinterpret_cast<RankLoad*>(object_.base() +
                                       kLine * (1 + size_t{processes_}))[world_rank];
  }

 private:
  static constexpr size_t kLine = 64;
  static size_t bytes(uint32_t processes, uint32_t ranks) {
    return kLine * (1 + size_t{processes}) + sizeof(RankLoad) * ranks;
  }

  transport::MemoryObject object_;
  uint32_t processes_ = 0;
};

}  // namespace fgmpi::balance
