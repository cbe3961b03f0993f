// Collectives: who waits for whom in them, and who leaves a rooted one before the
// others have arrived.
//
// A member of a broadcast or scatter needs only the root, the root of a reduction or gather all
// others, any member of another collective all others. In a rooted one each member nevertheless
// waits for all, as MPI allows, unless it leaves early (kLeave). So what the others did before they
// arrived belongs to its soft past. In other collectives it belongs to the past of each member.
#include <algorithm>

#include "coll/coll.h"
#include "comm/meeting.h"
#include "explore/matcher.h"
#include "pt2pt/engine.h"

namespace fgmpi::explore {
namespace {

using coll::CollectiveKind;

bool comes_from_root(CollectiveKind kind) {
  return kind == CollectiveKind::kBcast || kind == CollectiveKind::kScatter ||
         kind == CollectiveKind::kScatterv;
}
bool goes_to_root(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather ||
         kind == CollectiveKind::kGatherv;
}

}  // namespace

void Matcher::record_arrival(const comm::Comm* comm, const comm::Meeting* meeting,
                             uint8_t operation, const comm::Arrival* arrival) {
  const comm::RankState* rank = comm::rank_state();
  if (!rank) return;
  CollectiveGathering& g = gatherings_[meeting];
  if (meeting->arrived == 1) g = {};
  Box& box = box_of(rank->local);
  end_access(&box);  // after a collective its window may have been freed
  ++box.deeds;
  const pt2pt::Request* request = arrival ? arrival->request : nullptr;
  if (request) forget_request(rank->local, request);  // another request may have had its address
  if (arrival && operation < comm::kFirstOther &&
      operation ==
          operation_code(static_cast<CollectiveKind>(operation / 4), coll::CallMode::kBlocking)) {
    const auto* args = static_cast<const coll::Args*>(arrival);
    if (comes_from_root(args->kind) || goes_to_root(args->kind)) {
      g.root = args->root;
      g.from_root = comes_from_root(args->kind);
    }
    request = nullptr;  // its rank waits for it
  }
  g.members.push_back({rank->local, comm->rank, request, box.past, box.soft});
  if (!meeting->full) return;
  release_gathering(&g);
  gatherings_.erase(meeting);
}

void Matcher::release_gathering(CollectiveGathering* g) {
  EventSet past, soft;
  const ArrivedMember* root = nullptr;
  for (const ArrivedMember& m : g->members) {
    past.add(m.past);
    soft.add(m.soft);
    if (m.rank == g->root) root = &m;
  }
  soft.add(past);
  const EventSet nothing;
  for (const ArrivedMember& m : g->members) {
    if (m.left) continue;
    const EventSet* needed = &past;
    if (root && g->from_root) needed = &root->past;
    if (root && !g->from_root && &m != root) needed = &nothing;
    if (m.request) record_completion(m.local, m.request, *needed, soft);
    if (m.request && !m.request->waiter) continue;
    box_of(m.local).past.add(*needed);
    box_of(m.local).soft.add(soft);
  }
}

// ---- Leaving early ------------------------------------------------------------------------------

void Matcher::begin_early_exit_wait(coll::EarlyExitWait* wait) {
  Box& box = box_of(comm::rank_state()->local);
  box.early_exits.push_back({wait, box.early_exits_made++, wait->request->args.meeting});
}

void Matcher::end_early_exit_wait(coll::EarlyExitWait* wait) {
  std::erase_if(box_of(comm::rank_state()->local).early_exits,
                [&](const OpenEarlyExit& s) { return s.wait == wait; });
}

void Matcher::add_leaves(uint32_t local, std::vector<Choice>* out) const {
  for (const OpenEarlyExit& here : boxes_[local].early_exits) {
    if (here.wait->request->complete() || !here.wait->request->waiter || !here.wait->may_leave())
      continue;
    Choice c;
    c.kind = Choice::kLeave;
    c.rank = local;
    c.operation = here.number;
    c.wanted_source = c.source = Choice::kNoSource;
    out->push_back(c);
  }
}

void Matcher::execute_leave(const Choice& choice) {
  Box& box = box_of(choice.rank);
  const auto here =
      std::find_if(box.early_exits.begin(), box.early_exits.end(),
                   [&](const OpenEarlyExit& s) { return s.number == choice.operation; });
  EventSet past = box.past;
  CollectiveGathering& g = gatherings_.at(here->meeting);
  for (ArrivedMember& m : g.members) {
    if (m.local == choice.rank) m.left = true;
    if (g.from_root && m.rank == g.root) past.add(m.past);
  }
  chooser_->report_past(past);
  past.add(events_++);
  box.past = std::move(past);
  coll::EarlyExitWait* wait = here->wait;
  wait->left = true;
  pt2pt::Waiter* waiter = std::exchange(wait->request->waiter, nullptr);
  sched::ready(waiter->proclet);
}

}  // namespace fgmpi::explore
