// Agreement: what the members of a communicator give to one collective call is compared.
//
// Within a process with what the first member to call has given, before MPI sees it: a word by word comparison, and one of
// signatures where words differ. Between processes the first one's is sent to the process of the communicator's rank 0, which
// compares it with its own first one's. Nobody waits for that: it comes in before every message of the same process, so the
// process of rank 0 knows of a disagreement before it takes part; where an error or a deadlock of the library comes first, it
// is asked (ask_home(), before the report of deadlocks all has come in).
//
//   first member of a process --announcement--> process of rank 0: compares
//
// Calls whose counts differ by rank are compared by a sum over all pairs of a hash of what one sends the other, minus the same
// for what is received: 0 when all agree. Neighbours are compared each pair for itself, in the receiver's process: what is
// sent to it is told there (WireEdges) as the sender calls. Their sum only says whether each edge has two ends.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/hash.h"
#include "tools/check/call.h"
#include "tools/check/extensions.h"
#include "tools/check/wire.h"

namespace fgmpi::check {
namespace {

/// What a rank gives another in a neighbourhood collective, as one of the two has said.
struct Edge {
  WireEdge said;
  int world = 0;
  Record call;
};

/// One call on a communicator, until all who are expected here have made it and, where clocks count, left it.
struct Entry {
  Announcement first;
  bool known = false;  ///< `first` is there
  bool root_was_first = false;
  uint64_t agreed = 0;  ///< agreed_of() the first call here
  uint64_t counts = 0;  ///< hash of the array of counts of the first member here
  int arrived = 0;      ///< members in this process
  int left = 0;         ///< members in this process that MPI has let go
  int announced = 0;    ///< other processes, where rank 0 is
  int sums = 0;
  bool sum_known = true;
  uint64_t sum = 0;
  std::unordered_map<uint64_t, Edge>
      edges;  ///< into this process, of which only one end is there; by WireEdge::between
  Knowledge known_by_all, known_by_root;  ///< what the members here knew, and the root
};

struct Disagreement {
  const char* sentence;
  const char* allowed;
  Announcement one, other;
};

std::unordered_map<uint64_t, std::unique_ptr<CallQueue>> g_queues;  ///< by key of the communicator
std::vector<std::unique_ptr<Entry>> g_spare;
std::vector<Disagreement> g_disagreements;
bool g_any_disagreements = false;
int g_answers = 0;

}  // namespace

struct CallQueue {
  std::vector<std::unique_ptr<Entry>> ring;  ///< by number; its size is a power of two
  uint64_t first = 0, next = 0;  ///< numbers of the oldest that is there, and behind the newest
  bool broken = false;           ///< there was a disagreement: what follows from it is not reported

  Entry* at(uint64_t number) {
    if (number < first) return nullptr;
    while (number >= next) make_next();
    return ring[number & (ring.size() - 1)].get();
  }
  void end(uint64_t number) {
    auto& entry = ring[number & (ring.size() - 1)];
    *entry = Entry();
    g_spare.push_back(std::move(entry));
    while (first < next && !ring[first & (ring.size() - 1)]) ++first;
  }
  /// Is one of the calls that are not over a neighbourhood collective? Of those each process compares a part.
  bool has_neighbours() const {
    return std::any_of(ring.begin(), ring.end(), [](const auto& entry) {
      return entry && entry->known && entry->first.call.info().collective == Collective::kNeighbor;
    });
  }

