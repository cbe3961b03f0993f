// Agreement: what the members of a communicator give to one collective call is compared before MPI sees it.
//
// Within a process with what the first member to call has given. Between processes, that first one's is sent to the process
// of the communicator's rank 0, which compares it with its own first one's; a blocking call waits for the answer, so that
// what is wrong is known before data moves. The answer waits for no other rank.
//
//   first member of a process --announcement--> process of rank 0: compares
//                             <----answer------
//
// Calls whose counts differ by rank are compared by a sum over all pairs of a hash of what one sends the other, minus the same
// for what is received: 0 when all agree.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "base/hash.h"
#include "tools/check/call.h"
#include "tools/check/extensions.h"
#include "tools/check/wire.h"

namespace fgmpi::check {
namespace {

/// One call on a communicator, until all who are expected here have made it.
struct Entry {
  Announcement first;
  bool here = false;      ///< a member in this process has made it
  bool answered = false;  ///< or needs no answer
  int arrived = 0;        ///< members in this process
  int announced = 0;      ///< other processes, where rank 0 is
  int sums = 0;
  bool sum_known = true;
  uint64_t sum = 0;
};

struct Disagreement {
  const char* sentence;
  const char* allowed;
  Announcement one, other;
};

std::mutex g_lock;  ///< of what follows; nothing of MPI is called under it
std::map<std::pair<uint64_t, uint64_t>, Entry> g_entries;
std::vector<Disagreement> g_disagreements;
std::set<uint64_t>
    g_broken;  ///< communicators with a disagreement: what follows from it is not reported

bool same_operation(const Announcement& a, const Announcement& b) {
  const CallInfo &x = a.call.info(), &y = b.call.info();
  return x.starts == y.starts && !std::strcmp(x.operation, y.operation);
}

/// REQUIRES: g_lock is held.
void compare(const Announcement& one, const Announcement& other) {
  if (g_broken.contains(one.comm)) return;
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
  g_broken.insert(one.comm);
  g_disagreements.push_back({sentence, allowed, one, other});
}

// ---- What a call says --------------------------------------------------------------------------------------------------

/// Arguments of a collective by name.
struct Arguments {
  const Call& call;
  const OwnComm& own;

