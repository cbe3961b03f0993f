// Team: the processes of a collective (level two). In each of them one member, the last to arrive,
// exchanges messages with the others.
//
// A team rank is an index into the team, 0..count()-1, in the order of the processes' first ranks:
// where every process hosts consecutive ranks, team ranks are in rank order. Messages carry the
// communicator's collective plane and a tag made from the collective's number. Messages of one pair
// of processes keep their order; nothing else distinguishes the steps of one collective.
//
// Thread rule: one thread; sends, receives and exchanges may switch. A team lives as long as the
// step that made it.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "coll/failure.h"
#include "comm/comm.h"
#include "comm/hierarchy.h"
#include "comm/meeting.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::system_ranked {
struct TreePosition;
}

namespace fgmpi::coll {

/// One value a process, and one for the end. Up to eight processes need no allocation.
template <class T>
using PerProcess = boost::container::small_vector<T, 9>;

/// The number `agreed` (Team) of a collective with a root: another root gives another number.
constexpr uint64_t agreed_with_root(uint64_t bytes, int32_t root) {
  return bytes + (static_cast<uint64_t>(root) + 1) * 0x9e3779b97f4a7c15;
}

/// Counters of level two in this process, for MPIX_Stats and tests.
struct LevelTwoCounters {
  uint64_t collectives = 0;
  uint64_t messages = 0;  ///< sent to other processes
  uint64_t bytes = 0;     ///< of those messages
};
extern LevelTwoCounters g_counters;

class Team {
 public:
  /// Makes the team of a meeting's collective from the processes of the local group. `agreed`: a
  /// number that must be the same in all of them; processes with different numbers do not match
  /// each other's messages. kTree: this process and its neighbours in the tree of a
  /// system-ranked communicator only, which is enough for barriers, broadcasts, and reductions
  /// that commute (algorithms/group_tree.cc).
  enum Reach { kAll, kTree };
  Team(comm::SharedComm* shared, const comm::Meeting* meeting, uint64_t agreed, Reach reach = kAll);
  /// Makes a team of the processes of an intercommunicator's remote group, in the order that they
  /// themselves have, to send to them or to receive from them (the tag says which group a message
  /// is from).
  enum Direction { kToRemote, kFromRemote };
  Team(comm::SharedComm* shared, const comm::Meeting* meeting, Direction direction);
  /// Makes a team of a list of processes (unit tests, the two sides of an intercommunicator).
  Team(const std::vector<uint32_t>& processes, uint32_t my_team_rank, uint64_t ctx, int32_t tag,
       const char* call);

  /// Sets the type of the data, for paths that compare it (multicast): `count` elements, or -1
  /// where not all processes know how many. The type must outlive the team.
  void set_type(const datatype::Type* type, int64_t count) {
    type_ = type;
    type_count_ = count;
  }
  /// A number for the type signature of the data; 0: not known.
  uint32_t types() const;

  uint32_t count() const { return static_cast<uint32_t>(processes_.size()); }
  uint32_t me() const { return me_; }
  const char* call() const { return open_.call; }
  /// The entry of the collective: its identification, and whether it has failed.
  const OpenTeam& open() const { return open_; }
  uint32_t process(uint32_t team_rank) const { return processes_[team_rank]; }
  /// All of them, by team rank.
  std::span<const uint32_t> processes() const { return {processes_.data(), processes_.size()}; }
  /// The number of members that a process hosts. REQUIRES: the team was made from a communicator.
  uint32_t members(uint32_t team_rank) const;
  /// The number of processes of the tree, for a team of neighbours; 0 for a team of all.
  uint32_t tree_size() const { return tree_size_; }
  bool has_parent() const { return has_parent_; }
  /// Adds the process of a rank for which team_rank_of() has returned `elsewhere`, and returns its
  /// team rank. For teams of neighbours. May switch.
  uint32_t add_process_of(uint32_t elsewhere) const;
  /// Receives from any process. REQUIRES: all processes that have yet to send in this collective
  /// send the same.
  Status recv_any(void* data, size_t bytes, uint32_t* from) const;
  static constexpr uint32_t kAnyProcess = 0xffffffffu;
  /// In a team of neighbours: this number, plus a rank, stands for the process of a rank that
  /// another process hosts.
  static constexpr uint32_t kElsewhere = 0x80000000u;
  /// The team rank of the process that hosts a rank. REQUIRES: the team was made from
  /// a communicator.
  uint32_t team_rank_of(int32_t rank) const;

