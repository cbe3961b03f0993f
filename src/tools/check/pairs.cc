// Pairs: what two members of a communicator give each other in one collective call is compared, in the receiver's process.
//
// The sender tells that process as it calls: of neighbours the edges (WireEdges), of collectives whose counts differ by rank a
// row of hashes (WireParts, parts.h). With the first call on a topology the receivers tell the senders' processes of their
// edges as well: once all members in a process have called, an edge of one of them that only its other end has told of has no
// second end.
#include "base/hash.h"
#include "tools/check/agreement.h"
#include "tools/check/extensions.h"

namespace fgmpi::check {
namespace {

// ---- Edges of topologies -----------------------------------------------------------------------------------------------

/// f(from, to, signature, whether it is sent) for each edge of the member in a neighbourhood collective.
template <class F>
void for_each_edge(const Arguments& a, const Neighbours& all, F&& f) {
  const PartsOf out(a.call, true), in(a.call, false);
  int i = 0;
  for (int to : all.destinations) {
    const int part = i++;
    if (to != MPI_PROC_NULL) f(a.own.rank, to, out.exist() ? out.at(part) : a.sent(), true);
  }
  i = 0;
  for (int from : all.sources) {
    const int part = i++;
    if (from != MPI_PROC_NULL) f(from, a.own.rank, in.exist() ? in.at(part) : a.taken(), false);
  }
}

/// One end of an edge is told: compared with the other one where that was told before, else kept until it is. `caller`: makes
/// what is kept of the call.
template <class Make>
void tell_edge(CallQueue* queue, Entry* e, const WireEdge& said, Make&& caller) {
  auto [at, first] = e->edges.try_emplace(said.between);
  Edge& other = at->second;
  if (first) {
    other = {said, caller()};
    return;
  }
  if (said.sent == other.said.sent) return;  // calls that do not belong together
  if (said.known && other.said.known && said.sum != other.said.sum)
    note_pair(queue, kCountsDiffer, kCountsAgree, other.by, caller());
  e->edges.erase(at);
}

int sender_of(const WireEdge& edge) { return static_cast<int>(edge.between >> 32); }
int receiver_of(const WireEdge& edge) {
  return static_cast<int>(static_cast<uint32_t>(edge.between));
}

/// An edge of which one end is told: has the member at the other end called, and so has none? REQUIRES: all members here have.
void look_for_other_end(CallQueue* queue, const WireEdge& said, const Caller& by) {
  auto other = queue->told.find(said.sent ? receiver_of(said) : sender_of(said));
  if (other == queue->told.end()) return;
  note_pair(queue,
            said.sent ? "a neighbour sends to a rank that does not take from it"
                      : "a neighbour takes from a rank that does not send to it",
            "an edge of a topology is given at both of its ends", by, other->second);
}

bool all_here_told(const Comm& c, const CallQueue& queue, const Entry& e) {
  return static_cast<int>(queue.told.size()) == c.local_members && e.arrived == c.local_members;
}

uint64_t hash_of(const Signature& s) { return s.length == 0 ? 0 : mix(s.hash, s.length); }

/// An edge as one of its ends tells of it.
struct EdgeEnd {
  WireEdge said;
  int other;  ///< world rank at the other end
};

/// The edges of this member, each once: several from one rank to another, in an order of each's own, are added up.
std::vector<EdgeEnd> ends_of(const Arguments& a, const Neighbours& all) {
  std::vector<EdgeEnd> ends;
  ends.reserve(all.sources.size() + all.destinations.size());
  for_each_edge(a, all, [&](int from, int to, const Signature& s, bool sent) {
    ends.push_back({{static_cast<uint64_t>(from) << 32 | static_cast<uint32_t>(to), hash_of(s),
                     s.known && !s.packed, sent},
                    a.own.comm->group[static_cast<size_t>(sent ? to : from)]});
  });
  std::sort(ends.begin(), ends.end(), [](const EdgeEnd& x, const EdgeEnd& y) {
    return x.said.between != y.said.between ? x.said.between < y.said.between
                                            : x.said.sent < y.said.sent;
  });
  size_t kept = 0;
  for (size_t i = 1; i < ends.size(); ++i) {
    EdgeEnd& last = ends[kept];
    if (ends[i].said.between == last.said.between && ends[i].said.sent == last.said.sent) {
      last.said.sum += ends[i].said.sum;
      last.said.known = last.said.known && ends[i].said.known;
    } else {
      ends[++kept] = ends[i];
    }
  }
  if (!ends.empty()) ends.resize(kept + 1);
  return ends;
}

void add_edge(Told<WireEdges>* told, int process, const WireEdge& edge, const WireEdges& empty) {
  auto at = std::find_if(told->begin(), told->end(), [&](const auto& one) {
    return one.first == process && one.second.count < std::size(one.second.list);
  });
  if (at == told->end()) at = told->insert(told->end(), {process, empty});
  at->second.list[at->second.count++] = edge;
}

}  // namespace

void look_at_edges(const Arguments& a, int world, uint64_t number, CallQueue* queue, Entry* e,
                   Told<WireEdges>* told) {
  const Neighbours& all =
      neighbours_of(static_cast<MPI_Comm>(a.call.value(&Positions::comm)), &a.own);
  const WireEdges empty = {WireKind::kEdges, 0, world, a.own.comm->key, number,
                           a.call.record(),  {}};
  const bool first = !queue->told.contains(a.own.rank);
  auto caller = [&] { return Caller{world, a.call.kept()}; };
  for (EdgeEnd& end : ends_of(a, all)) {
    const bool local = is_local(end.other);
    if (local || !end.said.sent || first) {
      // Both processes learn of an edge between them at the first call; the receiver's alone compares what it carries.
      WireEdge here = end.said;
      here.known = here.known && (local || !here.sent);
      tell_edge(queue, e, here, caller);
    }
    if (local || (!end.said.sent && !first)) continue;
    WireEdge there = end.said;
    there.known = there.known && there.sent;
    add_edge(told, MPIX_Tool_process(end.other), there, empty);
  }
  if (!first) return;
  queue->told.try_emplace(a.own.rank, caller());
  if (all_here_told(*a.own.comm, *queue, *e))
    for (const auto& [between, edge] : e->edges) look_for_other_end(queue, edge.said, edge.by);
}

void on_edges(const WireEdges& edges, const Comm* c, CallQueue* queue, Entry* e) {
  auto caller = [&] { return Caller{edges.world, Record(edges.call)}; };
  const bool complete = !e || (c && all_here_told(*c, *queue, *e));
  for (uint32_t i = 0; i < edges.count; ++i) {
    const WireEdge& said = edges.list[i];
    if (e) tell_edge(queue, e, said, caller);
    // A call is over only when all edges that members here have told of have met their other ends.
    if (complete && (!e || e->edges.contains(said.between)))
      look_for_other_end(queue, said, caller());
  }
}

// ---- Parts of buffers --------------------------------------------------------------------------------------------------

namespace {

/// Of parts, 0 where there is nothing; whether all of them are known.
struct Hashes {
  std::vector<uint32_t> list;
  bool known = true;
  void add(const Signature& s) {
    known = known && s.known && !s.packed;
    list.push_back(static_cast<uint32_t>(hash_of(s)));
  }
};

const std::map<int, std::vector<int>>& members_of(Comm* c) {
  if (c->members.empty())
    for (int i = 0; i < c->size; ++i)
      c->members[MPIX_Tool_process(c->group[static_cast<size_t>(i)])].push_back(i);
  return c->members;
}

/// Where all of a call's parts in a process are compared; null: another call does not belong to it.
Parts<Caller>* parts_of_call(CallQueue* queue, Entry* e, const PartsShape& shape) {
  if (!e->parts && queue->spare && queue->spare->shape() == shape)
    e->parts = std::move(queue->spare);
  if (!e->parts) e->parts = std::make_unique<Parts<Caller>>(shape);
  return e->parts->shape() == shape ? e->parts.get() : nullptr;
}

void note_parts(CallQueue* queue, const Parts<Caller>::Found& found) {
  if (found)
    note_pair(queue, kCountsDiffer, kCountsAgree, *found->sender,
              found->receiver ? *found->receiver : *found->sender);
}

void tell_parts(Told<WireParts>* told, int process, const Hashes& row, WireParts wire) {
  wire.known = row.known;
  for (size_t first = 0; first < row.list.size(); first += wire.count) {
    wire.first = static_cast<uint32_t>(first);
    wire.count = static_cast<uint32_t>(std::min(std::size(wire.list), row.list.size() - first));
    std::copy_n(row.list.begin() + static_cast<ptrdiff_t>(first), wire.count, wire.list);
    told->emplace_back(process, wire);
  }
}

/// What the member sends to these members. Elsewhere than at a root no array is looked for.
Hashes row_of(const Arguments& a, bool in_place, const std::vector<int>& receivers) {
  const bool gathers = a.call.info().collective == Collective::kGatherv;
  Hashes row;
  if (gathers && !in_place) {
    row.add(a.sent());
    return row;
  }
  // In place, as much goes either way; a scatter's root gives all parts.
  const PartsOf parts(a.call, a.call.info().collective == Collective::kScatterv || !in_place);
  if (gathers)
    row.add(parts.at(a.own.rank));
  else
    for (int to : receivers) row.add(parts.at(to));
  return row;
}

/// What the member takes, sender by sender.
Hashes column_of(const Arguments& a, bool in_place) {
  const bool scatters = a.call.info().collective == Collective::kScatterv;
  Hashes column;
  if (scatters && !in_place) {
    column.add(a.taken());
    return column;
  }
  const PartsOf parts(a.call, scatters);
  if (scatters)
    column.add(parts.at(a.own.rank));
  else
    for (int from = 0; from < a.own.comm->size; ++from) column.add(parts.at(from));
  return column;
}

}  // namespace

void look_at_parts(const Arguments& a, int world, uint64_t number, CallQueue* queue, Entry* e,
                   Told<WireParts>* told) {
  Comm& c = *a.own.comm;
  const Collective what = a.call.info().collective;
  const bool gathers = what == Collective::kGatherv, scatters = what == Collective::kScatterv;
  const bool rooted = gathers || scatters;
  const auto root = rooted ? a.call.value(&Positions::root) : 0;
  if (c.inter || root < 0 || root >= c.size) return;  // MPI's to complain of
  // Elsewhere than at the root the other buffer may be anything.
  const bool in_place = a.in_place() && (!rooted || a.is_root());
  const int home = MPIX_Tool_process(c.group[static_cast<size_t>(root)]);
  auto caller = [&] { return Caller{world, a.call.kept()}; };
  WireParts wire;
  wire.world = world;
  wire.shape = {what, static_cast<int32_t>(root), scatters ? 1u : static_cast<uint32_t>(c.size), 1};
  wire.sender = scatters ? 0 : static_cast<uint32_t>(a.own.rank);
  wire.comm = c.key;
  wire.number = number;
  wire.call = a.call.record();
  for (const auto& [process, members] : members_of(&c)) {
    if (gathers && process != home) continue;
    if (!gathers) wire.shape.receivers = static_cast<uint32_t>(members.size());
    const bool sends = !scatters || a.is_root(), here = process == g_process.me;
    if (!here) {
      if (sends) tell_parts(told, process, row_of(a, in_place, members), wire);
      continue;
    }
    Parts<Caller>* parts = parts_of_call(queue, e, wire.shape);
    if (!parts) continue;
    if (sends) {
      const Hashes row = row_of(a, in_place, members);
      note_parts(queue, parts->give(wire.sender, 0, row.list, row.known, caller));
    }
    if (gathers && !a.is_root()) continue;
    const auto mine = std::lower_bound(members.begin(), members.end(), a.own.rank);
    const Hashes column = column_of(a, in_place);
    note_parts(queue, parts->take(gathers ? 0 : static_cast<uint32_t>(mine - members.begin()),
                                  column.list, column.known, caller));
  }
}

void on_parts(const WireParts& parts, CallQueue* queue, Entry* e) {
  if (!e || parts.shape.senders == 0 || parts.shape.receivers == 0) return;
  if (Parts<Caller>* all = parts_of_call(queue, e, parts.shape))
    note_parts(queue,
               all->give(parts.sender, parts.first, {parts.list, parts.count}, parts.known, [&] {
                 return Caller{parts.world, Record(parts.call)};
               }));
}

}  // namespace fgmpi::check