  bool has(const char* name) const { return call.find(name) >= 0; }
  bool in_place() const {
    return (has("sendbuf") && call.value("sendbuf") == word_of_in_place()) ||
           (has("recvbuf") && call.value("recvbuf") == word_of_in_place());
  }
  Signature one(const char* count, const char* type) const {
    return signature_of(static_cast<MPI_Datatype>(call.value(type)), call.value(count));
  }
  /// Of the i-th element of arrays.
  Signature part(const char* counts, const char* type, const char* types, int i) const {
    const int64_t array = call.value(counts);
    const int64_t count = call.info().large ? reinterpret_cast<const int64_t*>(array)[i]
                                            : reinterpret_cast<const int*>(array)[i];
    const auto of = has(types) ? static_cast<const MPI_Datatype*>(call.pointer(types))[i]
                               : static_cast<MPI_Datatype>(call.value(type));
    return signature_of(of, count);
  }
};

Signature of_all_parts(const Arguments& a, const char* type) {
  Signature all;
  for (int i = 0; i < a.own.comm->size; ++i) {
    const Signature s = a.part("recvcounts", type, "recvtypes", i);
    all.known = all.known && s.known && !s.packed;
    all.hash = mix(all.hash, mix(s.hash, s.length));
  }
  all.length = 1;
  return all;
}

/// What must be the same at all members; unknown where there is nothing.
Signature common_signature(const Arguments& a, const char* operation) {
  auto is = [&](const char* name) { return !std::strcmp(operation, name); };
  Signature nothing;
  nothing.known = false;
  const bool root = !a.has("root") || a.call.value("root") == a.own.rank;
  if (a.own.comm->inter) return nothing;
  if (is("Bcast") || is("Reduce") || is("Allreduce") || is("Scan") || is("Exscan"))
    return a.one("count", "datatype");
  if (is("Reduce_scatter_block")) return a.one("recvcount", "datatype");
  if (is("Reduce_scatter")) return of_all_parts(a, "datatype");
  if (is("Allgatherv")) return of_all_parts(a, "recvtype");
  if (is("Gather")) return root ? a.one("recvcount", "recvtype") : a.one("sendcount", "sendtype");
  if (is("Scatter")) return root ? a.one("sendcount", "sendtype") : a.one("recvcount", "recvtype");
  if (is("Allgather") || is("Alltoall")) return a.one("recvcount", "recvtype");
  return nothing;
}

uint64_t pair_hash(int from, int to, const Signature& s) {
  return s.length == 0 ? 0
                       : mix(mix(static_cast<uint64_t>(from), static_cast<uint64_t>(to)),
                             mix(s.hash, s.length));
}

/// This member's part of the sum; false: the call has none, or what it sends is not known.
bool sum_of(const Arguments& a, const char* operation, uint64_t* sum) {
  auto is = [&](const char* name) { return !std::strcmp(operation, name); };
  const int me = a.own.rank, size = a.own.comm->size;
  bool known = !a.own.comm->inter;
  auto add = [&](int from, int to, const Signature& s, bool sent) {
    known = known && s.known && !s.packed;
    *sum += sent ? pair_hash(from, to, s) : -pair_hash(from, to, s);
  };
  if (!known) return false;
  if (is("Gatherv") || is("Scatterv")) {
    const bool gathers = is("Gatherv");
    const int root = static_cast<int>(a.call.value("root"));
    const char* one_type = gathers ? "sendtype" : "recvtype";
    const char* one_count = gathers ? "sendcount" : "recvcount";
    for (int i = 0; me == root && i < size; ++i)
      add(i, 0,
          a.part(gathers ? "recvcounts" : "sendcounts", gathers ? "recvtype" : "sendtype", "", i),
          !gathers);
    if (a.in_place())
      add(me, 0,
          a.part(gathers ? "recvcounts" : "sendcounts", gathers ? "recvtype" : "sendtype", "", me),
          gathers);
    else
      add(me, 0, a.one(one_count, one_type), gathers);
    return known;
  }
  if ((!is("Alltoallv") && !is("Alltoallw")) || a.in_place()) return false;
  for (int i = 0; i < size; ++i) {
    add(me, i, a.part("sendcounts", "sendtype", "sendtypes", i), true);
    add(i, me, a.part("recvcounts", "recvtype", "recvtypes", i), false);
  }
  return known;
}

/// A member's own send and receive buffers agree, where it receives what it sends to itself.
void look_at_own(Call* call, const Arguments& a, const char* operation) {
  auto is = [&](const char* name) { return !std::strcmp(operation, name); };
  const bool both = is("Allgather") || is("Alltoall") ||
                    ((is("Gather") || is("Scatter")) && call->value("root") == a.own.rank);
  if (a.in_place() || a.own.comm->inter) return;
  Signature sent, taken;
  if (both) {
    sent = a.one("sendcount", "sendtype");
    taken = a.one("recvcount", "recvtype");
  } else if (is("Allgatherv")) {
    sent = a.one("sendcount", "sendtype");
    taken = a.part("recvcounts", "recvtype", "", a.own.rank);
  } else {
    return;
  }
  if (!(sent == taken))
    report(Kind::kCollectives, "counts or types of a collective call do not agree",
           "what each rank sends has the types that it is received with, one by one", {call->me()});
}

Announcement announcement_of(const Call& call, const Arguments& a, const OwnComm& own, int world) {
  Announcement said;
  const Signature s = call.info().role == Role::kCollective
                          ? common_signature(a, call.info().operation)
                          : Signature{0, 0, false, false};
  said.known = s.known;
  said.packed = s.packed;
  said.hash = s.hash;
  said.length = s.length;
  said.rooted = a.has("root");
  said.inter = own.comm->inter;
  said.root = static_cast<int>(call.value("root"));
  // The program's own operations have a handle at each rank.
  const auto op = static_cast<int>(call.value("op"));
  said.op = is_predefined(op) ? op : -1;
  said.world = world;
  said.comm = own.comm->key;
  said.number = own.collectives;
  said.call = call.record();
  return said;
}

// ---- Members arrive ----------------------------------------------------------------------------------------------------

bool is_over(const Comm& c, const Entry& e) {
  if (e.arrived < c.local_members) return false;
  const int others = c.home == g_process.me ? static_cast<int>(c.others.size()) : 0;
  return e.announced >= others && e.sums >= others;
}

/// All have come: does what is sent agree with what is received? REQUIRES: g_lock is held, is_over().
void judge_sum(const Comm& c, const Entry& e) {
  if (c.home != g_process.me || !e.sum_known || e.sum == 0 || g_broken.contains(c.key)) return;
  g_broken.insert(c.key);
  g_disagreements.push_back(
      {"counts or types of a collective call do not agree",
       "what each rank sends has the types that it is received with, one by one", e.first,
       e.first});
}

void end_if_over(const Comm& c, std::map<std::pair<uint64_t, uint64_t>, Entry>::iterator at) {
  if (!is_over(c, at->second)) return;
  judge_sum(c, at->second);
  g_entries.erase(at);
}

/// True when the process of rank 0 is to be told of the first call, and of the sum.
struct Tell {
  bool first = false, sum = false;
  WireSum summed = {};
};

Tell arrive(const Comm& c, const Announcement& said, bool known, uint64_t sum) {
  Tell tell;
  std::lock_guard guard(g_lock);
  auto [at, fresh] = g_entries.try_emplace({said.comm, said.number});
  Entry& e = at->second;
  if (fresh)
    e.first = said;
  else
    compare(said, e.first);
  tell.first = !e.here && c.home != g_process.me;
  e.here = true;
  ++e.arrived;
  e.sum += sum;
  e.sum_known = e.sum_known && known;
  tell.sum = e.arrived == c.local_members && c.home != g_process.me;
  if (tell.sum) tell.summed = {WireKind::kSum, e.sum_known, said.comm, said.number, e.sum};
  if (!tell.first) end_if_over(c, at);
  return tell;
}

bool answered(const Announcement& said, const Comm& c) {
  std::lock_guard guard(g_lock);
  auto at = g_entries.find({said.comm, said.number});
  if (at == g_entries.end() || !at->second.answered) return at == g_entries.end();
  end_if_over(c, at);
  return true;
}

const Comm* find_comm(uint64_t key) {
  auto found = g_process.comms.find(key);
  return found == g_process.comms.end() ? nullptr : found->second.get();
}

void on_announcement(int process, const Announcement& said) {
  if (said.call.id >= kCallCount) return;
  {
    std::lock_guard guard(g_lock);
    auto [at, fresh] = g_entries.try_emplace({said.comm, said.number});
    if (fresh)
      at->second.first = said;
    else
      compare(said, at->second.first);
    ++at->second.announced;
    if (const Comm* c = find_comm(said.comm)) end_if_over(*c, at);
  }
  report_disagreements();  // before the answer, after which the job may end in an error
  const WireAnswer answer = {WireKind::kAnswer, said.comm, said.number};
  MPIX_Tool_notify(process, &answer, sizeof answer);
}

void on_answer(const WireAnswer& answer) {
  std::lock_guard guard(g_lock);
  auto at = g_entries.find({answer.comm, answer.number});
  if (at == g_entries.end()) return;
  at->second.answered = true;
  if (const Comm* c = find_comm(answer.comm)) end_if_over(*c, at);
}

void on_sum(const WireSum& sum) {
  std::lock_guard guard(g_lock);
  auto [at, fresh] = g_entries.try_emplace({sum.comm, sum.number});
  (void)fresh;
  ++at->second.sums;
  at->second.sum += sum.sum;
  at->second.sum_known = at->second.sum_known && sum.known;
  if (const Comm* c = find_comm(sum.comm)) end_if_over(*c, at);
}

findings::Participant participant_of(const Announcement& said, const char* role) {
  return {said.world, said.call.info().name, arguments_of(said.call, nullptr), said.call.site,
          role};
}

}  // namespace

void look_at_collective(Call* call) {
  const CallInfo& info = call->info();
  if (info.role != Role::kCollective && info.role != Role::kCreation) return;
  if (!g_process.wants(Kind::kCollectives) || g_process.opens_groups) return;
  int position = 0;
  while (position < info.count && info.parameters[position].object != Object::kComm) ++position;
  if (position == info.count) return;
  OwnComm* own = call->rank()->comm_of(static_cast<MPI_Comm>(call->at(position)));
  if (!own || own->comm->local_members == 0) return;
  const Arguments arguments{*call, *own};
  const Announcement said = announcement_of(*call, arguments, *own, call->rank()->world);
  ++own->collectives;
  uint64_t sum = 0;
  const bool known = info.role == Role::kCollective && sum_of(arguments, info.operation, &sum);
  if (info.role == Role::kCollective) look_at_own(call, arguments, info.operation);
  const Comm& c = *own->comm;
  const Tell tell = arrive(c, said, known, sum);
  if (tell.first) MPIX_Tool_notify(c.home, &said, sizeof said);
  if (tell.sum) MPIX_Tool_notify(c.home, &tell.summed, sizeof tell.summed);
  // Nonblocking ones, too: the other process answers while it polls, whatever its ranks do.
  if (tell.first)
    while (!answered(said, c)) MPIX_Yield();
  report_disagreements();
}

void on_agreement(int process, const void* data, int bytes) {
  Announcement said;
  WireAnswer answer;
  WireSum sum;
  const auto kind = static_cast<WireKind>(*static_cast<const uint8_t*>(data));
  if (kind == WireKind::kAnnouncement && bytes == sizeof said) {
    std::memcpy(static_cast<void*>(&said), data, sizeof said);
    on_announcement(process, said);
  } else if (kind == WireKind::kAnswer && bytes == sizeof answer) {
    std::memcpy(&answer, data, sizeof answer);
    on_answer(answer);
  } else if (kind == WireKind::kSum && bytes == sizeof sum) {
    std::memcpy(&sum, data, sizeof sum);
    on_sum(sum);
  }
}

void report_disagreements() {
  std::vector<Disagreement> list;
  {
    std::lock_guard guard(g_lock);
    list.swap(g_disagreements);
  }
  for (const Disagreement& d : list) {
    std::vector<findings::Participant> calls = {participant_of(d.one, "")};
    if (d.other.world != d.one.world) calls.push_back(participant_of(d.other, "disagrees"));
    report(Kind::kCollectives, d.sentence, d.allowed, std::move(calls));
  }
}

void report_collectives_left() {
  report_disagreements();
  std::vector<Announcement> left;
  {
    std::lock_guard guard(g_lock);
    for (const auto& [key, e] : g_entries) {
      const Comm* c = find_comm(key.first);
      if (g_broken.contains(key.first)) continue;
      const bool home = c && c->home == g_process.me;
      // Where no member in this process ever used the communicator it is not known.
      if (!c || e.arrived < c->local_members ||
          (home && e.announced < static_cast<int>(c->others.size())))
        left.push_back(e.first);
    }
  }
  for (const Announcement& said : left)
    report(Kind::kCollectives, "a collective call is not made by all members of its communicator",
           "all members of a communicator make the same collective calls in the same order",
           {participant_of(said, "")});
}

}  // namespace fgmpi::check
