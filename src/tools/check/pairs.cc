// Pairs: what two members of a communicator give each other in one collective call is compared, in the receiver's process.
//
// The sender tells that process (outbox.h): of neighbours the edges (WireEdges), of collectives whose counts differ by rank a row
// of hashes (WireParts, rows.h). What members of a process say of one call is told together. With the first call on a topology
// the receivers tell the senders' processes of their edges as well: once all members in a process have called, an edge of one of
// them that only its other end has told of has no second end.
#include <bit>
#include <cstring>

#include "base/hash.h"
#include "tools/check/agreement.h"
#include "tools/check/extensions.h"
#include "tools/check/rows.h"

namespace fgmpi::check {
namespace {

// ---- What members of a process say together --------------------------------------------------------------------------

/// The arguments of a call that reports show: bit i is the i-th.
uint16_t shown_arguments(const CallInfo& info) {
  unsigned shown = 0;
  for (int i = 0; i < info.count; ++i)
    if (!info.parameters[i].pointer) shown |= 1u << i;
  return static_cast<uint16_t>(shown);
}

/// Those of them that are not the same in two calls of one function.
uint16_t different_arguments(const CallRecord& a, const CallRecord& b) {
  unsigned differ = 0;
  for (unsigned set = shown_arguments(a.info()); set; set &= set - 1)
    if (const int i = std::countr_zero(set); a.words[i] != b.words[i]) differ |= 1u << i;
  return static_cast<uint16_t>(differ);
}

/// The last piece that a process is to be told, if it is of this kind, call of a communicator, function and line; else null.
template <class Wire>
Wire* piece_of(int process, uint64_t comm, uint64_t number, const CallRecord& call) {
  auto* wire = static_cast<Wire*>(last_piece(process).data);
  return wire && wire->kind == Wire().kind && wire->comm == comm && wire->number == number &&
                 wire->call.id == call.id && wire->call.site == call.site
             ? wire
             : nullptr;
}

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
                     s.known && !s.packed, sent, 0},
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

void tell_edge_to(int process, const Comm& c, uint64_t number, const CallRecord& call,
                  const WireEdge& edge) {
  auto* wire = piece_of<WireEdges>(process, c.key, number, call);
  const size_t bytes = last_piece(process).bytes;
  if (wire && different_arguments(wire->call, call) == 0 && grow_last_piece(process, sizeof edge)) {
    std::memcpy(reinterpret_cast<char*>(wire) + bytes, &edge, sizeof edge);
  } else {
    const WireEdges fresh{.comm = c.key, .number = number, .call = call};
    auto* piece = static_cast<char*>(add_piece(process, sizeof fresh + sizeof edge));
    std::memcpy(piece, &fresh, sizeof fresh);
    std::memcpy(piece + sizeof fresh, &edge, sizeof edge);
  }
  told_within_call();
}

}  // namespace

void look_at_edges(const Arguments& a, int world, uint64_t number, CallQueue* queue, Entry* e) {
  const Neighbours& all =
      neighbours_of(static_cast<MPI_Comm>(a.call.value(&Positions::comm)), &a.own);
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
    there.world = world;
    tell_edge_to(MPIX_Tool_process(end.other), *a.own.comm, number, a.call.record(), there);
  }
  if (!first) return;
  queue->told.try_emplace(a.own.rank, caller());
  if (all_here_told(*a.own.comm, *queue, *e))
    for (const auto& [between, edge] : e->edges) look_for_other_end(queue, edge.said, edge.by);
}

