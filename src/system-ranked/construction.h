// Constructions that are under way in this process: its vertex (process grain), and the notices
// that carry messages between processes.
//
//   notice   kind, algorithm, more follows | k (upward messages) | number of the collective |
//            fragment of the message
//            context: the parent's id
//
// A message longer than a notice is sent in several, which arrive in order. A message that arrives
// before this process has entered the construction waits. Intermediaries (vertex.h) answer also for
// constructions that this process has left or is not in, so a parent may be freed as soon as its
// members have their places.
//
// All processes must give the same options. A vertex that receives a message with other options
// fails before it reports to its parent, so no vertex has got a place yet. The collective then
// fails in every process that is still in it (coll/failure.h), each with the error that names both
// options. Messages that arrive for it later are dropped.
//
// Thread rule: one thread.
#pragma once

#include <vector>

#include "system-ranked/vertex.h"

namespace fgmpi::system_ranked {

/// A construction's name: the context id of the parent (with the side), and the number of the
/// collective on it.
struct ConstructionKey {
  uint64_t parent = 0;
  uint32_t number = 0;  ///< below 2^24, as in the tags of collectives
  auto operator<=>(const ConstructionKey&) const = default;
};

/// Runs this process's vertex until it has all its places, one for each enrolment, or the
/// construction has failed. May switch. REQUIRES: init_constructions() was called; every process of
/// the parent calls with the same key and options.
Status construct(const ConstructionKey& key, const SplitOptions& options, ParentPlace where,
                 std::vector<Enrolment> mine, const char* call, std::vector<TreePosition>* places);

/// The error of two members, or processes, that give different options. `one` and `other` name
/// them: "rank 3", "process 1".
Status options_differ(const std::string& one, const SplitOptions& his, const std::string& other,
                      const SplitOptions& its);

/// Registers the notice handler. Idempotent.
void init_constructions();

/// Ends a construction with an error, whether this process is in it or has yet to begin it.
/// Never switches.
void fail_construction(const ConstructionKey& key, const Status& status);
/// Sets the function that returns why a construction has failed before this process begins it, or
/// ok. The layer that announces failures provides it.
void set_failure_source(Status (*failure_of)(const ConstructionKey& key));

/// Messages that this process has sent for constructions, for reports and tests.
struct ConstructionCounts {
  uint64_t messages = 0, bytes = 0;
};
const ConstructionCounts& construction_counts();

}  // namespace fgmpi::system_ranked
