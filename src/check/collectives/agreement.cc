// Agreement: compares what the members of a communicator give to one collective call.
//
// Within a process each member is compared with the first member to call, before MPI sees the call:
// argument by argument, and by signatures where arguments differ. Between processes each process
// announces its first call to the process of the communicator's rank 0, when its last member has
// called (outbox.h). That process compares the announcement with its own first call. Nobody waits
// for this. Where an error of the library comes first, the other processes are asked
// (ask_others()). Before a deadlock is reported, all announcements have arrived.
//
//   first member of a process --announcement--> process of rank 0: compares
//
// Calls whose counts differ by rank and neighbourhood collectives are compared for each pair of
// ranks (pairs.cc).
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/hash.h"
#include "check/collectives/agreement.h"
#include "check/extensions.h"

namespace fgmpi::check {
namespace {

struct Disagreement {
  const char* sentence;
  const char* allowed;
  WireAnnouncement one, other;
  uint64_t comm;  ///< its key, without the side
  bool note = false;
};

std::unordered_map<uint64_t, std::unique_ptr<CallQueue>> g_queues;  ///< by key of the communicator
std::vector<std::unique_ptr<CollectiveEntry>> g_spare;
std::vector<Disagreement> g_disagreements;
bool g_any_disagreements = false;
int g_answers = 0;

}  // namespace

void CallQueue::end(uint64_t number) {
  auto& entry = ring[number & (ring.size() - 1)];
  if (entry->parts) {
    entry->parts->reset();
    spare = std::move(entry->parts);
  }
  if (entry->details) {
    entry->details->reset();
    spare_details = std::move(entry->details);
  }
  *entry = CollectiveEntry();
  g_spare.push_back(std::move(entry));
  while (first < next && !ring[first & (ring.size() - 1)]) ++first;
}

void CallQueue::make_next() {
  if (next - first == ring.size()) {
    std::vector<std::unique_ptr<CollectiveEntry>> larger(std::max<size_t>(4, ring.size() * 2));
    for (uint64_t i = first; i < next; ++i)
      larger[i & (larger.size() - 1)] = std::move(ring[i & (ring.size() - 1)]);
    ring = std::move(larger);
  }
  auto& entry = ring[next++ & (ring.size() - 1)];
  if (g_spare.empty()) {
    entry = std::make_unique<CollectiveEntry>();
  } else {
    entry = std::move(g_spare.back());
    g_spare.pop_back();
  }
}

CallQueue& queue_of(uint64_t key) {
  auto& queue = g_queues[key];
  if (!queue) {
    queue = std::make_unique<CallQueue>();
    queue->comm = without_side(key);
  }
  return *queue;
}

namespace {

void report_disagreement(const Disagreement& d) {
  g_disagreements.push_back(d);
  g_any_disagreements = true;
}

bool same_operation(const WireAnnouncement& a, const WireAnnouncement& b) {
  const CallInfo &x = a.call.info(), &y = b.call.info();
  return x.starts == y.starts && !std::strcmp(x.operation, y.operation);
}

/// For MPI_Intercomm_create the local leader, which all members must give alike besides the
/// communicator; else 0.
int64_t leader_of(const CallRecord& call) {
  return call.id == kCall_MPI_Intercomm_create ? call.words[1] : 0;
}

void compare(CallQueue* queue, const WireAnnouncement& one, const WireAnnouncement& other) {
  if (queue->broken || one.inter || other.inter) return;  // those of intercommunicators: groups.cc
  const char *sentence = nullptr,
             *allowed =
                 "all members of a communicator make the same collective calls in the same order";
  if (!same_operation(one, other)) {
    sentence = "members of a communicator make different collective calls";
  } else if (one.rooted && one.root != other.root) {
    sentence = "members of a communicator give different roots";
    allowed = "all give the same root";
  } else if (one.op != other.op) {
    sentence = "members of a communicator give different operations";
    allowed = "all give the same operation";
  } else if (is_in_place_for_all(one.call) != is_in_place_for_all(other.call)) {
    sentence = "members of a communicator give MPI_IN_PLACE, and others do not";
    allowed = "all members give MPI_IN_PLACE to this call, or none does";
  } else if (leader_of(one.call) != leader_of(other.call)) {
    sentence = "members of a group give MPI_Intercomm_create different local leaders";
    allowed = "all members of local_comm give the same local_leader";
  } else if (one.known && other.known && !one.packed && !other.packed &&
             (one.hash != other.hash || one.length != other.length)) {
    sentence = kCountsDiffer;
    allowed = kCountsAgree;
  }
  if (!sentence) return;
  queue->broken = true;
  report_disagreement({sentence, allowed, one, other, queue->comm});
}

// ---- What a call says ---------------------------------------------------------------------------

TypeSignature of_all_parts(const Arguments& a) {
  const PartsOf parts(a.call, false);
  TypeSignature all;
  for (int i = 0; i < a.own.comm->size; ++i) {
    const TypeSignature s = parts.at(i);
    all.known = all.known && s.known && !s.packed;
    all.hash = mix(all.hash, mix(s.hash, s.length));
  }
  all.length = 1;
  return all;
}

/// The signature that must be the same at all members; unknown where the operation has none.
TypeSignature common_signature(const Arguments& a) {
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

/// Checks that a member's own send and receive buffers agree, where it receives what it
/// sends to itself.
void declare_own_values(CheckedCall* call, const Arguments& a) {
  const Collective c = call->info().collective;
  const bool parts = c == Collective::kAllgatherv;
  const bool both = c == Collective::kAllgather || c == Collective::kAlltoall ||
                    ((c == Collective::kGather || c == Collective::kScatter) && a.is_root());
  if ((!both && !parts) || a.in_place() || a.own.comm->inter) return;
  if (both && call->value(&Positions::send_count) == call->value(&Positions::recv_count) &&
      call->value(&Positions::send_type) == call->value(&Positions::recv_type))
    return;
  if (!(a.sent() == (parts ? PartsOf(*call, false).at(a.own.rank) : a.taken())))
    report(FindingKind::kCollectives, kCountsDiffer, kCountsAgree, {call->me()});
}

/// A hash of the array of counts that all members must give alike; 0 where there is none.
uint64_t hash_of_counts(const Arguments& a) {
  const Collective c = a.call.info().collective;
  if (c != Collective::kAllgatherv && c != Collective::kReduceScatter) return 0;
  const int counts = a.call.find("recvcounts");
  if (!a.call.at(counts)) return 0;
  return hash_bytes(reinterpret_cast<const void*>(a.call.at(counts)),
                    static_cast<size_t>(a.own.comm->size) * (a.call.info().large ? 8 : 4));
}

/// Does the call give what the first call here has given, so that no further comparison is needed?
bool repeats(const Arguments& a, const CollectiveEntry& e) {
  return e.arrived != 0 &&
         repeats_first(e, a.call.agreed(), root_differs(a.call.info().collective), a.is_root()) &&
         hash_of_counts(a) == e.counts;
}

WireAnnouncement announcement_of(const Arguments& a, int world, uint64_t number) {
  const CheckedCall& call = a.call;
  WireAnnouncement declared;
  const TypeSignature s = call.info().role == CallRole::kCollective
                              ? common_signature(a)
                              : TypeSignature{0, 0, false, false};
  declared.known = s.known;
  declared.packed = s.packed;
  declared.hash = s.hash;
  declared.length = s.length;
  declared.rooted = call.has(&Positions::root);
  declared.inter = a.own.comm->inter;
  declared.root = static_cast<int>(call.value(&Positions::root));
  // The program's own operations have a different handle at each rank.
  const auto op = static_cast<int>(call.value(&Positions::op));
  declared.op = is_predefined(op) ? op : -1;
  declared.world = world;
  declared.comm = a.own.comm->key;
  declared.number = number;
  declared.call = call.record();
  return declared;
}

// ---- Members arrive -----------------------------------------------------------------------------

}  // namespace

void end_if_over(const CheckedComm& c, uint64_t number, CollectiveEntry* e) {
  if (e->arrived < c.local_members) return;
  CallQueue& queue = *c.calls;
  const bool open = e->details && !queue.broken && !details_are_over(*e);
  if (e->details && !open) store_base(number, &queue, e);
  if (open || (e->left < c.local_members && g_process.follows_order())) return;
  const bool home = c.home == g_process.me;
  const int others = home ? static_cast<int>(c.others.size()) : 0;
  if (e->announced < others) return;
  queue.end(number);
}

namespace {

CheckedComm* find_comm(uint64_t key) {
  auto found = g_process.comms.find(key);
  return found == g_process.comms.end() || !found->second->calls ? nullptr : found->second.get();
}

void on_announcement(const WireAnnouncement& declared) {
  if (declared.call.id >= kCallCount) return;
  CallQueue& queue = queue_of(declared.comm);
  CollectiveEntry* e = queue.at(declared.number);
  if (!e) return;
  if (e->known)
    compare(&queue, declared, e->first);
  else
    e->first = declared;
  e->known = true;
  ++e->announced;
  if (const CheckedComm* c = find_comm(declared.comm)) end_if_over(*c, declared.number, e);
}

/// Another process has sent a piece about a call.
template <class Wire>
void on_details(const char* data, size_t size) {
  Wire wire;
  if (size < sizeof wire) return;
  std::memcpy(static_cast<void*>(&wire), data, sizeof wire);
  if (wire.call.id >= kCallCount) return;
  CallQueue& queue = queue_of(wire.comm);
  CollectiveEntry* e = queue.at(wire.number);
  CheckedComm* c = find_comm(wire.comm);
  receive_details(data, size, c, &queue, e);
  if (c && e) end_if_over(*c, wire.number, e);
}

findings::Participant participant_of(int world, const CallRecord& call, const char* role) {
  return {world, call.info().name, arguments_of(call, nullptr), call.site, role};
}

findings::Participant participant_of(const WireAnnouncement& declared, const char* role) {
  return participant_of(declared.world, declared.call, role);
}

}  // namespace

findings::Participant participant_of(const Caller& by, const char* role) {
  return participant_of(by.world, by.call, role);
}

void remove_if_over(uint64_t key, uint64_t number) {
  const CheckedComm* c = find_comm(key);
  CollectiveEntry* e = c ? c->calls->find(number) : nullptr;
  if (e) end_if_over(*c, number, e);
}

void check_collective_before(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (g_process.opens_groups || info.at.comm < 0) return;
  if (!g_process.wants(FindingKind::kCollectives) && !g_process.follows_order()) return;
  Rank* rank = call->rank();
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call->value(&Positions::comm)));
  if (!own || own->comm->local_members == 0 || own->comm->foreign) return;
  CheckedComm& c = *own->comm;
  const Arguments a{*call, *own};
  if (call->record().id == kCall_MPI_Intercomm_create) check_leaders_before(a, rank);
  const uint64_t number = own->collectives++;
  if (!c.inter && !g_process.threads)
    if (const int by = rank->knows.left_early_by(c.key, number); by >= 0)
      report_left_early(rank, call->record(), c, number, by);
  call->collective = {own->comm, number, a.is_root()};
  step_enter(call->waiting(), call->collective, own->rank);
  if (info.role == CallRole::kCollective) declare_own_values(call, a);
  if (!has_recorded_events(*rank, *own)) own->events.emplace_back(number, rank->events);
  if (!c.calls) c.calls = &queue_of(c.key);
  CollectiveEntry* e = c.calls->at(number);
  if (!e) return;
  if (!repeats(a, *e)) {
    const WireAnnouncement declared = announcement_of(a, rank->world, number);
    if (e->known) compare(c.calls, declared, e->first);
    if (e->arrived == 0) {
      e->first = declared;
      e->agreed = call->agreed();
      e->counts = hash_of_counts(a);
      const RememberedCall* kept = call->remembered_record();
      e->arrays = kept && kept->is_known(rank->epoch, RememberedCall::kFine) ? kept->arrays : 0;
      e->root_was_first = info.at.root >= 0 && a.is_root();
      e->known = true;
      if (c.home != g_process.me) {
        std::memcpy(add_piece(c.home, sizeof declared), &declared, sizeof declared);
        notices_due_within_call();
      }
    } else if (e->root_was_first && !e->agreed_by_others) {
      e->agreed_by_others = call->agreed();
    }
  }
  count_arrival(rank, c, e, info.at.root >= 0 && a.is_root());
  if (c.inter) check_groups_before(a, rank->world, number);
  if (has_details(info.collective, c.inter))
    check_details_before(a, call->remembered_record(), *rank, number, c.calls, e);
  if (e->arrived == c.local_members) all_here_have_called(c, number, e);
  report_disagreements();
}