  // Once the collective has failed, here or elsewhere, each of these returns the error.
  Status send(uint32_t to, const void* data, size_t bytes) const;
  Status recv(uint32_t from, void* data, size_t bytes) const;
  /// Begins a receive. Never switches. The caller must wait for the request and free it.
  Status irecv(uint32_t from, void* data, size_t bytes, pt2pt::Request** request) const;
  /// Begins a send. Never switches. `data` must not change until the request is complete.
  Status isend(uint32_t to, const void* data, size_t bytes, pt2pt::Request** request) const;
  /// As isend() and irecv(), in several messages short enough to travel without the receiver's
  /// answer: they travel even when neither side is in the library. Their requests are added to the
  /// list, also when one fails.
  Status isend_pieces(uint32_t to, const char* data, size_t bytes,
                      std::vector<pt2pt::Request*>* requests) const;
  Status irecv_pieces(uint32_t from, char* data, size_t bytes,
                      std::vector<pt2pt::Request*>* requests) const;
  /// Waits for a request and frees it.
  Status finish(pt2pt::Request* request) const;
  /// Waits for all of these requests and frees them. Returns `first` if that is an error, else the
  /// first error of theirs.
  Status finish(std::vector<pt2pt::Request*>* requests, Status first) const;
  /// Sends and receives at the same time (from and to may be the same process or differ).
  Status exchange(uint32_t to, const void* out, size_t out_bytes, uint32_t from, void* in,
                  size_t in_bytes) const;

 private:
  void add_all(const comm::Hierarchy& h);
  void add_neighbours(const system_ranked::TreePosition& place);
  const comm::Hierarchy* hierarchy_ = nullptr;
  const RankMap* map_ = nullptr;
  mutable PerProcess<uint32_t> processes_;   ///< add_process_of() may add to it
  PerProcess<uint32_t> team_rank_of_index_;  ///< by index in the hierarchy
  const datatype::Type* type_ = nullptr;
  int64_t type_count_ = 0;
  uint32_t me_ = 0;
  uint32_t tree_size_ = 0;
  bool has_parent_ = false;
  int32_t own_first_ = 0, own_past_ = 0;  ///< teams of neighbours: ranks of this process
  OpenTeam open_;
};

/// The tag of a collective's messages. Messages of collectives that do not match (MPI_Bcast here,
/// MPI_Reduce there) have different tags: the deadlock report then names the calls, and no data
/// ends up in a wrong buffer. Bit 7 is set in the numbers of nonblocking and persistent collectives
/// (comm/meeting.h).
///
///   30 ........ 7 | 6 ... 2 | 1                                      | 0
///   number        | kind    | between the groups of an intercomm.,   | side of
///                 |         | or over a tree                         | the sender
inline int32_t team_tag(uint32_t sequence, uint8_t operation, bool cross, bool side) {
  return static_cast<int32_t>((sequence & 0xffffffu) << kNumberBit | (operation >> 2 & 0x1fu) << 2 |
                              (cross ? 2u : 0u) | (side ? 1u : 0u));
}

/// The ranks that each process hosts, in rank order within a process. Making it costs O(runs), but
/// less where every process has one run and the hierarchy stores the runs; the hierarchy must
/// outlive this.
class Placement {
 public:
  Placement(const comm::Hierarchy& h, const RankMap& map, const Team& team);
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
  Placement(comm::SharedComm* shared, const Team& team)
      : Placement(comm::hierarchy(shared), shared->map, team) {}
  /// Calls f(rank) for each rank at a process, ascending.
  template <class F>
  void for_each(uint32_t team_rank, F&& f) const {
    for (const comm::ProcessRun* run = begin(team_rank); run != end(team_rank); ++run)
      for (int32_t i = 0; i < run->count; ++i) f(run->first + i);
  }
  /// True if the ranks at this process are consecutive; *first is the first of them.
  bool consecutive(uint32_t team_rank, int32_t* first) const {
    *first = begin(team_rank)->first;
    return end(team_rank) - begin(team_rank) == 1;
  }
  /// True if the ranks in the order of processes are 0, 1, 2, ...
  bool in_rank_order() const { return in_rank_order_; }
  /// The runs of a process are [begin, end).
  const comm::ProcessRun* begin(uint32_t team_rank) const {
    return runs_ + (start_.empty() ? team_rank : start_[team_rank]);
  }
  const comm::ProcessRun* end(uint32_t team_rank) const { return begin(team_rank + 1); }

 private:
  const comm::ProcessRun* runs_;  ///< by process, then by rank
  PerProcess<comm::ProcessRun> own_runs_;
  PerProcess<uint32_t> start_;  ///< index of each process's first run; empty: each has one
  bool in_rank_order_ = true;
};

}  // namespace fgmpi::coll