 private:
  void make_next() {
    if (next - first == ring.size()) {
      std::vector<std::unique_ptr<Entry>> larger(std::max<size_t>(4, ring.size() * 2));
      for (uint64_t i = first; i < next; ++i)
        larger[i & (larger.size() - 1)] = std::move(ring[i & (ring.size() - 1)]);
      ring = std::move(larger);
    }
    auto& entry = ring[next++ & (ring.size() - 1)];
    if (g_spare.empty()) {
      entry = std::make_unique<Entry>();
    } else {
      entry = std::move(g_spare.back());
      g_spare.pop_back();
    }
  }
};

namespace {

CallQueue& queue_of(uint64_t key) {
  auto& queue = g_queues[key];
  if (!queue) queue = std::make_unique<CallQueue>();
  return *queue;
}

void note_disagreement(const Disagreement& d) {
  g_disagreements.push_back(d);
  g_any_disagreements = true;
}

bool same_operation(const Announcement& a, const Announcement& b) {
  const CallInfo &x = a.call.info(), &y = b.call.info();
  return x.starts == y.starts && !std::strcmp(x.operation, y.operation);
}

void compare(CallQueue* queue, const Announcement& one, const Announcement& other) {
  if (queue->broken) return;
  const char *sentence = nullptr,
             *allowed =
                 "all members of a communicator make the same collective calls in the same order";
  if (!same_operation(one, other)) {
    sentence = "members of a communicator make different collective calls";
  } else if (one.inter || other.inter) {
    return;
  } else if (one.rooted && one.root != other.root) {
    sentence = "members of a communicator give different roots";
    allowed = "all give the same root";
  } else if (one.op != other.op) {
    sentence = "members of a communicator give different operations";
    allowed = "all give the same operation";
  } else if (one.known && other.known && !one.packed && !other.packed &&
             (one.hash != other.hash || one.length != other.length)) {
    sentence = "counts or types of a collective call do not agree";
    allowed = "what each rank sends has the types that it is received with, one by one";
  }
  if (!sentence) return;
  queue->broken = true;
  note_disagreement({sentence, allowed, one, other});
}

// ---- What a call says --------------------------------------------------------------------------------------------------

/// Arguments of a collective.
struct Arguments {
  const Call& call;
  OwnComm& own;

  bool is_root() const {
    return !call.has(&Positions::root) || call.value(&Positions::root) == own.rank;
  }
  bool in_place() const {
    return call.value(&Positions::send_buffer) == word_of_in_place() ||
           call.value(&Positions::recv_buffer) == word_of_in_place();
  }
  Signature sent() const { return one(&Positions::send_count, &Positions::send_type); }
  Signature taken() const { return one(&Positions::recv_count, &Positions::recv_type); }
  /// Of the i-th element of arrays that begin with "send" or "recv".
  Signature part(bool sends, int i) const {
    const int counts = call.find(sends ? "sendcounts" : "recvcounts");
    const int types = call.find(sends ? "sendtypes" : "recvtypes");
    if (types >= 0 && !call.at(types)) return {0, 0, false, false};
    const auto type = types >= 0 ? reinterpret_cast<const MPI_Datatype*>(call.at(types))[i]
                                 : static_cast<MPI_Datatype>(call.value(
                                       sends ? &Positions::send_type : &Positions::recv_type));
    // An array that is not there is MPI's to complain of.
    return counts < 0 || !call.at(counts) ? Signature{0, 0, false, false}
                                          : signature_of(type, number_in(call, call.at(counts), i));
  }

