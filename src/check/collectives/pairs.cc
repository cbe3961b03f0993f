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
#include "check/collectives/agreement.h"
#include "check/collectives/rows.h"
#include "check/extensions.h"

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
struct DeclaringMember {
  const CheckedComm& c;
  CallQueue* queue;
  CollectiveEntry* e;
  const SharedCall& call;
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
void record_edge(CallQueue* queue, CollectiveEntry* e, const WireEdge& declared, Make&& caller) {
  auto [at, first] = e->edges.try_emplace(declared.between);
  DeclaredEdge& other = at->second;
  if (first) {
    other = {declared, caller()};
    return;
  }
  if (declared.sent == other.declared.sent) return;  // the two calls do not belong together
  if (declared.known && other.declared.known && declared.sum != other.declared.sum)
    report_pair(queue, kCountsDiffer, kCountsAgree, other.by, caller());
  e->edges.erase(at);
}

int sender_of(const WireEdge& edge) { return static_cast<int>(edge.between >> 32); }
int receiver_of(const WireEdge& edge) {
  return static_cast<int>(static_cast<uint32_t>(edge.between));
}

/// Only one end of the edge has declared it: reports this if the member at the other end has
/// called. REQUIRES: all members here have called.
void find_other_end(CallQueue* queue, const WireEdge& declared, const Caller& by) {
  auto other = queue->told.find(declared.sent ? receiver_of(declared) : sender_of(declared));
  if (other == queue->told.end()) return;
  report_pair(queue,
              declared.sent ? "a neighbour sends to a rank that does not take from it"
                            : "a neighbour takes from a rank that does not send to it",
              "an edge of a topology is given at both of its ends", by, other->second);
}

bool have_all_here_declared(const CheckedComm& c, const CallQueue& queue,
                            const CollectiveEntry& e) {
  return static_cast<int>(queue.told.size()) == c.local_members && e.arrived == c.local_members;
}

uint64_t hash_of(const TypeSignature& s) { return s.length == 0 ? 0 : mix(s.hash, s.length); }

/// The edges of this member. Several edges from one rank to another are added up, because each end
/// may list them in its own order.
std::vector<EdgeEnd> ends_of(const Arguments& a, const Neighbours& all) {
  std::vector<EdgeEnd> ends;
  ends.reserve(all.sources.size() + all.destinations.size());
  for_each_edge(a, all, [&](int from, int to, const TypeSignature& s, bool sent) {
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

void send_edge(int process, const DeclaringMember& t, const WireEdge& edge) {
  Pieces& pieces = t.e->details->told[process];
  std::string* piece = last_piece_of<WireEdges>(&pieces, *t.call);
  if (!piece || different_arguments(wire_of<WireEdges>(piece)->call, *t.call) != 0 ||
      piece->size() + sizeof edge > kMostPiece)
    piece = add_piece_of(&pieces, WireEdges{.comm = t.c.key, .call = *t.call});
  piece->append(reinterpret_cast<const char*>(&edge), sizeof edge);
}

/// Compares the edges of a member with the declarations of their other ends, and sends them to the
/// processes of those ends.
void send_edges(const DeclaringMember& t, const CollectiveDeclaration& declared) {
  const bool first = !t.queue->told.contains(t.rank);
  for (const EdgeEnd& end : declared.ends) {
    if (end.here || !end.sent || first) {
      // In the first call both processes learn of an edge between them; only the receiver's
      // compares its signature.
      const bool known = end.known && (end.here || !end.sent);
      record_edge(t.queue, t.e, {end.between, end.sum, known, end.sent, 0},
                  [&] { return t.caller(); });
    }
    if (end.here || (!end.sent && !first)) continue;
    send_edge(end.process, t, {end.between, end.sum, end.known && end.sent, end.sent, t.world()});
  }
  if (!first) return;
  t.e->details->no_base = true;
  t.queue->told.try_emplace(t.rank, t.caller());
  if (have_all_here_declared(t.c, *t.queue, *t.e))
    for (const auto& [between, edge] : t.e->edges) find_other_end(t.queue, edge.declared, edge.by);
}

void receive_edges(const WireEdges& edges, std::span<const WireEdge> list, const CheckedComm* c,
                   CallQueue* queue, CollectiveEntry* e) {
  const SharedCall call(edges.call);
  const bool complete = !e || (c && have_all_here_declared(*c, *queue, *e));
  for (const WireEdge& declared : list) {
    auto caller = [&] { return Caller{declared.world, call}; };
    if (e) record_edge(queue, e, declared, caller);
    // A call is over only when all edges that members here have declared have met their other ends.
    if (complete && (!e || e->edges.contains(declared.between)))
      find_other_end(queue, declared, caller());
  }
}

// ---- Parts of buffers ---------------------------------------------------------------------------

void add(Hashes* hashes, const TypeSignature& s) {
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
const Members& members_of(CheckedComm* c) { return by_process(c->group, &c->members); }

/// The DeclaredParts of a call in this process; null where the entry holds a call of another shape.
DeclaredParts<Caller>* parts_of_call(CallQueue* queue, CollectiveEntry* e,
                                     const PartsShape& shape) {
  if (!e->parts && queue->spare && queue->spare->shape() == shape)
    e->parts = std::move(queue->spare);
  if (!e->parts) e->parts = std::make_unique<DeclaredParts<Caller>>(shape);
  return e->parts->shape() == shape ? e->parts.get() : nullptr;
}

void report_parts(CallQueue* queue, const DeclaredParts<Caller>::Found& found) {
  if (found)
    report_pair(queue, kCountsDiffer, kCountsAgree, *found->sender,
                found->receiver ? *found->receiver : *found->sender);
}

void append_row(Pieces* pieces, const WireParts& fresh, RowDeclaration declared) {
  declared.finish();
  std::string* piece = last_piece_of<WireParts>(pieces, fresh.call);
  const auto* wire = piece ? wire_of<WireParts>(piece) : nullptr;
  if (wire && wire->shape == fresh.shape && wire->world_minus_sender == fresh.world_minus_sender) {
    declared.head.differs = different_arguments(wire->call, fresh.call);
    if (join_row(piece->data() + sizeof *wire + wire->last, declared)) return;
  } else {
    piece = nullptr;
  }
  if (!piece || piece->size() + bytes_of(declared.head) > kMostPiece) {
    declared.head.differs = 0;
    piece = add_piece_of(pieces, fresh);
  }
  const size_t end = piece->size();
  piece->resize(end + bytes_of(declared.head));
  wire_of<WireParts>(piece)->last = static_cast<uint32_t>(end - sizeof fresh);
  write_row(piece->data() + end, declared);
}

/// Adds the row of a sender to the pieces. `fresh` is the head of a new piece, used where
/// no piece has room.
void send_parts_to(Pieces* pieces, uint32_t sender, const Hashes& row, const WireParts& fresh) {
  RowDeclaration declared;
  declared.head.sender = sender;
  declared.head.known = row.known;
  declared.words = fresh.call.words;
  const std::span<const uint32_t> all = row.list;
  const bool same = std::all_of(all.begin(), all.end(), [&](uint32_t h) { return h == all[0]; });
  const size_t most = same ? all.size() : kMostInRow;
  for (size_t first = 0; first < all.size(); first += most) {
    declared.head.first = static_cast<uint32_t>(first);
    declared.hashes = all.subspan(first, std::min(most, all.size() - first));
    append_row(pieces, fresh, declared);
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
void declare_parts(const Arguments& a, CollectiveDeclaration* declared) {
  CheckedComm& c = *a.own.comm;
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
    CollectiveDeclaration::DeclaredRow row{
        process, gathers ? 1 : static_cast<uint32_t>(members.size()), gives, {}};
    if (gives) row.hashes = row_of(a, in_place, members);
    declared->rows.push_back(std::move(row));
    if (!here || (gathers && !a.is_root())) continue;
    declared->takes = true;
    declared->column = column_of(a, in_place);
    const auto mine = std::lower_bound(members.begin(), members.end(), a.own.rank);
    declared->receiver = gathers ? 0 : static_cast<uint32_t>(mine - members.begin());
  }
}

/// Compares a member's declaration with those of other members here, and sends it to
/// other processes.
void send_parts(const DeclaringMember& t, const CollectiveDeclaration& declared) {
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
  for (const CollectiveDeclaration::DeclaredRow& row : declared.rows) {
    wire.shape.receivers = row.receivers;
    if (row.process != g_process.me) {
      send_parts_to(&t.e->details->told[row.process], sender, row.hashes, wire);
      continue;
    }
    DeclaredParts<Caller>* parts = parts_of_call(t.queue, t.e, wire.shape);
    if (!parts) continue;
    if (row.gives)
      report_parts(t.queue, parts->give(sender, 0, row.hashes.list, row.hashes.known, caller));
    if (declared.takes)
      report_parts(t.queue, parts->take(declared.receiver, declared.column.list,
                                        declared.column.known, caller));
  }
}

void receive_parts(const WireParts& parts, const char* rows, size_t bytes, CallQueue* queue,
                   CollectiveEntry* e) {
  if (!e || parts.shape.senders == 0 || parts.shape.receivers == 0) return;
  DeclaredParts<Caller>* all = parts_of_call(queue, e, parts.shape);
  if (!all) return;
  const SharedCall shared(parts.call);
  std::vector<uint32_t> expanded;
  for_each_row(rows, bytes,
               [&](const RowHead& head, std::span<const uint32_t> hashes, auto&& word) {
                 if (head.count > parts.shape.receivers) return;
                 if (head.same) {
                   expanded.assign(head.count, hashes[0]);
                   hashes = expanded;
                 }
                 SharedCall call = shared;
                 if (head.differs) {
                   call = SharedCall(parts.call);
                   for (unsigned set = head.differs; set; set &= set - 1)
                     if (const int i = std::countr_zero(set); i < static_cast<int>(kMostArguments))
                       call->words[i] = word(i);
                 }
                 for (uint32_t i = 0; i < head.members; ++i) {
                   const uint32_t sender = head.sender + i;
                   auto caller = [&] {
                     return Caller{static_cast<int>(sender) + parts.world_minus_sender, call};
                   };
                   report_parts(queue, all->give(sender, head.first, hashes, head.known, caller));
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

void send_between(const DeclaringMember& t, const Arguments& a, uint64_t number, PartsShape shape) {
  CheckedComm& c = *a.own.comm;
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
      send_parts_to(&t.e->details->told[process], sender, row, wire);
      continue;
    }
    CallQueue& queue = queue_of(wire.comm);
    CollectiveEntry* e = queue.at(number);
    DeclaredParts<Caller>* parts = e ? parts_of_call(&queue, e, shape) : nullptr;
    if (!parts) continue;
    report_parts(&queue, parts->give(sender, 0, row.list, row.known, [&] { return t.caller(); }));
    remove_if_over(wire.comm, number);
  }
}

/// send_parts() for an intercommunicator, where each group sends to the other.
void send_parts_between(const DeclaringMember& t, const Arguments& a, uint64_t number) {
  CheckedComm& c = *a.own.comm;
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
  DeclaredParts<Caller>* parts = parts_of_call(t.queue, t.e, shape);
  if (!parts) return;
  const Hashes column = column_between(a, shape.senders);
  report_parts(t.queue, parts->take(gathers ? 0 : static_cast<uint32_t>(mine - members.begin()),
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

struct HeldCall {
  CheckedComm* c;
  uint64_t number;
};
std::vector<HeldCall> g_held;  ///< calls with details that some member here has not made

void set_number(std::string* piece, uint64_t number) {
  auto* wire = wire_of<WireParts>(piece);
  (wire->kind == WireKind::kParts ? wire->number : wire_of<WireEdges>(piece)->number) = number;
}

Details& details_of(CallQueue* queue, CollectiveEntry* e) {
  if (!e->details) e->details = std::move(queue->spare_details);
  if (!e->details) e->details = std::make_unique<Details>();
  return *e->details;
}

void check_received_piece(const std::string& piece, const CheckedComm* c, CallQueue* queue,
                          CollectiveEntry* e) {
  if (static_cast<WireKind>(piece[0]) == WireKind::kParts) {
    WireParts parts;
    std::memcpy(static_cast<void*>(&parts), piece.data(), sizeof parts);
    return receive_parts(parts, piece.data() + sizeof parts, piece.size() - sizeof parts, queue, e);
  }
  WireEdges edges;
  WireEdge list[kMostNotice / sizeof(WireEdge)];
  std::memcpy(static_cast<void*>(&edges), piece.data(), sizeof edges);
  const size_t count = std::min((piece.size() - sizeof edges) / sizeof *list, std::size(list));
  std::memcpy(static_cast<void*>(list), piece.data() + sizeof edges, count * sizeof *list);
  receive_edges(edges, {list, count}, c, queue, e);
}

void announce_declaration(const DeclaringMember& t, const CollectiveDeclaration& declared) {
  if (t.call->info().collective == Collective::kNeighbor)
    send_edges(t, declared);
  else
    send_parts(t, declared);
}

/// From now on all declarations are sent and compared, beginning with the ones that members here
/// have repeated. Returns false where this had begun before. REQUIRES: the caller calls
/// check_received_pieces() afterwards, a member that calls only after its own
/// announce_declaration().
bool begin_announcing(const CheckedComm& c, uint64_t number, CallQueue* queue, CollectiveEntry* e) {
  Details& d = *e->details;
  if (d.as == Details::As::kAnnounced) return false;
  d.as = Details::As::kAnnounced;
  for (const Details::Repeater& one : d.repeaters) {
    announce_declaration({c, queue, e, one.call, one.rank}, *one.declared);
    if (one.call->declared.get() == one.declared.get() &&
        one.call->declared_in / kWindow != number / kWindow)
      one.call->declared_in = number;
  }
  d.repeaters.clear();
  d.base.reset();
  return true;
}

void check_received_pieces(const CheckedComm& c, CallQueue* queue, CollectiveEntry* e) {
  for (const std::string& piece : e->details->heard) check_received_piece(piece, &c, queue, e);
}

void send_all_declarations(const CheckedComm& c, uint64_t number, CallQueue* queue,
                           CollectiveEntry* e) {
  if (begin_announcing(c, number, queue, e)) check_received_pieces(c, queue, e);
}

/// Did this piece also arrive in the base's call?
bool is_of_base(const Base& base, const std::string& piece) {
  return std::find(base.heard.begin(), base.heard.end(), piece) != base.heard.end();
}

/// Does the call repeat the declaration that its rank made in the base of the entry? The first
/// member chooses the base.
bool repeats(const RememberedCall& call, const CallQueue& queue, Details* d) {
  if (d->as == Details::As::kRepeated) return d->base->number == call.declared_in;
  if (d->as == Details::As::kAnnounced || queue.broken) return false;
  d->base = queue.base(call.declared_in);
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
RefPtr<CollectiveDeclaration> declaration_of(const Arguments& a) {
  auto declared = RefPtr<CollectiveDeclaration>::make();
  if (a.call.info().collective == Collective::kNeighbor)
    declared->ends =
        ends_of(a, neighbours_of(static_cast<MPI_Comm>(a.call.value(&Positions::comm)), &a.own));
  else
    declare_parts(a, &*declared);
  return declared;
}

}  // namespace

void check_details_before(const Arguments& a, RememberedCall* kept, const Rank& rank,
                          uint64_t number, CallQueue* queue, CollectiveEntry* e) {
  CheckedComm& c = *a.own.comm;
  Details& d = details_of(queue, e);
  if (e->arrived == 1) g_held.push_back({&c, number});
  if (kept && (c.inter || !kept->is_known(rank.epoch, RememberedCall::kFine))) kept = nullptr;
  const bool declared_before = kept && kept->is_known(rank.epoch, RememberedCall::kDeclared);
  if (declared_before && repeats(*kept, *queue, &d)) {
    d.repeaters.push_back({a.own.rank, a.call.kept(), kept->declared});
    return;
  }
  const bool begins = begin_announcing(c, number, queue, e);
  const SharedCall call = a.call.kept();
  const DeclaringMember member{c, queue, e, call, a.own.rank};
  RefPtr<CollectiveDeclaration> declared;
  if (c.inter) {
    send_parts_between(member, a, number);
  } else {
    declared = declared_before ? kept->declared : declaration_of(a);
    announce_declaration(member, *declared);
  }
  if (begins) check_received_pieces(c, queue, e);
  if (!kept || d.no_base || declared->size() * static_cast<size_t>(c.local_members) > kMostKept)
    return;
  if (!declared_before || kept->declared_in / kWindow != number / kWindow)
    kept->declared_in = number;
  kept->declared = declared;
  kept->set_known(rank.epoch, RememberedCall::kDeclared);
}

void send_details(uint64_t number, CallQueue* queue, CollectiveEntry* e) {
  const Details& d = *e->details;
  std::erase_if(g_held,
                [&](const HeldCall& h) { return h.c->calls == queue && h.number == number; });
  send(d.as == Details::As::kRepeated ? d.base->told : d.told, number);
}

void send_held_details() {
  for (const HeldCall& held : g_held) {
    CallQueue* queue = held.c->calls;
    CollectiveEntry* e = queue->find(held.number);
    if (!e || !e->details) continue;
    send_all_declarations(*held.c, held.number, queue, e);
    e->details->no_base = true;
    send(std::exchange(e->details->told, {}), held.number);
  }
}

bool details_are_over(const CollectiveEntry& e) {
  const Details& d = *e.details;
  if (d.as == Details::As::kRepeated) return d.heard.size() >= d.base->heard.size();
  return e.edges.empty() && (!e.parts || e.parts->over());
}

void store_base(uint64_t number, CallQueue* queue, CollectiveEntry* e) {
  Details& d = *e->details;
  if (d.as != Details::As::kAnnounced || d.no_base || queue->broken ||
      d.heard.size() > kMostPieces || count(d.told) > kMostPieces)
    return;
  if (queue->bases.size() == kMostBases) queue->bases.erase(queue->bases.begin());
  d.no_base = true;  // the base is stored
  queue->bases.push_back(
      std::make_shared<const Base>(Base{number, std::move(d.told), std::move(d.heard)}));
}

void receive_details(const char* piece, size_t bytes, CheckedComm* c, CallQueue* queue,
                     CollectiveEntry* e) {
  std::string heard(piece, bytes);
  if (!e) return check_received_piece(heard, c, queue, nullptr);
  const uint64_t number = wire_of<WireParts>(&heard)->kind == WireKind::kParts
                              ? wire_of<WireParts>(&heard)->number
                              : wire_of<WireEdges>(&heard)->number;
  set_number(&heard, 0);
  Details& d = details_of(queue, e);
  d.heard.push_back(std::move(heard));
  if (d.as == Details::As::kAnnounced)
    check_received_piece(d.heard.back(), c, queue, e);
  else if (d.as == Details::As::kRepeated && !is_of_base(*d.base, d.heard.back()))
    send_all_declarations(*c, number, queue, e);
}

}  // namespace fgmpi::check