void all_here_have_called(const CheckedComm& c, uint64_t number, CollectiveEntry* e) {
  if (e->details) send_details(number, c.calls, e);
  notices_due_now();
  end_if_over(c, number, e);
}

AwaitedMembers awaited_members(const CallInfo& info, bool is_root) {
  switch (info.collective) {
    case Collective::kScan:
    case Collective::kExscan:
    case Collective::kNeighbor:
      return AwaitedMembers::kSome;
    case Collective::kBcast:
    case Collective::kScatter:
    case Collective::kScatterv:
      return is_root ? AwaitedMembers::kNobody : AwaitedMembers::kRoot;
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kGatherv:
      return is_root ? AwaitedMembers::kAll : AwaitedMembers::kNobody;
    default:
      return AwaitedMembers::kAll;
  }
}

void record_collective_after(CheckedCall* call) {
  if (!call->collective.comm) return;
  leave_collective(call->rank(), call->info(), call->collective);
  if (call->info().starts == Starts::kBlocking)
    step_need_members(call->waiting(), call->collective, nullptr);
}

void leave_collective(Rank* rank, const CallInfo& info, const CollectiveCall& call) {
  if (!g_process.follows_order()) return;
  if (CollectiveEntry* e = call.comm->calls->at(call.number))
    leave_collective(rank, learns_of(info, call.is_root), *call.comm, call.number, e);
}

