// Schedules: the messages of a collective on the predicted machine, member by member.
//
// The data of a collective moves as it does in any run of this library. Its time is that of the
// algorithm that MPICH would choose on the predicted machine: each member goes through rounds. In a
// round it sends, then waits for what it receives, then combines. Members are numbered as in the
// communicator.
//
// Source of the algorithms and of the sizes at which they change: Thakur, Rabenseifner, Gropp,
// "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), 2005, and the
// documented defaults of MPICH 4.0.
// Thread rule: functions of values; nothing here switches.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/args.h"
#include "predict/collective_rules.h"

namespace fgmpi::predict {

struct RoundPart {
  uint32_t peer;
  uint64_t bytes;
};
/// What a member does in one round.
struct ScheduleRound {
  std::vector<RoundPart> sends, receives;
  uint64_t combined = 0;  ///< bytes that it combines when all has come
  void clear() {
    sends.clear();
    receives.clear();
    combined = 0;
  }
};

/// What all members of a collective have in common.
struct ScheduledCollective {
  coll::CollectiveKind kind = coll::CollectiveKind::kBarrier;
  ScheduleAlgorithm algorithm = ScheduleAlgorithm::kDissemination;
  uint32_t members = 1, root = 0;
  /// The whole vector (broadcasts, reductions, scans), or one member's block.
  uint64_t bytes = 0;
};
/// The bytes that one member exchanges with each other one, in forms where they differ. Empty
/// vectors: shape.bytes with each.
struct MemberBytes {
  std::vector<RoundPart> sends, receives;
};

/// Does a member wait for one message at most in each round of this algorithm?
inline bool receives_one_a_round(ScheduleAlgorithm algorithm) {
  return algorithm != ScheduleAlgorithm::kScattered && algorithm != ScheduleAlgorithm::kLinear &&
         algorithm != ScheduleAlgorithm::kNeighbours;
}

/// The algorithm that MPICH chooses. `average`: bytes of a block in v forms.
ScheduleAlgorithm choose_algorithm(coll::CollectiveKind kind, uint32_t members, uint64_t bytes);
/// The algorithm of the rules; MPICH's where none holds, or where the algorithm of the one that
/// holds does not serve so many members.
ScheduleAlgorithm choose_algorithm(const std::vector<CollectiveRule>& rules,
                                   coll::CollectiveKind kind, uint32_t members, uint64_t bytes);

/// The algorithm of what makes a communicator, whose schedule is that of an allreduce.
ScheduleAlgorithm choose_for_communicator(const std::vector<CollectiveRule>& rules);

/// Fills in round `number` of member `me`. Returns false where the member has finished before.
bool fill_round(const ScheduledCollective& shape, const MemberBytes& own, uint32_t me,
                uint32_t number, ScheduleRound* out);

}  // namespace fgmpi::predict