 private:
  Signature one(int8_t Positions::*count, int8_t Positions::*type) const {
    return signature_of(static_cast<MPI_Datatype>(call.value(type)), call.value(count));
  }
};

Signature of_all_parts(const Arguments& a) {
  Signature all;
  for (int i = 0; i < a.own.comm->size; ++i) {
    const Signature s = a.part(false, i);
    all.known = all.known && s.known && !s.packed;
    all.hash = mix(all.hash, mix(s.hash, s.length));
  }
  all.length = 1;
  return all;
}

/// What must be the same at all members; unknown where there is nothing.
Signature common_signature(const Arguments& a) {
  if (a.own.comm->inter) return {0, 0, false, false};
  switch (a.call.info().collective) {
    case Collective::kBcast:
    case Collective::kReduce:
    case Collective::kAllreduce:
    case Collective::kScan:
    case Collective::kExscan:
    case Collective::kReduceScatterBlock:
    case Collective::kAllgather:
    case Collective::kAlltoall:
      return a.taken();
    case Collective::kReduceScatter:
    case Collective::kAllgatherv:
      return of_all_parts(a);
    case Collective::kGather:
      return a.is_root() ? a.taken() : a.sent();
    case Collective::kScatter:
      return a.is_root() ? a.sent() : a.taken();
    default:
      return {0, 0, false, false};
  }
}

uint64_t pair_hash(int from, int to, const Signature& s) {
  return s.length == 0 ? 0
                       : mix(mix(static_cast<uint64_t>(from), static_cast<uint64_t>(to)),
                             mix(s.hash, s.length));
}

bool has_sum(Collective c) {
  return c == Collective::kGatherv || c == Collective::kScatterv || c == Collective::kAlltoallv ||
         c == Collective::kAlltoallw || c == Collective::kNeighbor;
}

/// f(from, to, signature, whether it is sent) for each edge of the member in a neighbourhood collective.
template <class F>
void for_each_edge(const Arguments& a, const Neighbours& all, F&& f) {
  const bool out_parts = a.call.find("sendcounts") >= 0, in_parts = a.call.find("recvcounts") >= 0;
  int i = 0;
  for (int to : all.destinations) {
    const int part = i++;
    if (to != MPI_PROC_NULL) f(a.own.rank, to, out_parts ? a.part(true, part) : a.sent(), true);
  }
  i = 0;
  for (int from : all.sources) {
    const int part = i++;
    if (from != MPI_PROC_NULL)
      f(from, a.own.rank, in_parts ? a.part(false, part) : a.taken(), false);
  }
}

/// One end of an edge is told: compared with the other one where that was told before, else kept until it is.
void tell_edge(CallQueue* queue, Entry* e, const WireEdge& said, int world, const CallRecord& call,
               const Call* kept) {
  auto [at, first] = e->edges.try_emplace(said.between);
  Edge& other = at->second;
  if (first) {
    other = {said, world, kept ? kept->kept() : Record(call)};
    return;
  }
  if (said.known && other.said.known && said.sum != other.said.sum && !queue->broken) {
    queue->broken = true;
    Announcement one, two;
    one.world = other.world;
    one.call = other.call;
    two.world = world;
    two.call = call;
    note_disagreement({"counts or types of a collective call do not agree",
                       "what each rank sends has the types that it is received with, one by one",
                       one, two});
  }
  e->edges.erase(at);
}

/// An edge as one of its ends tells of it.
struct EdgeEnd {
  WireEdge said;
  bool sent;
  int other;  ///< world rank at the other end
};

/// The edges of this member, each once: several from one rank to another, in an order of each's own, are added up.
std::vector<EdgeEnd> ends_of(const Arguments& a, const Neighbours& all) {
  std::vector<EdgeEnd> ends;
  ends.reserve(all.sources.size() + all.destinations.size());
  for_each_edge(a, all, [&](int from, int to, const Signature& s, bool sent) {
    ends.push_back({{static_cast<uint64_t>(from) << 32 | static_cast<uint32_t>(to),
                     pair_hash(from, to, s), s.known && !s.packed},
                    sent,
                    a.own.comm->group[static_cast<size_t>(sent ? to : from)]});
  });
  std::sort(ends.begin(), ends.end(), [](const EdgeEnd& x, const EdgeEnd& y) {
    return x.said.between != y.said.between ? x.said.between < y.said.between : x.sent < y.sent;
  });
  size_t kept = 0;
  for (size_t i = 1; i < ends.size(); ++i) {
    EdgeEnd& last = ends[kept];
    if (ends[i].said.between == last.said.between && ends[i].sent == last.sent) {
      last.said.sum += ends[i].said.sum;
      last.said.known = last.said.known && ends[i].said.known;
    } else {
      ends[++kept] = ends[i];
    }
  }
  if (!ends.empty()) ends.resize(kept + 1);
  return ends;
}

/// Compares the edges of this member into this process; `told`: what other processes are to be told of those into them, with
/// their numbers.
void look_at_edges(const Arguments& a, int world, uint64_t number, CallQueue* queue, Entry* e,
                   std::vector<std::pair<int, WireEdges>>* told) {
  const Neighbours& all =
      neighbours_of(static_cast<MPI_Comm>(a.call.value(&Positions::comm)), &a.own);
  for (const EdgeEnd& end : ends_of(a, all)) {
    // Added up over all members this is 0 where each edge has two ends.
    const uint64_t hash = mix(end.said.between, 1);
    e->sum += end.sent ? hash : -hash;
    if (!end.sent || is_local(end.other)) {
      tell_edge(queue, e, end.said, world, a.call.record(), &a.call);
      continue;
    }
    const int process = MPIX_Tool_process(end.other);
    auto at = std::find_if(told->begin(), told->end(), [&](const auto& one) {
      return one.first == process && one.second.count < std::size(one.second.list);
    });
    if (at == told->end()) {
      WireEdges wire = {WireKind::kEdges, 0, world, a.own.comm->key, number, a.call.record(), {}};
      at = told->insert(told->end(), {process, wire});
    }
    at->second.list[at->second.count++] = end.said;
  }
}

/// This member's part of the sum; false: what it sends is not known.
bool sum_of(const Arguments& a, uint64_t* sum) {
  const Collective c = a.call.info().collective;
  const int me = a.own.rank, size = a.own.comm->size;
  bool all_known = !a.own.comm->inter;
  auto add = [&](int from, int to, const Signature& s, bool sent) {
    all_known = all_known && s.known && !s.packed;
    *sum += sent ? pair_hash(from, to, s) : -pair_hash(from, to, s);
  };
  if (!all_known) return false;
  if (c == Collective::kGatherv || c == Collective::kScatterv) {
    // Each member has a part of its own, and the root has all of them on the other side.
    const bool gathers = c == Collective::kGatherv;
    for (int i = 0; a.is_root() && i < size; ++i) add(i, 0, a.part(!gathers, i), !gathers);
    add(me, 0, a.in_place() ? a.part(!gathers, me) : gathers ? a.sent() : a.taken(), gathers);
    return all_known;
  }
  if (a.in_place()) return false;
  for (int i = 0; i < size; ++i) {
    add(me, i, a.part(true, i), true);
    add(i, me, a.part(false, i), false);
  }
  return all_known;
}

/// A member's own send and receive buffers agree, where it receives what it sends to itself.
void look_at_own(Call* call, const Arguments& a) {
  const Collective c = call->info().collective;
  const bool parts = c == Collective::kAllgatherv;
  const bool both = c == Collective::kAllgather || c == Collective::kAlltoall ||
                    ((c == Collective::kGather || c == Collective::kScatter) && a.is_root());
  if ((!both && !parts) || a.in_place() || a.own.comm->inter) return;
  if (both && call->value(&Positions::send_count) == call->value(&Positions::recv_count) &&
      call->value(&Positions::send_type) == call->value(&Positions::recv_type))
    return;
  if (!(a.sent() == (parts ? a.part(false, a.own.rank) : a.taken())))
    report(Kind::kCollectives, "counts or types of a collective call do not agree",
           "what each rank sends has the types that it is received with, one by one", {call->me()});
}

/// Of the array whose elements all members give alike.
uint64_t hash_of_counts(const Arguments& a) {
  const Collective c = a.call.info().collective;
  if (c != Collective::kAllgatherv && c != Collective::kReduceScatter) return 0;
  const int counts = a.call.find("recvcounts");
  if (!a.call.at(counts)) return 0;
  return hash_bytes(reinterpret_cast<const void*>(a.call.at(counts)),
                    static_cast<size_t>(a.own.comm->size) * (a.call.info().large ? 8 : 4));
}

/// Does the call give what the first one here has given, so that it needs no further look?
bool repeats(const Arguments& a, const Entry& e) {
  const uint64_t agreed = a.call.agreed();
  if (e.arrived == 0 || agreed == 0 || agreed != e.agreed) return false;
  const bool rooted = a.call.has(&Positions::root) && (a.is_root() || e.root_was_first);
  return !rooted && hash_of_counts(a) == e.counts;
}

Announcement announcement_of(const Arguments& a, int world, uint64_t number) {
  const Call& call = a.call;
  Announcement said;
  const Signature s =
      call.info().role == Role::kCollective ? common_signature(a) : Signature{0, 0, false, false};
  said.known = s.known;
  said.packed = s.packed;
  said.hash = s.hash;
  said.length = s.length;
  said.rooted = call.has(&Positions::root);
  said.inter = a.own.comm->inter;
  said.root = static_cast<int>(call.value(&Positions::root));
  // The program's own operations have a handle at each rank.
  const auto op = static_cast<int>(call.value(&Positions::op));
  said.op = is_predefined(op) ? op : -1;
  said.world = world;
  said.comm = a.own.comm->key;
  said.number = number;
  said.call = call.record();
  return said;
}

// ---- Members arrive ----------------------------------------------------------------------------------------------------

void end_if_over(const Comm& c, uint64_t number, const Entry* e) {
  if (e->arrived < c.local_members || (e->left < c.local_members && g_process.follows_order()))
    return;
  CallQueue& queue = *c.calls;
  const bool home = c.home == g_process.me;
  const int others = home ? static_cast<int>(c.others.size()) : 0;
  const bool sums = has_sum(e->first.call.info().collective);
  if (e->announced < others || (sums && e->sums < others) || !e->edges.empty()) return;
  if (sums && home && e->sum_known && e->sum != 0 && !queue.broken) {
    queue.broken = true;
    note_disagreement({"counts or types of a collective call do not agree",
                       "what each rank sends has the types that it is received with, one by one",
                       e->first, e->first});
  }
  queue.end(number);
}

const Comm* find_comm(uint64_t key) {
  auto found = g_process.comms.find(key);
  return found == g_process.comms.end() || !found->second->calls ? nullptr : found->second.get();
}

void on_announcement(const Announcement& said) {
  if (said.call.id >= kCallCount) return;
  CallQueue& queue = queue_of(said.comm);
  Entry* e = queue.at(said.number);
  if (!e) return;
  if (e->known)
    compare(&queue, said, e->first);
  else
    e->first = said;
  e->known = true;
  ++e->announced;
  if (const Comm* c = find_comm(said.comm)) end_if_over(*c, said.number, e);
}

void on_sum(const WireSum& sum) {
  Entry* e = queue_of(sum.comm).at(sum.number);
  if (!e) return;
  ++e->sums;
  e->sum += sum.sum;
  e->sum_known = e->sum_known && sum.known;
  if (const Comm* c = find_comm(sum.comm)) end_if_over(*c, sum.number, e);
}

void on_edges(const WireEdges& edges) {
  if (edges.call.id >= kCallCount) return;
  CallQueue& queue = queue_of(edges.comm);
  Entry* e = queue.at(edges.number);
  if (!e) return;
  for (uint32_t i = 0; i < edges.count; ++i)
    tell_edge(&queue, e, edges.list[i], edges.world, edges.call, nullptr);
  if (const Comm* c = find_comm(edges.comm)) end_if_over(*c, edges.number, e);
}

/// What members know when they have left follows from these: bit 0 what all knew, bit 1 what the root knew.
enum Learns : uint8_t { kNothing, kOfAll, kOfRoot };
Learns learns(const CallInfo& info, bool root) {
  switch (info.collective) {
    case Collective::kBcast:
    case Collective::kScatter:
    case Collective::kScatterv:
      return root ? kNothing : kOfRoot;
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kGatherv:
      return root ? kOfAll : kNothing;
    default:  // of a scan more than follows, which hides races but makes none up
      return kOfAll;
  }
}

findings::Participant participant_of(const Announcement& said, const char* role) {
  return {said.world, said.call.info().name, arguments_of(said.call, nullptr), said.call.site,
          role};
}

}  // namespace

void look_at_collective(Call* call) {
  const CallInfo& info = call->info();
  if (g_process.opens_groups || info.at.comm < 0) return;
  if (!g_process.wants(Kind::kCollectives) && !g_process.follows_order()) return;
  Rank* rank = call->rank();
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call->value(&Positions::comm)));
  if (!own || own->comm->local_members == 0 || own->comm->foreign) return;
  Comm& c = *own->comm;
  const Arguments a{*call, *own};
  const uint64_t number = own->collectives++;
  call->collective = {own->comm, number, a.is_root()};
  step_enter(rank, call->collective, own->rank);
  if (info.role == Role::kCollective) look_at_own(call, a);
  if (!c.others.empty() && rank->events &&
      (own->events.empty() || own->events.back().second != rank->events))
    own->events.emplace_back(number, rank->events);
  std::optional<Announcement> announced;
  WireSum summed = {WireKind::kSum, true, c.key, number, 0};
  bool sums = false;
  if (!c.calls) c.calls = &queue_of(c.key);
  Entry* e = c.calls->at(number);
  if (!e) return;
  if (!repeats(a, *e)) {
    const Announcement said = announcement_of(a, rank->world, number);
    if (e->known) compare(c.calls, said, e->first);
    if (e->arrived == 0) {
      e->first = said;
      e->agreed = call->agreed();
      e->counts = hash_of_counts(a);
      e->root_was_first = info.at.root >= 0 && a.is_root();
      e->known = true;
      if (c.home != g_process.me) announced = said;
    }
  }
  ++e->arrived;
  e->known_by_all.learn(rank->knows);
  if (info.at.root >= 0 && a.is_root()) e->known_by_root = rank->knows;
  std::vector<std::pair<int, WireEdges>> edges;
  if (has_sum(info.collective)) {
    if (info.collective == Collective::kNeighbor)
      look_at_edges(a, rank->world, number, c.calls, e, &edges);
    else
      e->sum_known = sum_of(a, &e->sum) && e->sum_known;
    sums = c.home != g_process.me && e->arrived == c.local_members;
    summed.known = e->sum_known;
    summed.sum = e->sum;
  }
  end_if_over(c, number, e);
  if (announced) MPIX_Tool_notify(c.home, &*announced, sizeof *announced);
  for (const auto& [process, wire] : edges)
    MPIX_Tool_notify(process, &wire, static_cast<int>(bytes_of(wire)));
  if (sums) MPIX_Tool_notify(c.home, &summed, sizeof summed);
  report_disagreements();
}

