// Context ids <LID, LBI>: who leads, which index, when it may be used again.
//
//   leader      a rank: its lbi_next (never used yet), and a list of freed LBIs in its process,
//               which exists only where some are free
//   candidate   {times led, world rank, a reserved LBI}; the one that has led least wins, ties: the
//               lowest world rank
//
// An id is in use until every process of its communicator has dropped its shared part. The last
// collocated member's free sends one notice to the leader's process, which counts the notices. The
// leader's process stores nothing before the first notice, so a communicator costs its leader
// nothing while it lives. A candidate that did not win returns its LBI. LBI 0 of rank 0 is the
// world's, LBI 1 of a rank is its self's.
//
// Agreement between processes. The process of the group's rank 0 decides. Each other process sends
// it a claim: the key of the creation, its best candidate, and the claimant, a rank of its own that
// is in the creation now. Where the key counts the collectives of the parent, the key names one
// creation only. In MPI_Comm_create_group and the creations from groups the key does not: groups
// that overlap may be under way at once with the same tag and the same rank 0. Then the deciding
// process accepts the claims whose claimant is in its own group and leaves the others for a later
// creation. This is exact:
//
//   Let leader L be in the creation of G, and let the claim be of the creation of H, with claimant
//   w in G. Then w is in both groups, and so is L, as the key says that it is the leader of H too.
//   L has not completed H, since it would have accepted the claim then; w has not completed G,
//   since L is in it. So, if H is not the creation of G, then L called G before H, and w called H
//   before G: two ranks called two collectives in different orders. MPI does not allow that program
//   (MPI-4.0 section 6.14), and tags do not help, as both calls block.
//
// Several jobs. World ranks are each job's own, so no leader of one job is unique among the members
// of a communicator that spans several. The context id of such a communicator, and of all that are
// made from it, is drawn: bit 63 and 55 random bits from the kernel. A drawn id has no leader, and
// dropping it sends no notice. Candidates are drawn ids, the rest of the agreement is as above.
// make_shared() refuses an id that the process has already, which happens once in 2^55 / n for n
// communicators. Notices between jobs name a claimant by its rank in its own job, and a key's
// leader by a number that is the same everywhere (ProcessGroups::name_of).
//
// Members of one process agree in the same way (create.cc), where the first to arrive stands for L.
// Members that give different groups in one creation (an erroneous program) are found by comparing
// a sampled hash of the groups.
//
// Thread rule: one thread. agree() may switch, the rest never does.
// Source: HPDC'10 section 4 (<LID, LBI>, balanced leaders).
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "base/status.h"
#include "comm/comm.h"

