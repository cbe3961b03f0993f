// What the files that create communicators share: actions, and provisional communicators for groups
// whose members do not include everybody of the parent.
// Thread rule: one thread.
#pragma once

#include "comm/comm.h"
#include "comm/context.h"
#include "comm/meeting.h"

#include <vector>

namespace fgmpi::comm {

/// Operation codes of creations at their meetings (meeting.h leaves those from kFirstOther on
/// to others).
enum CreateOperation : uint8_t {
  kOpDup = kFirstOther + 16,
  kOpIdup,
  kOpSplit,
  kOpPermute,
  kOpCreate,
  kOpInterCreate,
  kOpInterMerge,
  kOpGather,
  kOpConnect,  ///< with another job (src/dynamic)
};

/// The arrival of a member in a creation; `out` is its new communicator or nullptr.
struct CreateArrival : Arrival {
  Comm* out = nullptr;
};

/// The state of the rank behind an arrival.
inline RankState* state_of(const SharedComm& shared, const Arrival& arrival) {
  return state_of_world(static_cast<uint32_t>(shared.map.world_of(arrival.rank)));
}
/// Reserves an LBI of the arrival that leads least (ties: lowest world rank). Draws an id instead
/// where the new communicator has members of several jobs, or its parent's id is drawn.
LeaderCandidate reserve_least(const SharedComm& shared, const Arrival* first, bool drawn = false);
/// World rank of the first arrival, the claimant of a process that has drawn its candidate.
inline int32_t claimant_of(const SharedComm& shared, const Arrival* first) {
  return shared.map.world_of(first->rank);
}
/// True if the members of this group, or of these two together, belong to several jobs.
bool several_jobs(const RankMap& group, const RankMap* other = nullptr);
/// The side of an intercommunicator that `local` is: 0 if its first member comes before the remote
/// group's.
uint8_t side_of(const RankMap& local, const RankMap& remote);
/// Gives this status to all members.
void fail_all(Meeting* meeting, const Status& status);
/// Makes the Comm of each arrival in `made`, with the arrival's rank plus `shift`.
void enter_all(Meeting* meeting, SharedComm* made, int32_t shift);

/// Steps of a creation between processes. Each has its own tag, and so has each side of
/// an intercommunicator.
enum CreateStep : int32_t { kStepGather, kStepAnswer, kStepExchange, kStepSpread };
inline int32_t tag_of(const SharedComm& shared, uint32_t number, CreateStep step) {
  return static_cast<int32_t>((number & 0xfffffff) << 3) | shared.side << 2 | step;
}
/// Swaps messages between the two processes that host rank 0 of a side of an intercommunicator.
/// Only these two call it. May switch.
Status exchange_with_other_side(const SharedComm& shared, uint32_t number,
                                const std::vector<uint8_t>& mine, std::vector<uint8_t>* theirs,
                                const char* call);
/// Sends the same bytes to all processes of the group, from the one at `root_index` of its
/// hierarchy. May switch.
Status send_to_processes(SharedComm* shared, uint32_t root_index, int32_t tag,
                         std::vector<uint8_t>* bytes, const char* call);

/// Creates a communicator of `group` by its members alone; collocated ones meet at `key`. `parent`
/// gives the error handler. May switch.
Status create_among(const AgreeKey& key, const RankMap& group, const RankMap* remote,
                    const Comm* parent, int32_t my_rank, const char* call, Comm** out);
/// Arguments of MPI_Intercomm_create. All functions on intercommunicators (intercomm.cc)
/// may switch.
struct InterArguments {
  int32_t local_leader = 0;
  const Comm* peer = nullptr;  ///< significant at the leader
  int32_t remote_leader = 0;
  int32_t tag = 0;
};
Status intercomm_create(Comm* local, const InterArguments& arguments, Comm** out);
Status intercomm_merge(Comm* inter, bool high, Comm** out);
/// Creates a communicator from a group alone (sessions): `name` is the hash of the string tag.
Status create_from_group(const RankMap& group, uint64_t name, Comm** out);
Status intercomm_from_groups(const RankMap& local, const RankMap& remote, uint64_t name,
                             Comm** out);
/// A sampled hash of a group, or of the two groups of an intercommunicator (the same at both
/// sides). Differing hashes show that members gave different groups.
uint64_t fingerprint_of(const RankMap& group, const RankMap* other = nullptr);

/// Duplicates a communicator as dup() does, for actions of meetings whose members come to make an
/// object with a communicator of its own. Each member's duplicate is in CreateArrival::out, or in
/// Arrival::status the error of a member that could not have it. May switch.
Status dup_for_all(SharedComm* shared, Meeting* meeting, SharedComm** made);

/// Ends the creations that members of this process wait to begin, where the group has lost a member
/// or the parent was revoked (broken.h). Never switches.
void break_creations();

/// As dup() without blocking: the request completes when *out is set. `extras` become the new
/// communicator's (nullptr: none). Never switches.
Status idup(Comm* comm, MPI_Comm* out, std::unique_ptr<Extras> extras, const char* call,
            pt2pt::Request** request);
/// Sets a tool's function for the communicators of idup(). Its arguments: `out` of idup(), the new
/// handle, the two numbers of the context id. nullptr: none.
void set_tool_copy(void (*copy)(const MPI_Comm* out, MPI_Comm made, int leader, int index));

}  // namespace fgmpi::comm
