// The process groups that this process knows: its own job, and the connected jobs.
//
//   pgid     0: the own job   1: another one   2: ...
//            (an index of this process; other processes have other indices)
//   uid      128 random bits that name the job everywhere
//   range    the group's processes and ranks in the address vector (av.h): global rank = range's
//            first rank + lpid
//   cards    how each of its processes is reached, where this process has learned it; only
//            src/dynamic writes and reads their contents
//
// Communicators and groups of ranks that have members of a group retain it; the last release
// releases its range, its cards and its pgid. Numbers of other jobs' ranks are valid in this
// process only: between processes a rank travels as <uid, lpid> (travel.h).
// Thread rule: one thread; nothing here switches. Invariant: a group has the same pgid and range
// as long as it is known. Source: IPDPS'17 section III-C (one table a process group).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ch4-av-rankmap/av.h"

namespace fgmpi {

struct GroupUid {
  uint64_t high = 0, low = 0;
  auto operator<=>(const GroupUid&) const = default;
};

struct GroupRank {
  uint32_t pgid;
  uint32_t lpid;  ///< rank in that group's MPI_COMM_WORLD
  bool operator==(const GroupRank&) const = default;
};
static_assert(sizeof(GroupRank) == 8, "memory budget: 8 bytes a member of a merged communicator");

class ProcessGroups {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  /// Names the own job. REQUIRES: no other group is known yet, or the job has this name already.
  void set_own(const GroupUid& uid) { own_ = uid; }
  const GroupUid& own() const { return own_; }

  /// Adds a group whose processes host so many ranks each, with no reference. Errors: MPI_ERR_OTHER
  /// when the group is known already, has no process, a process without ranks, or too many ranks.
  /// REQUIRES: g_av is set up.
  Status add(const GroupUid& uid, std::span<const uint32_t> counts, uint32_t* pgid);
  /// Adds a group that was spawned as proclets: all its ranks live in processes of another group,
  /// or of the own job. The group retains the group of its hosts.
  Status add_hosted(const GroupUid& uid, std::span<const uint32_t> counts,
                    std::vector<AddressVector::Host> hosts, uint32_t* pgid);
  bool hosted(uint32_t pgid) const { return pgid > 0 && groups_[pgid].host != kNone; }
  /// The group of the processes that host a group. REQUIRES: hosted(pgid).
  uint32_t host_of(uint32_t pgid) const { return groups_[pgid].host; }
  /// A number for a group, never 0, that is equal in all processes. find_short_name() returns the
  /// pgid of the group with this number, or kNone.
  uint32_t short_name(uint32_t pgid) const;
  uint32_t find_short_name(uint32_t name) const;
  /// The pgid of a group, or kNone.
  uint32_t find(const GroupUid& uid) const;
  /// Number of groups other than the own.
  uint32_t others() const { return static_cast<uint32_t>(by_rank_.size()); }
  /// An upper bound of all pgids.
  uint32_t count() const { return static_cast<uint32_t>(firsts_.size()); }
  bool known(uint32_t pgid) const { return pgid == 0 || (pgid < count() && groups_[pgid].known); }

  /// Properties of a group. REQUIRES: known(pgid).
  const GroupUid& uid(uint32_t pgid) const { return pgid == 0 ? own_ : groups_[pgid].uid; }
  uint32_t first_rank(uint32_t pgid) const { return firsts_[pgid].rank; }
  uint32_t first_process(uint32_t pgid) const { return firsts_[pgid].process; }
  uint32_t ranks(uint32_t pgid) const {
    return pgid == 0 ? g_av.world_size() : groups_[pgid].ranks;
  }
  uint32_t processes(uint32_t pgid) const {
    return pgid == 0 ? g_av.processes() : groups_[pgid].processes;
  }

  int32_t global_of(GroupRank g) const {
    return static_cast<int32_t>(firsts_[g.pgid].rank + g.lpid);
  }
  /// The group and rank of a global rank. REQUIRES: it is a global rank.
  GroupRank find_rank(int32_t global) const;
  /// The group of a process (an index of the address vector), kNone for one in a hole.
  uint32_t group_of_process(uint32_t process) const;
  /// The address in the element of process `lpid` of a group. REQUIRES: another group has been
  /// added.
  uint64_t address(GroupRank g) const {
    return AddressVector::address_in(elements_[g.pgid], g.lpid);
  }
  /// An order of ranks that is equal in all processes: by the group's uid, then by rank.
  bool before(int32_t global, int32_t other) const;
  /// A number for a rank that is equal in all processes.
  uint32_t name_of(int32_t global) const;

  /// The card of process `index` of a group, empty where this process has none. set_card() changes
  /// nothing where there is a card already.
  const std::string& card(uint32_t pgid, uint32_t index) const;
  void set_card(uint32_t pgid, uint32_t index, std::string_view card);

  void retain(uint32_t pgid) {
    if (pgid > 0) ++groups_[pgid].references;
  }
  void release(uint32_t pgid);
  /// Removes groups without references, after a failure to connect.
  void remove_unused();

  /// Functions that this class calls when a group has received its range, before the group loses
  /// the range, and afterwards. They are not called for hosted groups.
  struct Watcher {
    void (*added)(uint32_t pgid) = nullptr;
    void (*removing)(uint32_t pgid) = nullptr;
    void (*removed)() = nullptr;
  };
  void set_watcher(const Watcher& watcher) { watcher_ = watcher; }

 private:
  struct SpawnedGroup {
    GroupUid uid;
    uint32_t processes = 0, ranks = 0, references = 0;
    uint32_t host = kNone;  ///< the group of the hosts, where the group was spawned as proclets
    bool known = false;
    std::vector<std::string> cards;
  };
  struct First {
    uint32_t rank, process;
  };
  Status add_range(const GroupUid& uid, std::span<const uint32_t> counts, uint32_t* pgid);
  void remove(uint32_t pgid);
  void find_elements();
  /// Each group's first rank and process in the address vector.
  std::vector<First> firsts_{{0, 0}};
  /// The address of each group's first element: one load less on the send path.
  std::vector<const AvElement*> elements_{nullptr};
  std::vector<SpawnedGroup> groups_{1};
  std::map<uint32_t, uint32_t> by_rank_;     ///< first rank -> pgid, without the own group
  std::map<uint32_t, uint32_t> by_process_;  ///< first process -> pgid, without the own group
  std::map<GroupUid, uint32_t> by_uid_;
  std::vector<std::string> own_cards_;
  GroupUid own_;
  Watcher watcher_;
};
extern ProcessGroups g_process_groups;

}  // namespace fgmpi
