// Constructions under way in this process: its vertex (process grain), carried by notices between processes.
//
//   notice   number of the collective | algorithm | k | more follows | part of a message        context: the parent's id
//
// A message longer than a notice goes in several, which keep their order. What comes before this process has entered the
// construction waits. Intermediaries (vertex.h) answer for constructions that this process has left or is no part of,
// so a parent may be freed as soon as its members have their places.
// Thread rule: one thread. Invariant: all processes give the same options; who does not gets an error that names both.
#pragma once

#include <vector>

#include "comm/system_ranked/vertex.h"

namespace fgmpi::comm::system_ranked {

/// Which one: the context id of the parent (with the side), and the number of the collective on it.
struct ConstructionKey {
  uint64_t parent = 0;
  uint32_t number = 0;
  auto operator<=>(const ConstructionKey&) const = default;
};

/// Takes part until this process has all its places, one for each enrolment. May switch.
/// REQUIRES: init_constructions() was called; every process of the parent does so with the same key and options.
Status construct(const ConstructionKey& key, const Options& options, ParentPlace where,
                 std::vector<Enrolment> mine, const char* call, std::vector<Place>* places);

/// Registers the notice handler. Idempotent.
void init_constructions();

/// What this process has sent for constructions: reports and tests.
struct ConstructionCounts {
  uint64_t messages = 0, bytes = 0;
};
const ConstructionCounts& construction_counts();

}  // namespace fgmpi::comm::system_ranked
