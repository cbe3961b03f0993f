// Unified definitions: the communicators and groups of a job, derived from the records of all ranks
// (EuroMPI'11 sections 4.2 and 4.3).
//
// Numbers of communicators:
//   0 .. c-1        communicators of several processes, ordered by <world rank of rank 0, its
//                   counter>: the world has 0
//   c .. c+i-1      intercommunicators, ordered by the same of the group whose rank 0 is lower
//   c+i .. c+i+s-1  self-like ones (one process): the k-th of any rank has number c+i+k, so s
//                   is the largest count of a rank
// Groups are numbered by the first communicator that has them, each once. One generic group stands
// for all self-like communicators.
//
// unify_records() computes the same from the records of all ranks in one process. It serves jobs
// that could not unify themselves (aborted jobs, sessions without a world, several jobs), and
// checks those that did.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ch4-av-rankmap/rankmap.h"
#include "track/format.h"

namespace fgmpi::track {

inline constexpr uint32_t kNoGroup = 0xffffffffu;

struct GlobalGroup {
  enum GroupMapKind : uint8_t { kList, kWorld, kSelf };
  GroupMapKind kind = kList;
  RankMap map;  ///< kList and kWorld: encoded map from rank to world rank
  /// Replaces the map where members are unknown (-1), in an aborted job.
  std::vector<int32_t> partial;
  int32_t size() const;
  /// World rank of a member, -1 where it is unknown. REQUIRES: not kSelf, 0 <= rank < size().
  int32_t world_of(int32_t rank) const;
};

struct GlobalComm {
  uint32_t group = kNoGroup;
  uint32_t remote = kNoGroup;  ///< intercommunicator: the other side's group
  uint32_t parent = kNoComm;
  uint16_t call = 0;
  bool inter = false, self = false;
};

struct Definitions {
  std::vector<GlobalGroup> groups;
  std::vector<GlobalComm> comms;
  uint32_t several = 0, inter = 0;  ///< c and i above

  /// The number of the group with these members (-1: unknown); a new group is added.
  uint32_t add_group(std::vector<int32_t> members, int32_t world_size);
  uint32_t add_group(RankMap map, int32_t world_size);
  uint32_t self_group();

  /// Appends the written form: definitions of communicators, then of their groups.
  void write(std::vector<uint8_t>* out) const;
  /// Reads the written form. Refuses damaged bytes with a reason.
  bool read(std::span<const char> bytes, std::string* reason);

 private:
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  uint32_t self_ = kNoGroup;
};

/// The records of one rank.
struct RankRecords {
  std::span<CommRecord> records;  ///< unify_records() sets kSideB where it was unknown
  uint32_t job = 0;               ///< lower half of the job's key
  int32_t first_of_job = 0;       ///< global index of the job's rank 0
};

/// Unifies the records. mapping[r][local id] receives the global number. `context_keys`: as in
/// FileFlag. World ranks are indices into `ranks`.
Definitions unify_records(std::span<const RankRecords> ranks, bool context_keys,
                          std::vector<std::vector<uint32_t>>* mapping);

/// Are the two equal? If not, `difference` describes where they differ.
bool same_definitions(const Definitions& a, const Definitions& b, std::string* difference);

}  // namespace fgmpi::track
