// CollectiveRule: which algorithm a collective of the predicted machine has, where the machine's
// file says so. Collectives without a rule have the algorithm that MPICH would choose (schedule.h).
//
// Thread rule: values and tables; nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fgmpi::predict {

enum class ScheduleAlgorithm : uint8_t {
  kDissemination,
  kBinomial,
  kScatterDoubling,  ///< bcast: binomial scatter, then allgather by recursive doubling
  kScatterRing,      ///< bcast: binomial scatter, then allgather by a ring
  kHalvingGather,    ///< reduce: reduce-scatter by halves, then binomial gather
  kDoubling,
  kHalvingDoubling,  ///< allreduce: reduce-scatter by halves, then allgather by doubling
  kHalving,
  kBruck,
  kRing,
  kPairwise,
  kScattered,  ///< all messages of 32 peers at a time
  kLinear,
  kNeighbours,
};
inline constexpr uint8_t kAlgorithms = static_cast<uint8_t>(ScheduleAlgorithm::kNeighbours) + 1;
const char* name_of(ScheduleAlgorithm algorithm);

/// Stands beside the numbers of coll::CollectiveKind for what makes a communicator.
inline constexpr uint8_t kCommunicator = 22;

/// The name of a collective, by its number in coll::CollectiveKind.
const char* name_of_collective(uint8_t collective);

struct CollectiveRule {
  uint8_t collective = 0;  ///< coll::CollectiveKind
  ScheduleAlgorithm algorithm = ScheduleAlgorithm::kDissemination;
  /// Holds for vectors of so many bytes and more; of allgathers, all-to-alls, gathers and scatters:
  /// for a member's block.
  uint64_t from_bytes = 0;
};

/// A collective for which there may be rules.
struct RuledCollective {
  uint8_t collective;
  std::vector<ScheduleAlgorithm> allowed;
};
const std::vector<RuledCollective>& ruled_collectives();
/// nullptr: there are no rules for a collective of this name.
const RuledCollective* find_ruled_collective(std::string_view name);

}  // namespace fgmpi::predict
