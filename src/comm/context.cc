#include "comm/context.h"

#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "comm/hierarchy.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::comm {
namespace {

constexpr int kNoticeAgree = 3;

struct FreedNotice {
  uint64_t id;
  uint32_t processes;
};

struct AgreeNotice {
  AgreeKey key;
  uint64_t answer;      ///< context id, 0: this is a candidate
  Candidate candidate;
  uint32_t unused = 0;
};

struct KeyHash {
  size_t operator()(const AgreeKey& k) const {
    uint64_t h = k.ctx * 0x9e3779b97f4a7c15u ^ k.print;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u ^ (uint64_t{k.kind} << 48 | uint64_t{k.side} << 32 | k.number);
    return static_cast<size_t>((h ^ h >> 32) * 0x94d049bb133111ebu);
  }
};

/// An agreement that this process takes part in, as root or not.
struct Open {
  Candidate best;
  uint32_t candidates = 0;           ///< root: that came from other processes
  uint32_t expected = ~0u;           ///< root: how many will, once it has come to agree() itself
  ContextId answer;
  sched::Proclet* waiter = nullptr;
};

std::unordered_map<uint32_t, std::vector<uint32_t>> g_free_lbis;  // by local index of the leader
std::unordered_map<uint64_t, uint32_t> g_dropped;                 // context id -> notices that came
std::unordered_map<AgreeKey, Open, KeyHash> g_agreements;

void release_lbi(uint32_t world, uint32_t lbi) {
  uint32_t local = world - g_av.my_first();
  RankState* rank = state_of(local);
  if (!rank) return;
  --rank->led;
  if (lbi + 1 == rank->lbi_next)
    --rank->lbi_next;
  else
    g_free_lbis[local].push_back(lbi);
}

void count_drop(ContextId id, uint32_t processes) {
  if (processes > 1) {
    auto [it, fresh] = g_dropped.try_emplace(id.bits, 0);
    if (++it->second < processes) return;
    g_dropped.erase(it);
  }
  release_lbi(id.lid(), id.lbi());
}

void on_freed(uint32_t, uint64_t, const void* data, size_t bytes) {
  FreedNotice notice;
  FGMPI_CHECK(bytes == sizeof notice);
  std::memcpy(&notice, data, sizeof notice);
  uint32_t local;
  FGMPI_CHECK(g_av.is_mine(ContextId{notice.id}.lid(), &local));
  count_drop({notice.id}, notice.processes);
}

void wake_if_done(Open& open, bool done) {
  if (!done || !open.waiter) return;
  sched::ready(open.waiter);
  open.waiter = nullptr;
}

void take(const AgreeNotice& notice) {
  Open& open = g_agreements[notice.key];
  if (notice.answer) {
    open.answer = {notice.answer};
    wake_if_done(open, true);
    return;
  }
  if (notice.candidate.before(open.best)) open.best = notice.candidate;
  ++open.candidates;
  wake_if_done(open, open.candidates == open.expected);
}

void on_agree(uint32_t, uint64_t, const void* data, size_t bytes) {
  AgreeNotice notice;
  FGMPI_CHECK(bytes == sizeof notice);
  std::memcpy(&notice, data, sizeof notice);
  take(notice);
}

/// To the party on `side` in `process`, which may be this one.
void post(uint32_t process, uint16_t side, AgreeNotice notice) {
  notice.key.side = side;
  if (process == g_av.me())
    take(notice);
  else
    pt2pt::notify(process, kNoticeAgree, notice.key.ctx, &notice, sizeof notice);
}

void describe(const sched::WaitSite*, std::string* out) {
  *out += "agreeing with other processes on a new communicator";
}

template <class Done>
void wait_for(Open& open, const char* call, Done done) {
  sched::WaitSite site{call, describe, true};
  while (!done()) {
    open.waiter = sched::current();
    sched::park(&site);
  }
}

/// The answer that says that nobody had an LBI left.
constexpr uint64_t kRefused = ~uint64_t{0};

}  // namespace

RankState* state_of(uint32_t local) {
  return static_cast<RankState*>(sched::rank_proclet(local)->rank_state);
}

Candidate reserve(RankState* rank) {
  Candidate c{rank->led, rank->world_rank, 0};
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

void unreserve(const Candidate& candidate) {
  if (candidate.valid()) release_lbi(candidate.world, candidate.lbi);
}

Status none_left(const char* what) {
  return error(MPI_ERR_OTHER, "%s: no context id is left: every member of the group leads %u communicators", what,
               kMaxLbi - kFirstLbi + 1);
}

void drop(ContextId id, uint32_t processes) {
  uint32_t local;
  if (g_av.is_mine(id.lid(), &local)) {
    count_drop(id, processes);
    return;
  }
  FreedNotice notice{id.bits, processes};
  pt2pt::notify(g_av.process_of(id.lid()), pt2pt::kNoticeCommFreed, id.bits, &notice, sizeof notice);
}

Parties parties_of(SharedComm* shared) {
  Parties parties;
  parties.sides[shared->side] = hierarchy(shared).processes;
  const RankMap* first = &shared->map;
  if (shared->inter) {
    parties.sides[1 - shared->side] = remote_hierarchy(shared).processes;
    if (shared->side == 1) first = shared->remote.get();
  }
  parties.root = g_av.process_of(static_cast<uint32_t>(first->world_of(0)));
  return parties;
}

Status agree(const AgreeKey& key, const Parties& parties, const Candidate& mine, const char* call, ContextId* out) {
  if (parties.count() <= 1) {
    if (!mine.valid()) return none_left(call);
    *out = mine.id();
    return {};
  }
  Open& open = g_agreements[key];
  AgreeNotice notice{key, 0, mine};
  if (g_av.me() == parties.root && key.side == 0) {
    open.expected = parties.count() - 1;
    wait_for(open, call, [&] { return open.candidates == open.expected; });
    if (mine.before(open.best)) open.best = mine;
    notice.answer = open.best.valid() ? open.best.id().bits : kRefused;
    open.answer = {notice.answer};
    for (uint16_t side = 0; side < 2; ++side)
      for (uint32_t p : parties.sides[side])
        if (p != parties.root || side != 0) post(p, side, notice);
  } else {
    post(parties.root, 0, notice);
    wait_for(open, call, [&] { return open.answer.bits != 0; });
  }
  *out = open.answer;
  g_agreements.erase(key);
  if (out->bits == kRefused) return none_left(call);
  settle(mine, *out);
  return {};
}

void init_context() {
  pt2pt::set_notice_handler(pt2pt::kNoticeCommFreed, on_freed);
  pt2pt::set_notice_handler(kNoticeAgree, on_agree);
}

ContextCounts context_counts() {
  ContextCounts counts;
  counts.counting = g_dropped.size();
  for (const auto& [local, lbis] : g_free_lbis) counts.free_lbis += lbis.size();
  return counts;
}

}  // namespace fgmpi::comm
