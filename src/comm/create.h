// What the files that create communicators share: acts, and provisional communicators for groups
// whose members do not include everybody of the parent.
// Thread rule: one thread.
#pragma once

#include "comm/comm.h"
#include "comm/context.h"
#include "comm/meeting.h"

#include <vector>

namespace fgmpi::comm {

/// Codes of creations as meetings (meeting.h leaves those from kFirstOther on to others).
enum CreateOperation : uint8_t {
  kOpDup = kFirstOther + 16,
  kOpIdup,
  kOpSplit,
  kOpPermute,
  kOpCreate,
  kOpInterCreate,
  kOpInterMerge,
  kOpGather,
  kOpSystemRanked,
  kOpSystemRankedNonblocking,
  kOpConnect,  ///< with another job (src/dynamic)
};

/// Arrival of a member in a creation; out is its new communicator or nullptr.
struct CreateArrival : Arrival {
  Comm* out = nullptr;
};

/// The state of the rank behind an arrival.
inline RankState* state_of(const SharedComm& shared, const Arrival& arrival) {
  return state_of_world(static_cast<uint32_t>(shared.map.world_of(arrival.rank)));
}
/// Reserves an LBI of the least-led arrival (ties: lowest world rank), or draws an id: where the
/// new communicator has members of several jobs, or its parent's id is drawn.
Candidate reserve_least(const SharedComm& shared, const Arrival* first, bool drawn = false);
/// World rank of the first arrival: the claimant of a process that has drawn its candidate.
inline int32_t claimant_of(const SharedComm& shared, const Arrival* first) {
  return shared.map.world_of(first->rank);
}
/// Is this group, or are these two together, of several jobs?
bool several_jobs(const RankMap& group, const RankMap* other = nullptr);
/// The side of an intercommunicator that `local` is: 0 if its first member comes before the remote
/// group's.
uint8_t side_of(const RankMap& local, const RankMap& remote);
/// Gives this status to all members.
void fail_all(Meeting* meeting, const Status& status);
/// Each arrival takes its share of `made`, `shift` past its rank.
void enter_all(Meeting* meeting, SharedComm* made, int32_t shift);

/// Steps of a creation between processes; each has its own tag (an intercommunicator's sides too).
enum CreateStep : int32_t { kStepGather, kStepAnswer, kStepExchange, kStepSpread };
inline int32_t tag_of(const SharedComm& shared, uint32_t number, CreateStep step) {
  return static_cast<int32_t>((number & 0xfffffff) << 3) | shared.side << 2 | step;
}
/// Rank 0's processes of the two sides of an intercommunicator swap messages. Called in the process
/// of rank 0 of each side. May switch.
Status exchange_with_other_side(const SharedComm& shared, uint32_t number,
                                const std::vector<uint8_t>& mine, std::vector<uint8_t>* theirs,
                                const char* call);
/// The same bytes to all processes of the group, from the one at `root_index` of its hierarchy. May
/// switch.
Status spread(SharedComm* shared, uint32_t root_index, int32_t tag, std::vector<uint8_t>* bytes,
              const char* call);

/// The creation of a communicator of `group` by its members alone; collocated ones meet at `key`.
/// `parent` gives the error handler. May switch.
Status create_among(const AgreeKey& key, const RankMap& group, const RankMap* remote,
                    const Comm* parent, int32_t my_rank, const char* call, Comm** out);
/// Intercommunicators (intercomm.cc). All may switch.
struct InterArguments {
  int32_t local_leader = 0;
  const Comm* peer = nullptr;  ///< significant at the leader
  int32_t remote_leader = 0;
  int32_t tag = 0;
};
Status intercomm_create(Comm* local, const InterArguments& arguments, Comm** out);
Status intercomm_merge(Comm* inter, bool high, Comm** out);
/// From groups alone (sessions): `name` is the hash of the string tag.
Status create_from_group(const RankMap& group, uint64_t name, Comm** out);
Status intercomm_from_groups(const RankMap& local, const RankMap& remote, uint64_t name,
                             Comm** out);
/// A sampled hash of a group, or of the two of an intercommunicator (the same at both sides): finds
/// members that gave different groups.
uint64_t fingerprint_of(const RankMap& group, const RankMap* other = nullptr);

/// For actions of meetings whose members come to make something with a communicator of its own: a
/// duplicate, as dup() makes it, and each member's in CreateArrival::out, or the error of one that
/// could not have it in Arrival::status. May switch.
Status dup_for_all(SharedComm* shared, Meeting* meeting, SharedComm** made);

/// Ends the creations that members of this process wait to begin, of groups that have lost a member
/// and of parents that were revoked (broken.h). Never switches.
void break_creations();

/// As dup() without blocking: the request completes when *out is there; `extras` are the new
/// communicator's (or nullptr). Never switches.
Status idup(Comm* comm, MPI_Comm* out, std::unique_ptr<Extras> extras, const char* call,
            pt2pt::Request** request);
/// A tool's function for the communicators of idup(): its `out`, the handle, the communicator's
/// key. nullptr: none.
void set_tool_copy(void (*copy)(const MPI_Comm* out, MPI_Comm made, int leader, int index));

}  // namespace fgmpi::comm
