// Hierarchy: the processes of a communicator's group, and which members each of them hosts. The
// first collective that needs the hierarchy builds it. The hierarchy of a regular communicator
// stores nothing per member: members are computed.
//
// Where a communicator has members of several jobs, numbers of processes are this process's own.
// Indices into `processes` are the same everywhere.
//
//   ranks      0 1 2 3 | 4 5 6 | 7 8      a run: consecutive ranks in one process
//   process        5       2       5      processes {2, 5}, members {3, 6},
//                                         runs {5: 0..3, 2: 4..6, 5: 7..8}
//
// Thread rule: one thread; nothing here switches. Memory: nothing per process where processes are
// evenly spaced and the map is regular; 4 bytes a process where they are not; for irregular maps 4
// bytes a process more, and 12 bytes a run where there are at most two runs a process. What is not
// stored is computed (member counts) or listed again for each use (runs_of).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/comm.h"

namespace fgmpi::comm {

/// Ranks first .. first+count-1 all live in processes[index].
struct ProcessRun {
  int32_t first;
  int32_t count;
  uint32_t index;
};

/// Numbers without repetition: three words where they ascend evenly spaced, else a list. Where the
/// list does not ascend (processes of several jobs), it also holds the indices of the numbers in
/// ascending order.
class Series {
 public:
  Series() = default;
  explicit Series(const std::vector<uint32_t>& numbers);
  uint32_t size() const { return size_; }
  /// REQUIRES: i < size().
  uint32_t operator[](uint32_t i) const { return list_ ? list_[i] : first_ + step_ * i; }
  /// The index of a number in the series, or ~0u.
  uint32_t find(uint32_t number) const;
  size_t bytes() const { return list_ ? (ascends() ? 1 : 2) * size_ * sizeof(uint32_t) : 0; }

 private:
  static constexpr uint32_t kNotAscending = 0xffffffffu;
  bool ascends() const { return step_ != kNotAscending; }
  uint32_t size_ = 0, first_ = 0;
  uint32_t step_ = 0;  ///< of a list: kNotAscending, or unused
  std::unique_ptr<uint32_t[]> list_;
};

struct Hierarchy {
  /// Processes that host members. In one job they are in ascending order. Else their order is the
  /// same in all jobs: by the job's uid, then by process.
  Series processes;
  std::vector<uint32_t> member_counts;  ///< irregular maps: how many members each of them hosts
  uint32_t my_index = 0;      ///< index of this process in `processes`, or ~0u when it hosts none
  bool one_run_each = false;  ///< every process hosts one run: its members are consecutive ranks
  std::vector<ProcessRun> runs;  ///< in rank order; empty when they are not stored

  uint32_t count() const { return processes.size(); }
  /// The number of members that the process at `index` hosts.
  uint32_t members(const RankMap& map, uint32_t index) const;
  /// Bytes used beyond the object itself.
  size_t bytes() const {
    return processes.bytes() + member_counts.capacity() * sizeof(uint32_t) +
           runs.capacity() * sizeof(ProcessRun);
  }
  /// Index into processes of the process with this number, or ~0u.
  uint32_t index_of_process(uint32_t process) const { return processes.find(process); }
  /// Index into `processes` of the process that hosts this rank.
  uint32_t index_of_rank(const RankMap& map, int32_t rank) const;
  /// Ranks hosted by process number `process`, ascending.
  static void ranks_of(const RankMap& map, uint32_t process, std::vector<int32_t>* ranks);
  /// All runs in rank order, stored or listed anew.
  void runs_of(const RankMap& map, std::vector<ProcessRun>* out) const;
  /// Calls f(run) for all runs, without a copy of those that are stored.
  template <class F>
  void for_each_run(const RankMap& map, F&& f) const {
    std::vector<ProcessRun> listed;
    if (runs.empty()) runs_of(map, &listed);
    for (const ProcessRun& run : runs.empty() ? listed : runs) f(run);
  }
};

/// The number of members of a group that this process hosts.
uint32_t members_here(const RankMap& map);

/// Builds a hierarchy for the group of `map` (for tests; the two functions below store theirs in
/// the communicator).
Hierarchy build_hierarchy(const RankMap& map);

/// The hierarchy of the local group, built when missing. May switch for a system-ranked
/// communicator, the first time.
const Hierarchy& hierarchy(SharedComm* shared);
const Hierarchy& remote_hierarchy(SharedComm* shared);

/// Calls f(rank) for each member of the local group in this process, ascending.
template <class F>
void for_each_member_here(SharedComm* shared, F&& f) {
  if (shared->processes == 1) {
    for (int32_t rank = 0; rank < shared->size; ++rank) f(rank);
    return;
  }
  const Hierarchy& h = hierarchy(shared);
  h.for_each_run(shared->map, [&](const ProcessRun& run) {
    for (int32_t i = 0; run.index == h.my_index && i < run.count; ++i) f(run.first + i);
  });
}

}  // namespace fgmpi::comm
