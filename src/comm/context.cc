// Context ids: leaders and their indices, claims of processes, decisions, and the return
// of indices.

#include "comm/context.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "ch4-av-rankmap/process_groups.h"
#include "comm/broken.h"
#include "comm/hierarchy.h"
#include "comm/meeting_decider.h"
#include "pt2pt/pt2pt.h"
#include "transport/random.h"

namespace fgmpi::comm {
namespace {

struct FreedNotice {
  uint64_t id;
  uint32_t processes;
};

struct AgreeNotice {
  AgreeKey key;
  uint64_t answer;            ///< context id; 0: this is a claim
  uint64_t fingerprint;       ///< of the groups' members
  LeaderCandidate candidate;  ///< the best of the claiming process
  /// 0: the claimant is a rank of the job of the claiming process. Else:
  /// ProcessGroups::short_name() of a group of ranks that were spawned as proclets; the claimant
  /// belongs to it.
  uint32_t group = 0;
};

/// A creation that the root is in now, with the claims that it has accepted.
struct Deciding {
  const Participants& participants;
  std::vector<AgreeNotice> taken = {};
  sched::Proclet* waiter = nullptr;
  bool is_mine(const AgreeNotice& claim) const {
    const RankMap* group = participants.groups[claim.key.side];
    return !group || group->rank_of(static_cast<int32_t>(claim.key.claimant)) >= 0;
  }
  bool done() const { return taken.size() + 1 == participants.count; }
};

/// The state of a creation's key at the root; the key has side 0.
struct Claims {
  std::vector<AgreeNotice> early;  ///< claims of creations that the leader is not in yet
  Deciding* deciding = nullptr;
};

/// A participant that waits for the root's answer.
struct AnswerWaiter {
  ContextId answer;
  sched::Proclet* waiter = nullptr;
};

std::unordered_map<uint32_t, std::vector<uint32_t>> g_free_lbis;  // by local index of the leader
std::unordered_map<uint64_t, uint32_t> g_dropped;                 // context id -> notices received
std::unordered_map<AgreeKey, Claims, AgreeKeyHash> g_claims;
std::unordered_map<AgreeKey, AnswerWaiter*, AgreeKeyHash> g_waiting;

bool g_ids_unique = false;
std::unordered_set<uint64_t> g_retired;

/// Returns an LBI to its leader. `used`: a communicator had it.
void release_lbi(uint32_t world, uint32_t lbi, bool used) {
  uint32_t local = world - g_av.my_first();
  RankState* rank = state_of(local);
  if (!rank) return;
  --rank->led;
  if (used && (g_ids_unique || g_retired.count(ContextId::make(world, lbi).bits))) return;
  if (lbi + 1 == rank->lbi_next)
    --rank->lbi_next;
  else
    g_free_lbis[local].push_back(lbi);
}

/// True for an index that this rank may have reserved, and that has not been returned at the end of
/// its range.
bool is_led(uint32_t local, uint32_t lbi) {
  const RankState* rank = state_of(local);
  return !rank || (lbi >= kFirstLbi && lbi < rank->lbi_next);
}

void count_drop(ContextId id, uint32_t processes) {
  if (processes > 1) {
    auto [it, fresh] = g_dropped.try_emplace(id.bits, 0);
    if (++it->second < processes) return;
    g_dropped.erase(it);
  }
  release_lbi(id.lid(), id.lbi(), true);
}

void on_freed(uint32_t, uint64_t, const void* data, size_t bytes) {
  FreedNotice notice;
  if (bytes != sizeof notice) return pt2pt::refuse_notice();
  std::memcpy(&notice, data, sizeof notice);
  const ContextId id{notice.id};
  uint32_t local;
  if (!g_av.is_mine(id.lid(), &local) || !is_led(local, id.lbi())) return pt2pt::refuse_notice();
  count_drop(id, notice.processes);
}

void wake(sched::Proclet** waiter) {
  if (*waiter) sched::ready(std::exchange(*waiter, nullptr));
}

/// Checks that every number in a notice from another process is possible. An answer must
/// belong to a claim that waits. The claimant of a claim must live in the sending process, and
/// be its candidate.
bool is_possible(const AgreeNotice& notice, uint32_t from) {
  const AgreeKey& key = notice.key;
  if (key.side > 1 || key.claimant >= g_av.all_ranks()) return false;
  if (notice.answer) return g_waiting.count(key) > 0;
  const LeaderCandidate& c = notice.candidate;
  const bool named = c.valid() && c.is_drawn() ? true : c.world == key.claimant;
  return g_av.process_of(key.claimant) == from && named &&
         (!c.valid() || (c.lbi >= kFirstLbi && c.lbi <= kMaxLbi));
}

/// Translates the claimant's rank into this process's numbers. The claim of another job's process
/// names a rank of its own job; an answer names one of ours, as our claim did.
bool translate_arrived(AgreeNotice* notice, uint32_t from) {
  if (notice->group) {
    const uint32_t pgid = g_process_groups.find_short_name(notice->group);
    if (pgid == ProcessGroups::kNone || notice->key.claimant >= g_process_groups.ranks(pgid))
      return false;
    notice->key.claimant += g_process_groups.first_rank(pgid);
    notice->group = 0;
    return true;
  }
  if (notice->answer || from < g_av.processes()) return true;
  const uint32_t pgid = g_process_groups.group_of_process(from);
  if (pgid == ProcessGroups::kNone || notice->key.claimant >= g_process_groups.ranks(pgid))
    return false;
  notice->key.claimant += g_process_groups.first_rank(pgid);
  return true;
}

/// Processes a notice. REQUIRES: is_possible().
void take(const AgreeNotice& notice) {
  if (notice.answer) {
    AnswerWaiter& waiting = *g_waiting.find(notice.key)->second;
    waiting.answer = {notice.answer};
    return wake(&waiting.waiter);
  }
  AgreeKey key = notice.key;
  key.side = 0;
  key.claimant = 0;
  Claims& claims = g_claims[key];
  if (!claims.deciding || !claims.deciding->is_mine(notice)) {
    // A claimant is in one creation at a time, so an earlier claim of it belongs to a creation that
    // has failed.
    std::erase_if(claims.early, [&](const AgreeNotice& n) { return n.key == notice.key; });
    return claims.early.push_back(notice);
  }
  claims.deciding->taken.push_back(notice);
  if (claims.deciding->done()) wake(&claims.deciding->waiter);
}

void on_agree(uint32_t from, uint64_t, const void* data, size_t bytes) {
  AgreeNotice notice;
  if (bytes != sizeof notice) return pt2pt::refuse_notice();
  std::memcpy(&notice, data, sizeof notice);
  if (!translate_arrived(&notice, from) || !is_possible(notice, from))
    return pt2pt::refuse_notice();
  take(notice);
}

/// Sends a notice to a process, which may be this one.
void post(uint32_t process, AgreeNotice notice) {
  if (process == g_av.me()) return take(notice);
  if (notice.key.claimant >= g_av.world_size()) {
    const GroupRank g = g_process_groups.find_rank(static_cast<int32_t>(notice.key.claimant));
    notice.key.claimant = g.lpid;
    if (g_process_groups.hosted(g.pgid)) notice.group = g_process_groups.short_name(g.pgid);
  }
  pt2pt::notify(process, pt2pt::kNoticeAgree, notice.key.ctx, &notice, sizeof notice);
}

void describe(const sched::WaitSite*, std::string* out) {
  *out += "agreeing with other processes on a new communicator";
}

template <class Done>
void wait_for(sched::Proclet** waiter, const char* call, Done done) {
  sched::WaitSite site{call, describe, true};
  while (!done()) {
    *waiter = sched::current();
    sched::park(&site);
  }
}

// Answers that are not context ids.
constexpr uint64_t kNoneLeft = ~uint64_t{0}, kGroupsDiffer = kNoneLeft - 1, kBroken = kNoneLeft - 2;

/// The error of a creation whose group has lost a member, or whose parent was revoked.
Status broken_creation(const AgreeKey& key, const Participants& participants) {
  const SharedComm* parent = find_shared({key.ctx}, 0);
  if (is_revoked({key.ctx}) && parent) return broken_status(*parent);
  if (participants.of && has_lost_member(*participants.of))
    return group_has_failed(participants.of->map, participants.of->remote.get());
  return {};
}

/// The root's side of an agreement: accepts the claims of its creation, decides, answers everybody.
uint64_t decide(const AgreeKey& key, const Participants& participants, const LeaderCandidate& mine,
                const char* call) {
  Deciding deciding{participants};
  Claims& claims = g_claims[key];
  claims.deciding = &deciding;
  auto others =
      std::stable_partition(claims.early.begin(), claims.early.end(),
                            [&](const AgreeNotice& claim) { return !deciding.is_mine(claim); });
  deciding.taken.assign(others, claims.early.end());
  claims.early.erase(others, claims.early.end());
  wait_for(&deciding.waiter, call,
           [&] { return deciding.done() || !broken_creation(key, participants).ok(); });
  // Claims that come from here on belong to later creations.
  claims.deciding = nullptr;
  if (claims.early.empty()) g_claims.erase(key);
  if (!deciding.done()) return kBroken;
  LeaderCandidate best = mine;
  bool differ = false;
  for (const AgreeNotice& claim : deciding.taken) {
    if (claim.candidate.before(best)) best = claim.candidate;
    differ |= claim.fingerprint != participants.fingerprint;
  }
  uint64_t answer = differ ? kGroupsDiffer : best.valid() ? best.id().bits : kNoneLeft;
  for (AgreeNotice& claim : deciding.taken) {
    claim.answer = answer;
    post(g_av.process_of(claim.key.claimant), claim);
  }
  return answer;
}

/// The side of every other participant: sends its claim and waits for the answer.
uint64_t claim(AgreeKey key, const Participants& participants, const LeaderCandidate& mine,
               const char* call) {
  key.claimant = mine.is_drawn() ? static_cast<uint32_t>(participants.claimant) : mine.world;
  AnswerWaiter waiting;
  bool fresh = g_waiting.emplace(key, &waiting).second;
  FGMPI_CHECK(fresh);
  post(participants.root, {key, 0, participants.fingerprint, mine});
  wait_for(&waiting.waiter, call,
           [&] { return waiting.answer.bits != 0 || !broken_creation(key, participants).ok(); });
  g_waiting.erase(key);
  return waiting.answer.bits ? waiting.answer.bits : kBroken;
}

}  // namespace

RankState* state_of(uint32_t local) {
  return static_cast<RankState*>(sched::rank_proclet(local)->rank_state);
}

void retire_id(ContextId id) { g_retired.insert(id.bits); }

void set_ids_unique(bool on) { g_ids_unique = on; }

uint64_t random_bits() {
  if (g_meeting_decider) return g_meeting_decider->draw_number();
  uint64_t bits;
  transport::random_bytes(&bits, sizeof bits);
  return bits;
}

LeaderCandidate draw_candidate() {
  LeaderCandidate c{0, 0, 0};
  while (c.lbi < kFirstLbi || c.world == kNoLid) {
    const uint64_t bits = random_bits();
    c.world = 0x80000000u | static_cast<uint32_t>(bits >> 32);
    c.lbi = static_cast<uint32_t>(bits) & kMaxLbi;
  }
  return c;
}

uint32_t leader_name(int32_t world, bool several_jobs) {
  return several_jobs ? g_process_groups.name_of(world) : static_cast<uint32_t>(world);
}

LeaderCandidate reserve(RankState* rank) {
  LeaderCandidate c{rank->led, rank->world_rank, 0};
  if (rank->lbi_next < kFirstLbi) rank->lbi_next = kFirstLbi;
  auto it = g_free_lbis.empty() ? g_free_lbis.end() : g_free_lbis.find(rank->local);
  if (it != g_free_lbis.end()) {
    c.lbi = it->second.back();
    it->second.pop_back();
    if (it->second.empty()) g_free_lbis.erase(it);
  } else if (rank->lbi_next <= kMaxLbi) {
    c.lbi = rank->lbi_next++;
  } else {
    return c;
  }
  ++rank->led;
  return c;
}

void unreserve(const LeaderCandidate& candidate) {
  if (candidate.valid() && !candidate.is_drawn())
    release_lbi(candidate.world, candidate.lbi, false);
}

Status none_left(const char* what) {
  return error(MPI_ERR_OTHER,
               "%s: no context id is left: every member of the group leads %u communicators", what,
               kMaxLbi - kFirstLbi + 1);
}

void drop(ContextId id, uint32_t processes) {
  if (id.is_drawn()) return;
  uint32_t local;
  if (g_av.is_mine(id.lid(), &local)) {
    count_drop(id, processes);
    return;
  }
  FreedNotice notice{id.bits, processes};
  pt2pt::notify(g_av.process_of(id.lid()), pt2pt::kNoticeCommFreed, id.bits, &notice,
                sizeof notice);
}

Participants participants_of(SharedComm* shared) {
  Participants participants;
  participants.count = hierarchy(shared).count();
  const RankMap* first = &shared->map;
  if (shared->inter) {
    participants.count += remote_hierarchy(shared).count();
    if (shared->side == 1) first = shared->remote.get();
  }
  participants.root = g_av.process_of(static_cast<uint32_t>(first->world_of(0)));
  participants.of = shared;
  return participants;
}

Status agree(const AgreeKey& key, const Participants& participants, const LeaderCandidate& mine,
             const char* call, ContextId* out) {
  if (participants.count <= 1) {
    if (!mine.valid()) return none_left(call);
    *out = mine.id();
    return {};
  }
  // Processes of several jobs number processes differently, but each compares with its own number.
  bool decides = g_av.me() == participants.root && key.side == 0;
  uint64_t answer =
      decides ? decide(key, participants, mine, call) : claim(key, participants, mine, call);
  if (answer == kNoneLeft) return none_left(call);
  // The process's own candidate is not returned: the root may have announced it as the id to
  // another process.
  if (answer == kBroken) return broken_creation(key, participants);
  *out = {answer == kGroupsDiffer ? 0 : answer};
  settle(mine, *out);
  if (answer == kGroupsDiffer) return groups_differ();
  return {};
}

Status groups_differ() {
  return error(
      MPI_ERR_GROUP,
      "group is not the group that other members gave; allowed is the same group at all members");
}

void wake_agreements() {
  for (auto& [key, claims] : g_claims)
    if (claims.deciding) wake(&claims.deciding->waiter);
  for (auto& [key, waiting] : g_waiting) wake(&waiting->waiter);
}

void init_context() {
  pt2pt::set_notice_handler(pt2pt::kNoticeCommFreed, on_freed);
  pt2pt::set_notice_handler(pt2pt::kNoticeAgree, on_agree);
}

}  // namespace fgmpi::comm
