// Context ids <LID, LBI>: who leads, which index, when it may be used again.
//
//   a rank as leader:  lbi_next (never used yet) + a list of freed LBIs in the process, only where
//   there are any
//   a candidate:       {times led, world rank, a reserved LBI}; the least-led of all wins, ties:
//                      lowest rank
//
// An id is in use until every process of its communicator has dropped its part: the last collocated
// member's free sends one notice to the leader's process, which counts them. Nothing is kept there
// before the first notice, so a communicator costs its leader nothing while it lives.
// A candidate that did not win returns its LBI. LBI 0 of rank 0 is the world's, LBI 1 of a rank its
// self's.
//
// Agreement between processes. The process of the group's rank 0 decides. Each other process sends
// it a claim: the key of the creation, its best candidate, and the claimant, a rank of its own that
// is in the creation now. Where the key counts the collectives of the parent, it names one creation
// only. In MPI_Comm_create_group and the creations from groups it does not: groups that overlap may
// be under way at once with the same tag and the same rank 0. Then the deciding process takes the
// claims whose claimant is in its own group and leaves the others for a later creation. That is
// exact:
//
//   Let leader L be in the creation of G, and let the claim be of the creation of H, with claimant
//   w in G. Then w is in both groups, and so is L, as the key says that it is the leader of H too.
//   L has not completed H, since the claim would have been taken by that; w has not completed G,
//   since L is in it. So, if H is not the creation of G, then L called G before H, and w called H
//   before G: two ranks called two collectives in different orders, a program that MPI does not
//   allow (MPI-4.0 section 6.14), and tags do not help, as both calls block.
//
// Several jobs. World ranks are each job's own, so no leader of one job is unique among the members
// of a communicator that spans several. The context id of such a communicator, and of all that are
// made from it, is drawn: bit 63 and 55 random bits of the kernel's. Nobody leads it and nobody is
// told when it is dropped. Candidates are drawn ids, the rest of the agreement is as above;
// establish() refuses an id that the process has already, once in 2^55 / n for n communicators.
// Notices between jobs name a claimant by its rank in its own job, and a key's leader by a number
// that is the same everywhere (ProcessGroups::name_of).
//
// The same holds among the members of one process (create.cc), where the first to arrive stands for
// L. Members that give different groups in one creation (an erroneous program) are found by
// comparing a sampled hash of the groups.
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
/// LIDs that no rank has: contexts that are not communicators.
inline constexpr uint32_t kNoLid = 0xffffffffu;

struct Candidate {
  uint32_t led = ~0u;  ///< communicators that it leads now
  uint32_t world = ~0u;
  uint32_t lbi = 0;  ///< reserved; 0: none was left
  bool valid() const { return lbi != 0; }
  /// Better than `other` as a leader.
  bool before(const Candidate& other) const {
    if (valid() != other.valid()) return valid();
    return led != other.led ? led < other.led : world < other.world;
  }
  ContextId id() const { return ContextId::make(world, lbi); }
  bool is_drawn() const { return id().is_drawn(); }
};
static_assert(sizeof(Candidate) == 12, "travels as it is");

/// The state of a rank of this process. REQUIRES: it has called MPI_Init.
RankState* state_of(uint32_t local);
inline RankState* state_of_world(uint32_t world) { return state_of(g_av.local_of(world)); }

/// Takes an LBI of this rank and counts it as led. Invalid when all 2^24 are in use.
Candidate reserve(RankState* rank);
/// A drawn id in the place of a leader's.
Candidate draw_candidate();
/// 64 random bits; in an explored process the same in every execution (pt2pt/decider.h).
uint64_t random_bits();
/// The number of a rank in a key: its world rank, or, in a creation of members of several jobs, one
/// that is the same in all.
uint32_t leader_name(int32_t world, bool several_jobs);
/// This id is not given to another communicator in this run: notices about it may come late.
void retire_id(ContextId id);
/// From now on (or no longer) an LBI that a communicator had is never given to another one: context
/// ids are names for the whole run. The setting of the leader's process counts.
void keep_ids_unique(bool on);
/// Returns the LBI of a candidate of this process.
void unreserve(const Candidate& candidate);
/// After a decision: keeps what was chosen, returns what was not.
inline void settle(const Candidate& mine, ContextId chosen) {
  if (mine.valid() && mine.id() != chosen) unreserve(mine);
}
/// The error for a group in which nobody has an LBI left.
Status none_left(const char* what);
/// The error for members that gave different groups.
Status groups_differ();

/// This process has dropped its part of a communicator that `processes` processes had.
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
/// What a creation is called between processes.
struct AgreeKey {
  uint64_t ctx = 0;     ///< parent's context id, or another name of 64 bits
  uint16_t kind = 0;    ///< AgreeKind
  uint16_t side = 0;    ///< intercommunicators: which side of it this end is
  uint32_t number = 0;  ///< collective number or tag
  /// World rank of rank 0 (of side 0), where ctx and number are not the creation's own.
  uint32_t leader = 0;
  uint32_t claimant = 0;  ///< set by agree(): global rank of a member of the claiming process
  bool operator==(const AgreeKey&) const = default;
};
struct AgreeKeyHash {
  size_t operator()(const AgreeKey& k) const {
    return mix(mix(k.ctx, uint64_t{k.leader} << 32 | k.claimant),
               uint64_t{k.kind} << 48 | uint64_t{k.side} << 32 | k.number);
  }
};
/// Who takes part: the processes of the group, and those of the other group of an
/// intercommunicator. A process that hosts members of both takes part twice.
struct Participants {
  uint32_t count = 0;
  uint32_t root = 0;  ///< process of rank 0 of side 0: it decides
  /// The groups of the sides, where the key alone does not tell the creation; else null.
  const RankMap* groups[2] = {nullptr, nullptr};
  uint64_t fingerprint = 0;  ///< fingerprint of the groups, the same at all participants
  int32_t claimant = -1;  ///< world rank of a member here; of a drawn candidate, which names none
  const SharedComm* of = nullptr;  ///< the communicator, or what stands for it
};
/// The participants of a communicator.
Participants participants_of(SharedComm* shared);

/// They agree on the best of their candidates: each sends its own to the root, which answers
/// everybody: two small notices a participant, no more. Settles `mine`, whose rank is the
/// participant's claimant. May switch. Errors: MPI_ERR_OTHER when no index is left; MPI_ERR_GROUP
/// when participants gave different groups; that of broken.h. REQUIRES: called once by each
/// participant (key.side says which side the caller is) with the same other arguments.
Status agree(const AgreeKey& key, const Participants& participants, const Candidate& mine,
             const char* call, ContextId* out);

/// Who waits in agree() looks whether its group is whole still (broken.h). Never switches.
void wake_agreements();

/// Registers the notice handlers. Idempotent.
void init_context();

}  // namespace fgmpi::comm
