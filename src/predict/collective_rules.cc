// The names of collectives and algorithms, and which of them go together.

#include "predict/collective_rules.h"

#include <cstddef>

namespace fgmpi::predict {
namespace {

constexpr const char* kAlgorithmNames[] = {"dissemination",
                                           "binomial tree",
                                           "scatter + doubling",
                                           "scatter + ring",
                                           "halving + gather",
                                           "recursive doubling",
                                           "halving + doubling",
                                           "recursive halving",
                                           "Bruck",
                                           "ring",
                                           "pairwise",
                                           "scattered",
                                           "linear",
                                           "neighbours"};
static_assert(std::size(kAlgorithmNames) == kAlgorithms);

/// In the order of coll::CollectiveKind, which collectives.cc compares with this list; then that of
/// kCommunicator.
constexpr const char* kCollectiveNames[] = {"barrier",
                                            "bcast",
                                            "gather",
                                            "gatherv",
                                            "scatter",
                                            "scatterv",
                                            "allgather",
                                            "allgatherv",
                                            "alltoall",
                                            "alltoallv",
                                            "alltoallw",
                                            "reduce",
                                            "allreduce",
                                            "reduce_scatter",
                                            "reduce_scatter_block",
                                            "scan",
                                            "exscan",
                                            "neighbor_allgather",
                                            "neighbor_allgatherv",
                                            "neighbor_alltoall",
                                            "neighbor_alltoallv",
                                            "neighbor_alltoallw",
                                            "communicator"};
static_assert(std::size(kCollectiveNames) == kCommunicator + 1);

}  // namespace

const char* name_of(ScheduleAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<size_t>(algorithm)];
}

const char* name_of_collective(uint8_t collective) {
  return collective < std::size(kCollectiveNames) ? kCollectiveNames[collective] : "?";
}

const std::vector<RuledCollective>& ruled_collectives() {
  using A = ScheduleAlgorithm;
  static const std::vector<RuledCollective> all = {
      {1, {A::kBinomial, A::kScatterDoubling, A::kScatterRing}},
      {6, {A::kDoubling, A::kBruck, A::kRing}},
      {7, {A::kDoubling, A::kBruck, A::kRing}},
      {8, {A::kBruck, A::kScattered, A::kPairwise}},
      {11, {A::kBinomial, A::kHalvingGather}},
      {12, {A::kDoubling, A::kHalvingDoubling}},
      {13, {A::kHalving, A::kPairwise}},
      {14, {A::kHalving, A::kPairwise}},
      {kCommunicator, {A::kDoubling, A::kLinear}}};
  return all;
}

const RuledCollective* find_ruled_collective(std::string_view name) {
  for (const RuledCollective& r : ruled_collectives())
    if (name == kCollectiveNames[r.collective]) return &r;
  return nullptr;
}

}  // namespace fgmpi::predict