void leave_collective(Rank* rank, const CallInfo& info, const CollectiveCall& call) {
  if (!g_process.follows_order()) return;
  const Comm& c = *call.comm;
  const Learns what = info.starts == Starts::kPersistent ? kNothing : learns(info, call.is_root);
  Entry* e = c.calls->at(call.number);
  if (!e) return;
  if (what != kNothing) {
    rank->knows.learn(what == kOfRoot ? e->known_by_root : e->known_by_all);
    // What members in other processes knew is not known here: their order follows from the number of the call.
    if (!c.others.empty() || c.inter)
      rank->knows.learn_comm({of_comm(c.key & ~uint64_t{1}), call.number + 1});
  }
  ++e->left;
  end_if_over(c, call.number, e);
}

void on_agreement(int process, const void* data, int bytes) {
  Announcement said;
  WireSum sum;
  const auto kind = static_cast<WireKind>(*static_cast<const uint8_t*>(data));
  if (kind == WireKind::kAnnouncement && bytes == sizeof said) {
    std::memcpy(static_cast<void*>(&said), data, sizeof said);
    on_announcement(said);
    report_disagreements();
  } else if (kind == WireKind::kSum && bytes == sizeof sum) {
    std::memcpy(&sum, data, sizeof sum);
    on_sum(sum);
  } else if (kind == WireKind::kEdges) {
    WireEdges edges;
    const auto size = static_cast<size_t>(bytes);
    if (size < offsetof(WireEdges, list) || size > sizeof edges) return;
    std::memcpy(static_cast<void*>(&edges), data, size);
    if (size == bytes_of(edges)) on_edges(edges);
    report_disagreements();
  } else if (kind == WireKind::kQuestion) {
    const WireKind answer = WireKind::kAnswer;
    MPIX_Tool_notify(process, &answer, sizeof answer);
  } else if (kind == WireKind::kAnswer) {
    ++g_answers;
  }
}