void on_edges(const WireEdges& edges, std::span<const WireEdge> list, const Comm* c,
              CallQueue* queue, Entry* e) {
  const Record call(edges.call);
  const bool complete = !e || (c && all_here_told(*c, *queue, *e));
  for (const WireEdge& said : list) {
    auto caller = [&] { return Caller{said.world, call}; };
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

using Members = std::map<int, std::vector<int>>;

const Members& by_process(const std::vector<int>& group, Members* members) {
  if (members->empty())
    for (size_t i = 0; i < group.size(); ++i)
      (*members)[MPIX_Tool_process(group[i])].push_back(static_cast<int>(i));
  return *members;
}
const Members& members_of(Comm* c) { return by_process(c->group, &c->members); }

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

void tell_row(int process, const WireParts& fresh, RowSaid said) {
  said.finish();
  auto* wire = piece_of<WireParts>(process, fresh.comm, fresh.number, fresh.call);
  if (wire && wire->shape == fresh.shape && wire->world_minus_sender == fresh.world_minus_sender) {
    said.head.differs = different_arguments(wire->call, fresh.call);
    char* rows = reinterpret_cast<char*>(wire + 1);
    if (join_row(rows + wire->last, said)) return;
    const size_t end = last_piece(process).bytes - sizeof *wire;
    if (grow_last_piece(process, bytes_of(said.head))) {
      wire->last = static_cast<uint32_t>(end);
      return write_row(rows + end, said);
    }
  }
  said.head.differs = 0;
  auto* piece = static_cast<char*>(add_piece(process, sizeof fresh + bytes_of(said.head)));
  std::memcpy(piece, &fresh, sizeof fresh);
  write_row(piece + sizeof fresh, said);
  told_within_call();
}

/// `fresh`: a piece for it, where none can take it.
void tell_parts(int process, uint32_t sender, const Hashes& row, const WireParts& fresh) {
  RowSaid said;
  said.head.sender = sender;
  said.head.known = row.known;
  said.words = fresh.call.words;
  const std::span<const uint32_t> all = row.list;
  const bool same = std::all_of(all.begin(), all.end(), [&](uint32_t h) { return h == all[0]; });
  const size_t most = same ? all.size() : kMostInRow;
  for (size_t first = 0; first < all.size(); first += most) {
    said.head.first = static_cast<uint32_t>(first);
    said.hashes = all.subspan(first, std::min(most, all.size() - first));
    tell_row(process, fresh, said);
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

namespace {

/// What the member sends to these ones of the other group.
Hashes row_between(const Arguments& a, const std::vector<int>& receivers) {
  const PartsOf parts(a.call, true);
  Hashes row;
  for (int to : receivers) row.add(parts.exist() ? parts.at(to) : a.sent());
  return row;
}

/// What it takes from each sender of the other group.
Hashes column_between(const Arguments& a, uint32_t senders) {
  const PartsOf parts(a.call, false);
  Hashes column;
  for (uint32_t from = 0; from < senders; ++from)
    column.add(parts.exist() ? parts.at(static_cast<int>(from)) : a.taken());
  return column;
}

void send_between(const Arguments& a, int world, uint64_t number, PartsShape shape) {
  Comm& c = *a.own.comm;
  const bool gathers = shape.collective == Collective::kGatherv;
  const int root = gathers ? c.world_of(shape.root) : 0;
  if (root == MPI_UNDEFINED) return;  // MPI's to complain of
  WireParts wire;
  const uint32_t sender =
      shape.collective == Collective::kScatterv ? 0 : static_cast<uint32_t>(a.own.rank);
  wire.world_minus_sender = world - static_cast<int32_t>(sender);
  wire.comm = c.key ^ 1;  // the other group's
  wire.number = number;
  wire.call = a.call.record();
  for (const auto& [process, all] : by_process(c.remote, &c.remote_members)) {
    if (gathers && process != MPIX_Tool_process(root)) continue;
    const std::vector<int>& receivers = gathers ? std::vector<int>{shape.root} : all;
    shape.receivers = static_cast<uint32_t>(receivers.size());
    wire.shape = shape;
    const Hashes row = row_between(a, receivers);
    if (process != g_process.me) {
      tell_parts(process, sender, row, wire);
      continue;
    }
    CallQueue& queue = queue_of(wire.comm);
    Entry* e = queue.at(number);
    Parts<Caller>* parts = e ? parts_of_call(&queue, e, shape) : nullptr;
    if (!parts) continue;
    auto caller = [&] { return Caller{world, a.call.kept()}; };
    note_parts(&queue, parts->give(sender, 0, row.list, row.known, caller));
    look_whether_over(wire.comm, number);
  }
}

/// As look_at_parts(), on an intercommunicator: each group sends to the other one.
void look_at_parts_between(const Arguments& a, int world, uint64_t number, CallQueue* queue,
                           Entry* e) {
  Comm& c = *a.own.comm;
  const Collective what = a.call.info().collective;
  const bool gathers = what == Collective::kGatherv, scatters = what == Collective::kScatterv;
  const bool rooted = gathers || scatters, is_root = rooted && a.is_root();
  const auto root = rooted ? a.call.value(&Positions::root) : 0;
  if (root < 0 && !is_root) return;  // it does nothing
  PartsShape shape{what, is_root ? a.own.rank : static_cast<int32_t>(root), 1, 1};
  if (!rooted || is_root == scatters) {
    if (!scatters) shape.senders = static_cast<uint32_t>(c.size);
    send_between(a, world, number, shape);
  }
  if (rooted && is_root == scatters) return;
  const std::vector<int>& members = members_of(&c).at(g_process.me);
  const auto mine = std::lower_bound(members.begin(), members.end(), a.own.rank);
  shape.senders = scatters ? 1 : static_cast<uint32_t>(c.remote.size());
  shape.receivers = gathers ? 1 : static_cast<uint32_t>(members.size());
  Parts<Caller>* parts = parts_of_call(queue, e, shape);
  if (!parts) return;
  const Hashes column = column_between(a, shape.senders);
  note_parts(queue, parts->take(gathers ? 0 : static_cast<uint32_t>(mine - members.begin()),
                                column.list, column.known, [&] {
                                  return Caller{world, a.call.kept()};
                                }));
}

}  // namespace

void look_at_parts(const Arguments& a, int world, uint64_t number, CallQueue* queue, Entry* e) {
  Comm& c = *a.own.comm;
  if (c.inter) return look_at_parts_between(a, world, number, queue, e);
  const Collective what = a.call.info().collective;
  const bool gathers = what == Collective::kGatherv, scatters = what == Collective::kScatterv;
  const bool rooted = gathers || scatters;
  const auto root = rooted ? a.call.value(&Positions::root) : 0;
  if (root < 0 || root >= c.size) return;  // MPI's to complain of
  // Elsewhere than at the root the other buffer may be anything.
  const bool in_place = a.in_place() && (!rooted || a.is_root());
  const int home = MPIX_Tool_process(c.group[static_cast<size_t>(root)]);
  auto caller = [&] { return Caller{world, a.call.kept()}; };
  WireParts wire;
  wire.shape = {what, static_cast<int32_t>(root), scatters ? 1u : static_cast<uint32_t>(c.size), 1};
  const uint32_t sender = scatters ? 0 : static_cast<uint32_t>(a.own.rank);
  wire.world_minus_sender = world - static_cast<int32_t>(sender);
  wire.comm = c.key;
  wire.number = number;
  wire.call = a.call.record();
  for (const auto& [process, members] : members_of(&c)) {
    if (gathers && process != home) continue;
    if (!gathers) wire.shape.receivers = static_cast<uint32_t>(members.size());
    const bool sends = !scatters || a.is_root(), here = process == g_process.me;
    if (!here) {
      if (sends) tell_parts(process, sender, row_of(a, in_place, members), wire);
      continue;
    }
    Parts<Caller>* parts = parts_of_call(queue, e, wire.shape);
    if (!parts) continue;
    if (sends) {
      const Hashes row = row_of(a, in_place, members);
      note_parts(queue, parts->give(sender, 0, row.list, row.known, caller));
    }
    if (gathers && !a.is_root()) continue;
    const auto mine = std::lower_bound(members.begin(), members.end(), a.own.rank);
    const Hashes column = column_of(a, in_place);
    note_parts(queue, parts->take(gathers ? 0 : static_cast<uint32_t>(mine - members.begin()),
                                  column.list, column.known, caller));
  }
}

void on_parts(const WireParts& parts, const char* rows, size_t bytes, CallQueue* queue, Entry* e) {
  if (!e || parts.shape.senders == 0 || parts.shape.receivers == 0) return;
  Parts<Caller>* all = parts_of_call(queue, e, parts.shape);
  if (!all) return;
  const Record shared(parts.call);
  std::vector<uint32_t> expanded;
  for_each_row(rows, bytes,
               [&](const RowHead& head, std::span<const uint32_t> hashes, auto&& word) {
                 if (head.count > parts.shape.receivers) return;
                 if (head.same) {
                   expanded.assign(head.count, hashes[0]);
                   hashes = expanded;
                 }
                 Record call = shared;
                 if (head.differs) {
                   call = Record(parts.call);
                   for (unsigned set = head.differs; set; set &= set - 1)
                     if (const int i = std::countr_zero(set); i < static_cast<int>(kMostArguments))
                       call->words[i] = word(i);
                 }
                 for (uint32_t i = 0; i < head.members; ++i) {
                   const uint32_t sender = head.sender + i;
                   auto caller = [&] {
                     return Caller{static_cast<int>(sender) + parts.world_minus_sender, call};
                   };
                   note_parts(queue, all->give(sender, head.first, hashes, head.known, caller));
                 }
               });
}

}  // namespace fgmpi::check
