// Pairs: compares what two members of a communicator give each other in one collective call, in the
// receiver's process.
//
// The sender announces it to that process (outbox.h): for neighbourhood collectives edges
// (WireEdges), for collectives whose counts differ by rank a row of hashes (WireParts, rows.h). All
// members of a process are announced together. In the first call on a topology the receivers also
// announce their edges to the senders' processes. So when all members in a process have called, an
// edge of theirs that only its other end has announced has no second end.
#include <bit>
#include <cstring>

#include "base/hash.h"
#include "check/agreement.h"
#include "check/extensions.h"
#include "check/rows.h"

namespace fgmpi::check {
namespace {

// ---- What members of a process say together -----------------------------------------------------

/// The set of arguments that reports show.
uint16_t shown_arguments(const CallInfo& info) {
  unsigned shown = 0;
  for (int i = 0; i < info.count; ++i)
    if (!info.parameters[i].pointer) shown |= 1u << i;
  return static_cast<uint16_t>(shown);
}

/// The set of shown arguments that differ between two calls of one function.
uint16_t different_arguments(const CallRecord& a, const CallRecord& b) {
  unsigned differ = 0;
  for (unsigned set = shown_arguments(a.info()); set; set &= set - 1)
    if (const int i = std::countr_zero(set); a.words[i] != b.words[i]) differ |= 1u << i;
  return static_cast<uint16_t>(differ);
}

/// Where to send and compare a member's declaration of a call.
struct Telling {
  const Comm& c;
  CallQueue* queue;
  Entry* e;
  const Record& call;
  int rank;  ///< of the member, in the communicator
  int world() const { return c.group[static_cast<size_t>(rank)]; }
  Caller caller() const { return {world(), call}; }
};

template <class Wire>
Wire* wire_of(std::string* piece) {
  return reinterpret_cast<Wire*>(piece->data());
}

/// The last piece for a process, if it describes a call of the same function and site; else null.
template <class Wire>
std::string* last_piece_of(Pieces* pieces, const CallRecord& call) {
  if (pieces->empty()) return nullptr;
  const auto* wire = wire_of<Wire>(&pieces->back());
  return wire->call.id == call.id && wire->call.site == call.site ? &pieces->back() : nullptr;
}

template <class Wire>
std::string* add_piece_of(Pieces* pieces, const Wire& wire) {
  pieces->emplace_back(reinterpret_cast<const char*>(&wire), sizeof wire);
  return &pieces->back();
}

// ---- Edges of topologies ------------------------------------------------------------------------

/// f(from, to, signature, whether the member sends it) for each edge of the member in a
/// neighbourhood collective.
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

/// Adds the declaration of one end of an edge: compares it with that of the other end, or stores it
/// until that arrives. `caller` makes the Caller.
template <class Make>
void tell_edge(CallQueue* queue, Entry* e, const WireEdge& said, Make&& caller) {
  auto [at, first] = e->edges.try_emplace(said.between);
  Edge& other = at->second;
  if (first) {
    other = {said, caller()};
    return;
  }
  if (said.sent == other.said.sent) return;  // the two calls do not belong together
  if (said.known && other.said.known && said.sum != other.said.sum)
    note_pair(queue, kCountsDiffer, kCountsAgree, other.by, caller());
  e->edges.erase(at);
}

int sender_of(const WireEdge& edge) { return static_cast<int>(edge.between >> 32); }
int receiver_of(const WireEdge& edge) {
  return static_cast<int>(static_cast<uint32_t>(edge.between));
}

/// Only one end of the edge has declared it: reports this if the member at the other end has
/// called. REQUIRES: all members here have called.
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

/// The edges of this member. Several edges from one rank to another are added up, because each end
/// may list them in its own order.
std::vector<EdgeEnd> ends_of(const Arguments& a, const Neighbours& all) {
  std::vector<EdgeEnd> ends;
  ends.reserve(all.sources.size() + all.destinations.size());
  for_each_edge(a, all, [&](int from, int to, const Signature& s, bool sent) {
    const int other = a.own.comm->group[static_cast<size_t>(sent ? to : from)];
    ends.push_back({static_cast<uint64_t>(from) << 32 | static_cast<uint32_t>(to), hash_of(s),
                    s.known && !s.packed, sent, is_local(other), MPIX_Tool_process(other)});
  });
  std::sort(ends.begin(), ends.end(), [](const EdgeEnd& x, const EdgeEnd& y) {
    return x.between != y.between ? x.between < y.between : x.sent < y.sent;
  });
  size_t kept = 0;
  for (size_t i = 1; i < ends.size(); ++i) {
    EdgeEnd& last = ends[kept];
    if (ends[i].between == last.between && ends[i].sent == last.sent) {
      last.sum += ends[i].sum;
      last.known = last.known && ends[i].known;
    } else {
      ends[++kept] = ends[i];
    }
  }
  if (!ends.empty()) ends.resize(kept + 1);
  return ends;
}

void tell_edge_to(int process, const Telling& t, const WireEdge& edge) {
  Pieces& pieces = t.e->details->told[process];
  std::string* piece = last_piece_of<WireEdges>(&pieces, *t.call);
  if (!piece || different_arguments(wire_of<WireEdges>(piece)->call, *t.call) != 0 ||
      piece->size() + sizeof edge > kMostPiece)
    piece = add_piece_of(&pieces, WireEdges{.comm = t.c.key, .call = *t.call});
  piece->append(reinterpret_cast<const char*>(&edge), sizeof edge);
}

/// Compares the edges of a member with the declarations of their other ends, and sends them to the
/// processes of those ends.
void tell_edges(const Telling& t, const Said& said) {
  const bool first = !t.queue->told.contains(t.rank);
  for (const EdgeEnd& end : said.ends) {
    if (end.here || !end.sent || first) {
      // In the first call both processes learn of an edge between them; only the receiver's
      // compares its signature.
      const bool known = end.known && (end.here || !end.sent);
      tell_edge(t.queue, t.e, {end.between, end.sum, known, end.sent, 0},
                [&] { return t.caller(); });
    }
    if (end.here || (!end.sent && !first)) continue;
    tell_edge_to(end.process, t,
                 {end.between, end.sum, end.known && end.sent, end.sent, t.world()});
  }
  if (!first) return;
  t.e->details->no_base = true;
  t.queue->told.try_emplace(t.rank, t.caller());
  if (all_here_told(t.c, *t.queue, *t.e))
    for (const auto& [between, edge] : t.e->edges) look_for_other_end(t.queue, edge.said, edge.by);
}

void hear_edges(const WireEdges& edges, std::span<const WireEdge> list, const Comm* c,
                CallQueue* queue, Entry* e) {
  const Record call(edges.call);
  const bool complete = !e || (c && all_here_told(*c, *queue, *e));
  for (const WireEdge& said : list) {
    auto caller = [&] { return Caller{said.world, call}; };
    if (e) tell_edge(queue, e, said, caller);
    // A call is over only when all edges that members here have declared have met their other ends.
    if (complete && (!e || e->edges.contains(said.between)))
      look_for_other_end(queue, said, caller());
  }
}

// ---- Parts of buffers ---------------------------------------------------------------------------

void add(Hashes* hashes, const Signature& s) {
  hashes->known = hashes->known && s.known && !s.packed;
  hashes->list.push_back(static_cast<uint32_t>(hash_of(s)));
}

using Members = std::map<int, std::vector<int>>;

const Members& by_process(const std::vector<int>& group, Members* members) {
  if (members->empty())
    for (size_t i = 0; i < group.size(); ++i)
      (*members)[MPIX_Tool_process(group[i])].push_back(static_cast<int>(i));
  return *members;
}
const Members& members_of(Comm* c) { return by_process(c->group, &c->members); }

/// The Parts of a call in this process; null where the entry holds a call of another shape.
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

void tell_row(Pieces* pieces, const WireParts& fresh, RowSaid said) {
  said.finish();
  std::string* piece = last_piece_of<WireParts>(pieces, fresh.call);
  const auto* wire = piece ? wire_of<WireParts>(piece) : nullptr;
  if (wire && wire->shape == fresh.shape && wire->world_minus_sender == fresh.world_minus_sender) {
    said.head.differs = different_arguments(wire->call, fresh.call);
    if (join_row(piece->data() + sizeof *wire + wire->last, said)) return;
  } else {
    piece = nullptr;
  }
  if (!piece || piece->size() + bytes_of(said.head) > kMostPiece) {
    said.head.differs = 0;
    piece = add_piece_of(pieces, fresh);
  }
  const size_t end = piece->size();
  piece->resize(end + bytes_of(said.head));
  wire_of<WireParts>(piece)->last = static_cast<uint32_t>(end - sizeof fresh);
  write_row(piece->data() + end, said);
}

/// Adds the row of a sender to the pieces. `fresh` is the head of a new piece, used where
/// no piece has room.
void tell_parts_to(Pieces* pieces, uint32_t sender, const Hashes& row, const WireParts& fresh) {
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
    tell_row(pieces, fresh, said);
  }
}

/// What the member sends to these members. Arrays of a rooted collective are read only at the root.
Hashes row_of(const Arguments& a, bool in_place, const std::vector<int>& receivers) {
  const bool gathers = a.call.info().collective == Collective::kGatherv;
  Hashes row;
  if (gathers && !in_place) {
    add(&row, a.sent());
    return row;
  }
  // With MPI_IN_PLACE a member sends as much as it receives; a scatter's root sends all parts.
  const PartsOf parts(a.call, a.call.info().collective == Collective::kScatterv || !in_place);
  if (gathers)
    add(&row, parts.at(a.own.rank));
  else
    for (int to : receivers) add(&row, parts.at(to));
  return row;
}

/// What the member receives, sender by sender.
Hashes column_of(const Arguments& a, bool in_place) {
  const bool scatters = a.call.info().collective == Collective::kScatterv;
  Hashes column;
  if (scatters && !in_place) {
    add(&column, a.taken());
    return column;
  }
  const PartsOf parts(a.call, scatters);
  if (scatters)
    add(&column, parts.at(a.own.rank));
  else
    for (int from = 0; from < a.own.comm->size; ++from) add(&column, parts.at(from));
  return column;
}

/// Declares what the member sends and receives in a call that has_parts().
void say_parts(const Arguments& a, Said* said) {
  Comm& c = *a.own.comm;
  const Collective what = a.call.info().collective;
  const bool gathers = what == Collective::kGatherv, scatters = what == Collective::kScatterv;
  const bool rooted = gathers || scatters;
  const auto root = rooted ? a.call.value(&Positions::root) : 0;
  if (root < 0 || root >= c.size) return;  // MPI reports this itself
  // Only the root may give MPI_IN_PLACE; elsewhere the unused buffer may be anything.
  const bool in_place = a.in_place() && (!rooted || a.is_root());
  const int home = MPIX_Tool_process(c.group[static_cast<size_t>(root)]);
  for (const auto& [process, members] : members_of(&c)) {
    if (gathers && process != home) continue;
    const bool gives = !scatters || a.is_root(), here = process == g_process.me;
    if (!here && !gives) continue;
    Said::Row row{process, gathers ? 1 : static_cast<uint32_t>(members.size()), gives, {}};
    if (gives) row.hashes = row_of(a, in_place, members);
    said->rows.push_back(std::move(row));
    if (!here || (gathers && !a.is_root())) continue;
    said->takes = true;
    said->column = column_of(a, in_place);
    const auto mine = std::lower_bound(members.begin(), members.end(), a.own.rank);
    said->receiver = gathers ? 0 : static_cast<uint32_t>(mine - members.begin());
  }
}

/// Compares a member's declaration with those of other members here, and sends it to
/// other processes.
void tell_parts(const Telling& t, const Said& said) {
  const CallInfo& info = t.call->info();
  const bool scatters = info.collective == Collective::kScatterv;
  auto caller = [&] { return t.caller(); };
  WireParts wire;
  wire.shape = {info.collective, static_cast<int32_t>(t.call->at(info.at.root)),
                scatters ? 1u : static_cast<uint32_t>(t.c.size), 1};
  const uint32_t sender = scatters ? 0 : static_cast<uint32_t>(t.rank);
  wire.world_minus_sender = t.world() - static_cast<int32_t>(sender);
  wire.comm = t.c.key;
  wire.call = *t.call;
  for (const Said::Row& row : said.rows) {
    wire.shape.receivers = row.receivers;
    if (row.process != g_process.me) {
      tell_parts_to(&t.e->details->told[row.process], sender, row.hashes, wire);
      continue;
    }
    Parts<Caller>* parts = parts_of_call(t.queue, t.e, wire.shape);
    if (!parts) continue;
    if (row.gives)
      note_parts(t.queue, parts->give(sender, 0, row.hashes.list, row.hashes.known, caller));
    if (said.takes)
      note_parts(t.queue, parts->take(said.receiver, said.column.list, said.column.known, caller));
  }
}

void hear_parts(const WireParts& parts, const char* rows, size_t bytes, CallQueue* queue,
                Entry* e) {
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

// ---- Parts between two groups -------------------------------------------------------------------

/// What the member sends to these members of the other group.
Hashes row_between(const Arguments& a, const std::vector<int>& receivers) {
  const PartsOf parts(a.call, true);
  Hashes row;
  for (int to : receivers) add(&row, parts.exist() ? parts.at(to) : a.sent());
  return row;
}

/// What the member receives from each sender of the other group.
Hashes column_between(const Arguments& a, uint32_t senders) {
  const PartsOf parts(a.call, false);
  Hashes column;
  for (uint32_t from = 0; from < senders; ++from)
    add(&column, parts.exist() ? parts.at(static_cast<int>(from)) : a.taken());
  return column;
}

void send_between(const Telling& t, const Arguments& a, uint64_t number, PartsShape shape) {
  Comm& c = *a.own.comm;
  const bool gathers = shape.collective == Collective::kGatherv;
  const int root = gathers ? c.world_of(shape.root) : 0;
  if (root == MPI_UNDEFINED) return;  // MPI reports this itself
  WireParts wire;
  const uint32_t sender =
      shape.collective == Collective::kScatterv ? 0 : static_cast<uint32_t>(t.rank);
  wire.world_minus_sender = t.world() - static_cast<int32_t>(sender);
  wire.comm = c.key ^ 1;  // the other group's
  wire.call = *t.call;
  for (const auto& [process, all] : by_process(c.remote, &c.remote_members)) {
    if (gathers && process != MPIX_Tool_process(root)) continue;
    const std::vector<int>& receivers = gathers ? std::vector<int>{shape.root} : all;
    shape.receivers = static_cast<uint32_t>(receivers.size());
    wire.shape = shape;
    const Hashes row = row_between(a, receivers);
    if (process != g_process.me) {
      tell_parts_to(&t.e->details->told[process], sender, row, wire);
      continue;
    }
    CallQueue& queue = queue_of(wire.comm);
    Entry* e = queue.at(number);
    Parts<Caller>* parts = e ? parts_of_call(&queue, e, shape) : nullptr;
    if (!parts) continue;
    note_parts(&queue, parts->give(sender, 0, row.list, row.known, [&] { return t.caller(); }));
    look_whether_over(wire.comm, number);
  }
}

/// tell_parts() for an intercommunicator, where each group sends to the other.
void tell_parts_between(const Telling& t, const Arguments& a, uint64_t number) {
  Comm& c = *a.own.comm;
  const Collective what = a.call.info().collective;
  const bool gathers = what == Collective::kGatherv, scatters = what == Collective::kScatterv;
  const bool rooted = gathers || scatters, is_root = rooted && a.is_root();
  const auto root = rooted ? a.call.value(&Positions::root) : 0;
  if (root < 0 && !is_root) return;  // it takes no part in the call
  PartsShape shape{what, is_root ? t.rank : static_cast<int32_t>(root), 1, 1};
  if (!rooted || is_root == scatters) {
    if (!scatters) shape.senders = static_cast<uint32_t>(c.size);
    send_between(t, a, number, shape);
  }
  if (rooted && is_root == scatters) return;
  const std::vector<int>& members = members_of(&c).at(g_process.me);
  const auto mine = std::lower_bound(members.begin(), members.end(), t.rank);
  shape.senders = scatters ? 1 : static_cast<uint32_t>(c.remote.size());
  shape.receivers = gathers ? 1 : static_cast<uint32_t>(members.size());
  Parts<Caller>* parts = parts_of_call(t.queue, t.e, shape);
  if (!parts) return;
  const Hashes column = column_between(a, shape.senders);
  note_parts(t.queue, parts->take(gathers ? 0 : static_cast<uint32_t>(mine - members.begin()),
                                  column.list, column.known, [&] { return t.caller(); }));
}

// ---- Repeated calls -----------------------------------------------------------------------------

/// The most hashes that all members of a communicator cache with their calls: 32 MiB.
constexpr size_t kMostKept = size_t{1} << 23;
/// The most bases of a communicator, and the most pieces of each.
constexpr size_t kMostBases = 8;
constexpr size_t kMostPieces = 4096;

/// A declared call becomes a base for its members if none of their calls has become one in this
/// window of call numbers. Windows are aligned, so they are the same for all members, and members
/// return to a common base after one of them has made other calls.
constexpr uint64_t kWindow = 64;

struct Held {
  Comm* c;
  uint64_t number;
};
std::vector<Held> g_held;  ///< calls with details that some member here has not made

void set_number(std::string* piece, uint64_t number) {
  auto* wire = wire_of<WireParts>(piece);
  (wire->kind == WireKind::kParts ? wire->number : wire_of<WireEdges>(piece)->number) = number;
}

Details& details_of(CallQueue* queue, Entry* e) {
  if (!e->details) e->details = std::move(queue->spare_details);
  if (!e->details) e->details = std::make_unique<Details>();
  return *e->details;
}

void look_at_heard(const std::string& piece, const Comm* c, CallQueue* queue, Entry* e) {
  if (static_cast<WireKind>(piece[0]) == WireKind::kParts) {
    WireParts parts;
    std::memcpy(static_cast<void*>(&parts), piece.data(), sizeof parts);
    return hear_parts(parts, piece.data() + sizeof parts, piece.size() - sizeof parts, queue, e);
  }
  WireEdges edges;
  WireEdge list[kMostNotice / sizeof(WireEdge)];
  std::memcpy(static_cast<void*>(&edges), piece.data(), sizeof edges);
  const size_t count = std::min((piece.size() - sizeof edges) / sizeof *list, std::size(list));
  std::memcpy(static_cast<void*>(list), piece.data() + sizeof edges, count * sizeof *list);
  hear_edges(edges, {list, count}, c, queue, e);
}

void tell(const Telling& t, const Said& said) {
  if (t.call->info().collective == Collective::kNeighbor)
    tell_edges(t, said);
  else
    tell_parts(t, said);
}

/// From now on all declarations are sent and compared, beginning with the ones that members here
/// have repeated. Returns false where this had begun before. REQUIRES: the caller calls
/// look_at_all_heard() afterwards, a member that calls only after its own tell().
bool begin_telling(const Comm& c, uint64_t number, CallQueue* queue, Entry* e) {
  Details& d = *e->details;
  if (d.as == Details::As::kTold) return false;
  d.as = Details::As::kTold;
  for (const Details::Repeater& one : d.repeaters) {
    tell({c, queue, e, one.call, one.rank}, *one.said);
    if (one.call->said.get() == one.said.get() && one.call->said_in / kWindow != number / kWindow)
      one.call->said_in = number;
  }
  d.repeaters.clear();
  d.base.reset();
  return true;
}

void look_at_all_heard(const Comm& c, CallQueue* queue, Entry* e) {
  for (const std::string& piece : e->details->heard) look_at_heard(piece, &c, queue, e);
}

void tell_all(const Comm& c, uint64_t number, CallQueue* queue, Entry* e) {
  if (begin_telling(c, number, queue, e)) look_at_all_heard(c, queue, e);
}

/// Did this piece also arrive in the base's call?
bool is_of_base(const Base& base, const std::string& piece) {
  return std::find(base.heard.begin(), base.heard.end(), piece) != base.heard.end();
}

/// Does the call repeat the declaration that its rank made in the base of the entry? The first
/// member chooses the base.
bool repeats(const KeptCall& call, const CallQueue& queue, Details* d) {
  if (d->as == Details::As::kRepeated) return d->base->number == call.said_in;
  if (d->as == Details::As::kTold || queue.broken) return false;
  d->base = queue.base(call.said_in);
  const bool all_heard =
      d->base && std::all_of(d->heard.begin(), d->heard.end(),
                             [&](const std::string& piece) { return is_of_base(*d->base, piece); });
  if (all_heard) d->as = Details::As::kRepeated;
  return all_heard;
}

void send(const std::map<int, Pieces>& told, uint64_t number) {
  for (const auto& [process, pieces] : told)
    for (const std::string& piece : pieces) {
      std::string copy = piece;
      set_number(&copy, number);
      std::memcpy(add_piece(process, copy.size()), copy.data(), copy.size());
    }
}

size_t count(const std::map<int, Pieces>& told) {
  size_t n = 0;
  for (const auto& [process, pieces] : told) n += pieces.size();
  return n;
}

}  // namespace

void Details::reset() {
  as = As::kNothing;
  no_base = false;
  base.reset();
  repeaters.clear();
  told.clear();
  heard.clear();
}

namespace {

/// The declaration of a member, decoded from its arguments.
Shared<Said> said_of(const Arguments& a) {
  auto said = Shared<Said>::make();
  if (a.call.info().collective == Collective::kNeighbor)
    said->ends =
        ends_of(a, neighbours_of(static_cast<MPI_Comm>(a.call.value(&Positions::comm)), &a.own));
  else
    say_parts(a, &*said);
  return said;
}

}  // namespace

void look_at_details(const Arguments& a, KeptCall* kept, const Rank& rank, uint64_t number,
                     CallQueue* queue, Entry* e) {
  Comm& c = *a.own.comm;
  Details& d = details_of(queue, e);
  if (e->arrived == 1) g_held.push_back({&c, number});
  if (kept && (c.inter || !kept->is_known(rank.epoch, KeptCall::kFine))) kept = nullptr;
  const bool said_before = kept && kept->is_known(rank.epoch, KeptCall::kSaid);
  if (said_before && repeats(*kept, *queue, &d)) {
    d.repeaters.push_back({a.own.rank, a.call.kept(), kept->said});
    return;
  }
  const bool begins = begin_telling(c, number, queue, e);
  const Record call = a.call.kept();
  const Telling telling{c, queue, e, call, a.own.rank};
  Shared<Said> said;
  if (c.inter) {
    tell_parts_between(telling, a, number);
  } else {
    said = said_before ? kept->said : said_of(a);
    tell(telling, *said);
  }
  if (begins) look_at_all_heard(c, queue, e);
  if (!kept || d.no_base || said->size() * static_cast<size_t>(c.local_members) > kMostKept) return;
  if (!said_before || kept->said_in / kWindow != number / kWindow) kept->said_in = number;
  kept->said = said;
  kept->set_known(rank.epoch, KeptCall::kSaid);
}

void tell_details(uint64_t number, CallQueue* queue, Entry* e) {
  const Details& d = *e->details;
  std::erase_if(g_held, [&](const Held& h) { return h.c->calls == queue && h.number == number; });
  send(d.as == Details::As::kRepeated ? d.base->told : d.told, number);
}

void tell_held() {
  for (const Held& held : g_held) {
    CallQueue* queue = held.c->calls;
    Entry* e = queue->find(held.number);
    if (!e || !e->details) continue;
    tell_all(*held.c, held.number, queue, e);
    e->details->no_base = true;
    send(std::exchange(e->details->told, {}), held.number);
  }
}

bool details_are_over(const Entry& e) {
  const Details& d = *e.details;
  if (d.as == Details::As::kRepeated) return d.heard.size() >= d.base->heard.size();
  return e.edges.empty() && (!e.parts || e.parts->over());
}

void keep_base(uint64_t number, CallQueue* queue, Entry* e) {
  Details& d = *e->details;
  if (d.as != Details::As::kTold || d.no_base || queue->broken || d.heard.size() > kMostPieces ||
      count(d.told) > kMostPieces)
    return;
  if (queue->bases.size() == kMostBases) queue->bases.erase(queue->bases.begin());
  d.no_base = true;  // the base is stored
  queue->bases.push_back(
      std::make_shared<const Base>(Base{number, std::move(d.told), std::move(d.heard)}));
}

void hear_details(const char* piece, size_t bytes, Comm* c, CallQueue* queue, Entry* e) {
  std::string heard(piece, bytes);
  if (!e) return look_at_heard(heard, c, queue, nullptr);
  const uint64_t number = wire_of<WireParts>(&heard)->kind == WireKind::kParts
                              ? wire_of<WireParts>(&heard)->number
                              : wire_of<WireEdges>(&heard)->number;
  set_number(&heard, 0);
  Details& d = details_of(queue, e);
  d.heard.push_back(std::move(heard));
  if (d.as == Details::As::kTold)
    look_at_heard(d.heard.back(), c, queue, e);
  else if (d.as == Details::As::kRepeated && !is_of_base(*d.base, d.heard.back()))
    tell_all(*c, number, queue, e);
}

}  // namespace fgmpi::check