namespace {

/// If the notice is whole, copies it and calls `on_notice` with it.
template <typename Wire>
void deliver(void (*on_notice)(const Wire&), const void* data, size_t size) {
  Wire wire;
  if (size != sizeof wire) return;
  std::memcpy(static_cast<void*>(&wire), data, sizeof wire);
  on_notice(wire);
}

}  // namespace

void on_agreement(int process, const void* data, int bytes) {
  const auto size = static_cast<size_t>(bytes);
  switch (static_cast<WireKind>(*static_cast<const uint8_t*>(data))) {
    case WireKind::kAnnouncement:
      deliver(on_announcement, data, size);
      break;
    case WireKind::kParts:
      on_details<WireParts>(static_cast<const char*>(data), size);
      break;
    case WireKind::kEdges:
      if (size <= kMostNotice) on_details<WireEdges>(static_cast<const char*>(data), size);
      break;
    case WireKind::kClaim:
      deliver(on_claim, data, size);
      break;
    case WireKind::kLeader:
      deliver(on_leader, data, size);
      break;
    case WireKind::kCalled:
      deliver(on_called, data, size);
      break;
    case WireKind::kQuestion:
      send_held_details();
      answer(process);
      return;
    case WireKind::kAnswer:
      ++g_answers;
      return;
    default:
      return;
  }
  report_disagreements();
}

