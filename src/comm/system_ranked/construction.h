// Constructions under way in this process: its vertex (process grain), carried by notices between
// processes.
//
//   notice   kind, algorithm, more follows | k (upward messages) | number of the collective | part of the message
//            context: the parent's id
//
// A message longer than a notice goes in several, which keep their order. What comes before this
// process has entered the construction waits. Intermediaries (vertex.h) answer for constructions
// that this process has left or is no part of, so a parent may be freed as soon as its members have
// their places.
//
// All processes give the same options. A vertex that hears of others fails before it reports to its
// parent, so nobody has got a place yet; the collective then fails in every process that is still
// in it (coll/failure.h), each with the error that names both, and what comes for it later is
// dropped.
//
// Thread rule: one thread.
#pragma once

#include <vector>

#include "comm/system_ranked/vertex.h"

namespace fgmpi::comm::system_ranked {

/// Which one: the context id of the parent (with the side), and the number of the collective on it.
struct ConstructionKey {
  uint64_t parent = 0;
  uint32_t number = 0;  ///< below 2^24, as in the tags of collectives
  auto operator<=>(const ConstructionKey&) const = default;
};

/// Takes part until this process has all its places, one for each enrolment, or the construction
/// has failed. May switch. REQUIRES: init_constructions() was called; every process of the parent
/// does so with the same key and options.
Status construct(const ConstructionKey& key, const Options& options, ParentPlace where,
                 std::vector<Enrolment> mine, const char* call, std::vector<Place>* places);

/// The error of two members, or processes, that give other options. Their names: "rank 3", "process
/// 1".
Status options_differ(const std::string& one, const Options& his, const std::string& other,
                      const Options& its);

/// Registers the notice handler. Idempotent.
void init_constructions();

/// Ends a construction in this process with an error, whether it is in it or has yet to begin it.
/// Never switches.
void fail_construction(const ConstructionKey& key, const Status& status);
/// Why a construction has failed before this process begins it, or ok: asked of the layer that
/// tells of failures.
void set_failure_source(Status (*failure_of)(const ConstructionKey& key));

/// What this process has sent for constructions: reports and tests.
struct ConstructionCounts {
  uint64_t messages = 0, bytes = 0;
};
const ConstructionCounts& construction_counts();

}  // namespace fgmpi::comm::system_ranked
