// What the files that create communicators share: acts, and provisional communicators for groups whose members
// do not include everybody of the parent.
// Thread rule: one thread.
#pragma once

#include "comm/comm.h"
#include "comm/context.h"
#include "comm/meeting.h"

namespace fgmpi::comm {

/// Codes of creations as meetings (meeting.h leaves those from kFirstOther on to others).
enum CreateOperation : uint8_t {
  kOpDup = kFirstOther + 16,
  kOpSplit,
  kOpCreate,
  kOpInterCreate,
  kOpInterMerge,
  kOpGather,
};

/// Arrival of a member in a creation; out is its new communicator or nullptr.
struct CreateArrival : Arrival {
  Comm* out = nullptr;
  std::optional<groupmap::Strategy> strategy;  ///< how to store an irregular map here
};

/// The state of the rank behind an arrival.
inline RankState* state_of(const SharedComm& shared, const Arrival& arrival) {
  return state_of_world(static_cast<uint32_t>(shared.map.world_of(arrival.rank)));
}
/// Reserves an LBI of the least-led arrival (ties: lowest world rank).
Candidate reserve_least(const SharedComm& shared, const Arrival* first);
/// Everybody gets the verdict.
void fail_all(Meeting* meeting, const Status& status);
/// Attaches each arrival with its rank in `ranks_of(arrival)`; hierarchy and topology are shared with `like` when given.
void attach_all(Meeting* meeting, const Recipe& recipe, const SharedComm* like);

/// The creation of a communicator of `group` by its members alone; collocated ones meet at `key`.
/// `parent` gives the error handler. May switch.
Status create_among(const AgreeKey& key, const RankMap& group, const Comm* parent, int32_t my_rank, const char* call,
                    Comm** out);
/// A sampled hash of a group: enough to tell apart what is under way at once.
uint64_t fingerprint(const RankMap& group);

/// As dup() without blocking: the request completes when *out is there; `extras` are the new communicator's (or
/// nullptr). Never switches.
Status idup(Comm* comm, MPI_Comm* out, std::unique_ptr<Extras> extras, const char* call, pt2pt::Request** request);

}  // namespace fgmpi::comm