namespace {

/// Waits, for 200 ms at most, until these processes have answered that everything they sent earlier
/// was delivered.
void ask(const std::set<int>& asked) {
  // What other processes have sent arrives within microseconds; a process that is
  // gone never answers.
  constexpr auto kLongest = std::chrono::milliseconds(200);
  if (asked.empty()) return;  // without a look at a clock, which a recorded run would notice
  const int wanted = g_answers + static_cast<int>(asked.size());
  const WireKind question = WireKind::kQuestion;
  for (int process : asked) MPIX_Tool_notify(process, &question, sizeof question);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (g_answers < wanted && std::chrono::steady_clock::now() < end) MPIX_Yield();
}

}  // namespace

void ask_others() {
  // The processes of rank 0 are asked after all others: when they answer, the announcements that
  // the others had sent to them have arrived.
  std::set<int> all, homes;
  for (const auto& [key, c] : g_process.comms) {
    if (!c->calls || c->calls->first >= c->calls->next) continue;
    all.insert(c->others.begin(), c->others.end());
    for (int world : c->remote)
      if (!c->foreign && !is_local(world)) homes.insert(MPIX_Tool_process(world));
    if (c->home != g_process.me) homes.insert(c->home);
  }
  send_held_details();
  send_due_notices();
  all.insert(homes.begin(), homes.end());
  ask(all);
  if (all.size() > 1) ask(homes);
  report_disagreements();
}

void notices_due_within_call() {
  constexpr int kCallsOfRank = 4;
  notices_due_within(std::max(32, kCallsOfRank * g_process.ranks));
}

void report_pair(CallQueue* queue, const char* sentence, const char* allowed, const Caller& a,
                 const Caller& b, bool note) {
  if (queue->broken) return;
  queue->broken = !note;
  WireAnnouncement one, two;
  one.world = a.world;
  one.call = a.call;
  two.world = b.world;
  two.call = b.call;
  report_disagreement({sentence, allowed, one, two, queue->comm, note});
}

void report_disagreements() {
  if (!g_any_disagreements || !g_process.on) return;  // kept until the spool is open
  std::vector<Disagreement> list;
  g_any_disagreements = false;
  list.swap(g_disagreements);
  for (const Disagreement& d : list) {
    std::vector<findings::Participant> calls = {participant_of(d.one, "")};
    if (d.other.world != d.one.world) calls.push_back(participant_of(d.other, "disagrees"));
    report(FindingKind::kCollectives, d.sentence, d.allowed, std::move(calls), d.note);
    if (!d.note && g_process.wants(FindingKind::kCollectives)) g_process.spool.add_cause(d.comm);
  }
}

void report_collectives_left() {
  report_disagreements();
  // Ranks that only have sessions are not tracked, so a process with one cannot
  // know who has called.
  for (const auto& rank : g_process.all)
    if (!rank) return;
  report_claims_left();
  for (const auto& [key, queue] : g_queues) {
    if (queue->broken) continue;
    const CheckedComm* c = find_comm(key);
    const bool home = c && c->home == g_process.me;
    for (const auto& e : queue->ring) {
      if (!e || !e->known || e->first.inter) continue;
      // A communicator is unknown where no member in this process has ever used it.
      if (!c || e->arrived < c->local_members ||
          (home && e->announced < static_cast<int>(c->others.size())))
        report(FindingKind::kCollectives,
               "a collective call is not made by all members of its communicator",
               "all members of a communicator make the same collective calls in the same order",
               {participant_of(e->first, "")});
    }
  }
}

}  // namespace fgmpi::check