void ask_home() {
  // What the other processes have sent is there in microseconds; one that is gone never answers.
  constexpr auto kLongest = std::chrono::milliseconds(200);
  std::set<int> asked;
  for (const auto& [key, c] : g_process.comms) {
    if (!c->calls || c->calls->first >= c->calls->next) continue;
    if (c->home != g_process.me) asked.insert(c->home);
    if (c->calls->has_neighbours()) asked.insert(c->others.begin(), c->others.end());
  }
  const int wanted = g_answers + static_cast<int>(asked.size());
  const WireKind question = WireKind::kQuestion;
  for (int process : asked) MPIX_Tool_notify(process, &question, sizeof question);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (g_answers < wanted && std::chrono::steady_clock::now() < end) MPIX_Yield();
  report_disagreements();
}

void report_disagreements() {
  if (!g_any_disagreements || !g_process.on) return;  // kept until findings have a place
  std::vector<Disagreement> list;
  g_any_disagreements = false;
  list.swap(g_disagreements);
  for (const Disagreement& d : list) {
    std::vector<findings::Participant> calls = {participant_of(d.one, "")};
    if (d.other.world != d.one.world) calls.push_back(participant_of(d.other, "disagrees"));
    report(Kind::kCollectives, d.sentence, d.allowed, std::move(calls));
  }
}

void report_collectives_left() {
  report_disagreements();
  // Ranks that only have sessions are not followed.
  for (const auto& rank : g_process.all)
    if (!rank) return;
  for (const auto& [key, queue] : g_queues) {
    if (queue->broken) continue;
    const Comm* c = find_comm(key);
    const bool home = c && c->home == g_process.me;
    for (const auto& e : queue->ring) {
      if (!e || !e->known) continue;
      // Where no member in this process ever used the communicator it is not known.
      if (!c || e->arrived < c->local_members ||
          (home && e->announced < static_cast<int>(c->others.size())))
        report(Kind::kCollectives,
               "a collective call is not made by all members of its communicator",
               "all members of a communicator make the same collective calls in the same order",
               {participant_of(e->first, "")});
    }
  }
}

}  // namespace fgmpi::check