namespace fgmpi::comm {

inline constexpr uint32_t kWorldLbi = 0, kSelfLbi = 1, kFirstLbi = 2;
/// LIDs that no rank has, for contexts that are not communicators.
inline constexpr uint32_t kNoLid = 0xffffffffu;

struct LeaderCandidate {
  uint32_t led = ~0u;  ///< communicators that this rank leads now
  uint32_t world = ~0u;
  uint32_t lbi = 0;  ///< the reserved LBI; 0: none was left
  bool valid() const { return lbi != 0; }
  /// Better than `other` as a leader.
  bool before(const LeaderCandidate& other) const {
    if (valid() != other.valid()) return valid();
    return led != other.led ? led < other.led : world < other.world;
  }
  ContextId id() const { return ContextId::make(world, lbi); }
  bool is_drawn() const { return id().is_drawn(); }
};
static_assert(sizeof(LeaderCandidate) == 12, "travels as it is");

/// The state of a rank of this process. REQUIRES: it has called MPI_Init.
RankState* state_of(uint32_t local);
inline RankState* state_of_world(uint32_t world) { return state_of(g_av.local_of(world)); }

/// Reserves an LBI of this rank and counts one communicator more as led by it. The result is
/// invalid when all 2^24 are in use.
LeaderCandidate reserve(RankState* rank);
/// Makes a candidate whose id is drawn, for communicators without a leader.
LeaderCandidate draw_candidate();
/// Returns 64 random bits; in an explored process they are the same in every
/// execution (comm/meeting_decider.h).
uint64_t random_bits();
/// The number of a rank in a key: its world rank; in a creation by members of several jobs, a
/// number that is the same in all jobs.
uint32_t leader_name(int32_t world, bool several_jobs);
/// Ensures that this id is not given to another communicator in this run, as notices about it may
/// come late.
void retire_id(ContextId id);
/// From now on (or no longer) an LBI that a communicator had is never given to another one: context
/// ids are names for the whole run. The setting in the leader's process counts.
void set_ids_unique(bool on);
/// Returns the LBI of a candidate to its rank of this process.
void unreserve(const LeaderCandidate& candidate);
/// Called after a decision: returns the LBI of `mine` unless its id was chosen.
inline void settle(const LeaderCandidate& mine, ContextId chosen) {
  if (mine.valid() && mine.id() != chosen) unreserve(mine);
}
/// The error for a group in which nobody has an LBI left.
Status none_left(const char* what);
/// The error for members that gave different groups.
Status groups_differ();

/// Ends this process's use of a context id whose communicator `processes` processes had.
void drop(ContextId id, uint32_t processes);

// ---- Agreement ----------------------------------------------------------------------------------
enum AgreeKind : uint16_t {
  kAgreeDup = 1,
  kAgreeCreate,
  kAgreeCreateGroup,
  kAgreeFromGroup,
  kAgreeInter,
  kAgreeMerge
};
/// The name of a creation between processes.
struct AgreeKey {
  uint64_t ctx = 0;     ///< parent's context id, or another name of 64 bits
  uint16_t kind = 0;    ///< AgreeKind
  uint16_t side = 0;    ///< intercommunicators: which side of it this end is
  uint32_t number = 0;  ///< number of the collective, or tag
  /// World rank of rank 0 (of side 0), where ctx and number alone do not name one creation.
  uint32_t leader = 0;
  uint32_t claimant = 0;  ///< global rank of a member of the claiming process; agree() sets it
  bool operator==(const AgreeKey&) const = default;
};
struct AgreeKeyHash {
  size_t operator()(const AgreeKey& k) const {
    return mix(mix(k.ctx, uint64_t{k.leader} << 32 | k.claimant),
               uint64_t{k.kind} << 48 | uint64_t{k.side} << 32 | k.number);
  }
};
/// The participants of an agreement: the processes of the group, and those of the other group of an
/// intercommunicator. A process that hosts members of both takes part twice.
struct Participants {
  uint32_t count = 0;
  uint32_t root = 0;  ///< process of rank 0 of side 0: it decides
  /// The groups of the sides, where the key alone does not identify the creation; else null.
  const RankMap* groups[2] = {nullptr, nullptr};
  uint64_t fingerprint = 0;  ///< hash of the groups, the same at all participants
  /// World rank of a member here, for a drawn candidate, which does not contain one.
  int32_t claimant = -1;
  const SharedComm* of = nullptr;  ///< the communicator, or what stands for it
};
/// The participants of a communicator.
Participants participants_of(SharedComm* shared);

/// Agrees on the best of all participants' candidates. Each participant sends its own to the root,
/// which answers everybody: two small notices a participant, no more. Settles `mine`; the rank in
/// it is the participant's claimant. May switch. Errors: MPI_ERR_OTHER when no index is left;
/// MPI_ERR_GROUP when participants gave different groups; that of broken.h. REQUIRES: called once
/// by each participant (key.side is the caller's side) with the same other arguments.
Status agree(const AgreeKey& key, const Participants& participants, const LeaderCandidate& mine,
             const char* call, ContextId* out);

/// Wakes all who wait in agree(), so that they check whether their group has lost a member
/// (broken.h). Never switches.
void wake_agreements();

/// Registers the notice handlers. Idempotent.
void init_context();

}  // namespace fgmpi::comm
