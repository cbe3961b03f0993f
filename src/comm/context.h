// Context ids <LID, LBI>: who leads, which index, when it may be used again.
//
//   a rank as leader:  lbi_next (never used yet) + a list of freed LBIs in the process, only where there are any
//   a candidate:       {times led, world rank, a reserved LBI}; the least-led of all wins, ties: lowest rank
//
// An id is in use until every process of its communicator has dropped its part: the last collocated member's
// free sends one notice to the leader's process, which counts them. Nothing is kept there before the
// first notice, so a communicator costs its leader nothing while it lives.
// A candidate that did not win returns its LBI. LBI 0 of rank 0 is the world's, LBI 1 of a rank its self's.
//
// Thread rule: one thread. agree() may switch, the rest never does.
// Source: HPDC'10 section 4 (<LID, LBI>, balanced leaders).
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "comm/comm.h"

namespace fgmpi::comm {

inline constexpr uint32_t kWorldLbi = 0, kSelfLbi = 1, kFirstLbi = 2;
/// LIDs that no rank has: contexts that are not communicators.
inline constexpr uint32_t kNoLid = 0xffffffffu;

struct Candidate {
  uint32_t led = ~0u;    ///< communicators that it leads now
  uint32_t world = ~0u;
  uint32_t lbi = 0;      ///< reserved; 0: none was left
  bool valid() const { return lbi != 0; }
  /// Better than `other` as a leader.
  bool before(const Candidate& other) const {
    if (valid() != other.valid()) return valid();
    return led != other.led ? led < other.led : world < other.world;
  }
  ContextId id() const { return ContextId::make(world, lbi); }
};
static_assert(sizeof(Candidate) == 12, "travels as it is");

/// The state of a rank of this process. REQUIRES: it has called MPI_Init.
RankState* state_of(uint32_t local);
inline RankState* state_of_world(uint32_t world) { return state_of(world - g_av.my_first()); }

/// Takes an LBI of this rank and counts it as led. Invalid when all 2^24 are in use.
Candidate reserve(RankState* rank);
/// Returns the LBI of a candidate of this process.
void unreserve(const Candidate& candidate);
/// After a decision: keeps what was chosen, returns what was not.
inline void settle(const Candidate& mine, ContextId chosen) {
  if (mine.valid() && mine.id() != chosen) unreserve(mine);
}
/// The error for a group in which nobody has an LBI left.
Status none_left(const char* what);

/// This process has dropped its part of a communicator that `processes` processes had.
void drop(ContextId id, uint32_t processes);

// ---- Agreement -----------------------------------------------------------------------------------------
enum AgreeKind : uint16_t { kAgreeDup = 1, kAgreeCreate, kAgreeCreateGroup, kAgreeFromGroup, kAgreeInter };
/// What identifies a creation among all that may be under way: never two at once with the same key.
struct AgreeKey {
  uint64_t ctx = 0;     ///< parent's context id, or another name of 64 bits
  uint16_t kind = 0;    ///< AgreeKind
  uint16_t side = 0;    ///< intercommunicators: which side of it this end is
  uint32_t number = 0;  ///< collective number or tag
  uint64_t print = 0;   ///< fingerprint of the group where ctx and number do not tell
  bool operator==(const AgreeKey&) const = default;
};
/// Who takes part: the processes of the group, and those of the other group of an intercommunicator. A process that
/// hosts members of both takes part twice.
struct Parties {
  std::span<const uint32_t> sides[2];
  uint32_t root = 0;  ///< process of rank 0 of side 0: it decides
  uint32_t count() const { return static_cast<uint32_t>(sides[0].size() + sides[1].size()); }
};
/// The parties of a communicator.
Parties parties_of(SharedComm* shared);

/// They agree on the best of their candidates: each sends its own to the root, which answers everybody: two small
/// notices a party, no more. Settles `mine`. May switch.
/// REQUIRES: called once by each party (key.side says which side the caller is) with the same other arguments.
Status agree(const AgreeKey& key, const Parties& parties, const Candidate& mine, const char* call, ContextId* out);

/// Registers the notice handlers. Idempotent.
void init_context();

/// How many context ids led here wait for notices, and freed LBIs kept: tests.
struct ContextCounts {
  size_t counting = 0, free_lbis = 0;
};
ContextCounts context_counts();

}  // namespace fgmpi::comm
