// Two groups: compares what the members of an intercommunicator give to one collective call
// (MPI-4.0 section 6.2.3).
//
// Members of one group with the same role in the call (the root, none, or the others; GroupPart)
// must give the same. What the first member of a process with a group and role gives is a claim.
// Claims are compared pair by pair: in each process as its members call, and all of them in the
// process of rank 0 of the first group, the home. Each process notifies the home when all its
// members have called.
//
//   first member here of a group and role --claim--> home: compares
//   last member here to call --called--> home: the call is over when all processes have sent it
//
// The leaders of two groups that make an intercommunicator are compared in the process of the
// leader with the lower rank. Calls whose counts differ by rank are compared in pairs.cc.
#include <cstring>
#include <deque>
#include <map>
#include <tuple>

#include "base/hash.h"
#include "check/collectives/agreement.h"
#include "check/extensions.h"

namespace fgmpi::check {
namespace {

constexpr TypeSignature kNotKnown{0, 0, false, false};

/// The claims of one call, until all members are known to have made it.
struct GroupClaims {
  std::vector<WireClaim> list;  ///< one for each group and role
  int arrived = 0;              ///< members in this process that have called
  int called = 0;               ///< at the home: processes whose members have all called
};

/// An intercommunicator, shared by both of its groups.
struct TwoGroups {
  CallQueue state;     ///< only its `broken` and `comm` are used
  bool noted = false;  ///< a finding that is only a note was reported
  bool at_home = false;
  std::map<uint64_t, GroupClaims> calls;  ///< by number
};
std::unordered_map<uint64_t, TwoGroups> g_intercommunicators;  ///< by key without the side

/// Calls of MPI_Intercomm_create by one of two leaders that the other has not made yet.
struct Leaders {
  std::deque<Caller> calls;
  CallQueue state;  ///< only its `broken` and `comm` are used; `comm` is the peer communicator
};
/// By the key of the peer communicator and the two world ranks, the lower first.
std::map<std::tuple<uint64_t, int, int>, Leaders> g_leaders;

// ---- What a member declares ---------------------------------------------------------------------

GroupPart part_of(const Arguments& a) {
  if (!a.call.has(&Positions::root)) return GroupPart::kAll;
  const int64_t root = a.call.value(&Positions::root);
  return root == MPI_ROOT        ? GroupPart::kRoot
         : root == MPI_PROC_NULL ? GroupPart::kNone
                                 : GroupPart::kOther;
}

/// The elements that each member of the group gives to MPI_Reduce_scatter: the sum of the counts.
TypeSignature of_all_shares(const Arguments& a) {
  const int64_t counts = a.call.at(a.call.find("recvcounts"));
  if (!counts) return kNotKnown;
  int64_t all = 0;
  for (int i = 0; i < a.own.comm->size; ++i) all += number_in(a.call, counts, i);
  return signature_of(static_cast<MPI_Datatype>(a.call.value(&Positions::recv_type)), all);
}

TypeSignature of_counts(const CheckedCall& call, int size) {
  const int64_t counts = call.at(call.find("recvcounts"));
  if (!counts) return kNotKnown;
  return {hash_bytes(reinterpret_cast<const void*>(counts),
                     static_cast<size_t>(size) * (call.info().large ? 8 : 4)),
          1, true, false};
}

void add_signatures(const Arguments& a, WireClaim* declared) {
  const bool root = declared->part == GroupPart::kRoot;
  switch (a.call.info().collective) {
    case Collective::kBcast:
    case Collective::kReduce:
    case Collective::kAllreduce:
      declared->both = a.taken();
      break;
    case Collective::kGather:
      declared->both = root ? a.taken() : a.sent();
      break;
    case Collective::kScatter:
      declared->both = root ? a.sent() : a.taken();
      break;
    case Collective::kAllgather:
    case Collective::kAlltoall:
      declared->sent = a.sent();
      declared->taken = a.taken();
      break;
    case Collective::kReduceScatterBlock:
      declared->both = signature_of(static_cast<MPI_Datatype>(a.call.value(&Positions::recv_type)),
                                    a.call.value(&Positions::recv_count) * a.own.comm->size);
      break;
    case Collective::kReduceScatter:
      declared->both = of_all_shares(a);
      declared->within = of_counts(a.call, a.own.comm->size);
      break;
    default:
      break;
  }
}

WireClaim claim_of(const Arguments& a, int world, uint64_t number) {
  const CallInfo& info = a.call.info();
  WireClaim declared;
  declared.side = static_cast<uint8_t>(a.own.comm->key & 1);
  declared.part = part_of(a);
  declared.world = world;
  declared.rank = a.own.rank;
  declared.root = static_cast<int>(a.call.value(&Positions::root));
  const auto op = static_cast<int>(a.call.value(&Positions::op));
  // The program's own operations have a different handle at each rank.
  declared.op = is_predefined(op) ? op : -1;
  declared.comm = without_side(a.own.comm->key);
  declared.number = number;
  declared.call = a.call.record();
  if (info.role == CallRole::kCollective && declared.part != GroupPart::kNone)
    add_signatures(a, &declared);
  return declared;
}

// ---- Comparison ---------------------------------------------------------------------------------

struct Fault {
  const char* sentence = nullptr;
  const char* allowed = nullptr;
  bool note = false;
};

constexpr const char* kRootsAgree =
    "of one group the root gives MPI_ROOT and the others MPI_PROC_NULL, and all of the other group "
    "give its rank";

bool roots_agree(const WireClaim& a, const WireClaim& b) {
  const bool same = a.side == b.side;
  if (a.part == GroupPart::kOther && b.part == GroupPart::kOther) return same && a.root == b.root;
  if (a.part != GroupPart::kOther && b.part != GroupPart::kOther) {
    const bool one_root = a.part == GroupPart::kRoot || b.part == GroupPart::kRoot;
    return same ? a.part != b.part || !one_root : !one_root;
  }
  if (same) return false;
  const WireClaim &other = a.part == GroupPart::kOther ? a : b, &root = &other == &a ? b : a;
  return root.part == GroupPart::kNone || other.root == root.rank;
}

bool counts_agree(const WireClaim& a, const WireClaim& b) {
  if (!(a.both == b.both)) return false;
  if (a.side == b.side) return a.sent == b.sent && a.taken == b.taken && a.within == b.within;
  return a.sent == b.taken && a.taken == b.sent;
}

bool high_of(const CallRecord& call) {
  return call.id == kCall_MPI_Intercomm_merge && call.words[1] != 0;
}

/// The first disagreement of two members.
Fault fault_of(const WireClaim& a, const WireClaim& b) {
  const CallInfo &x = a.call.info(), &y = b.call.info();
  if (x.starts != y.starts || std::strcmp(x.operation, y.operation) != 0)
    return {"members of an intercommunicator make different collective calls",
            "all members of both groups make the same collective calls in the same order"};
  if (a.part != GroupPart::kAll && !roots_agree(a, b))
    return {"members of an intercommunicator do not agree on the root", kRootsAgree};
  if (a.part == GroupPart::kNone || b.part == GroupPart::kNone) return {};
  if (a.op != b.op) {
    if (a.side == b.side || a.part != GroupPart::kAll)
      return {"members of an intercommunicator give different operations",
              "all give the same operation"};
    return {"the groups of an intercommunicator give different operations",
            "MPI does not say which of the two is done to what a group gives", true};
  }
  if (a.side == b.side && high_of(a.call) != high_of(b.call))
    return {"members of a group give MPI_Intercomm_merge different values of high",
            "all members of a group give the same value; the two groups may differ"};
  if (!counts_agree(a, b)) return {kCountsDiffer, kCountsAgree};
  return {};
}

void report_fault(TwoGroups* both, const Fault& fault, const WireClaim& a, const WireClaim& b) {
  if (!fault.sentence || (fault.note && both->noted)) return;
  both->noted = both->noted || fault.note;
  report_pair(&both->state, fault.sentence, fault.allowed, {a.world, SharedCall(a.call)},
              {b.world, SharedCall(b.call)}, fault.note);
}

/// Compares a claim with the others and adds it. Returns whether it is the first of
/// its group and role.
bool add_claim(TwoGroups* both, GroupClaims* claims, const WireClaim& declared) {
  bool first = true;
  for (const WireClaim& one : claims->list) {
    report_fault(both, fault_of(one, declared), one, declared);
    first = first && !(one.side == declared.side && one.part == declared.part &&
                       one.call.info().operation == declared.call.info().operation);
  }
  if (first) claims->list.push_back(declared);
  return first;
}

/// All members have called: reports a call without a root.
void check_root_given(TwoGroups* both, const GroupClaims& claims) {
  const WireClaim *other = nullptr, *none = nullptr;
  for (const WireClaim& one : claims.list) {
    if (one.part == GroupPart::kRoot) return;
    if (one.part == GroupPart::kOther) other = &one;
    if (one.part == GroupPart::kNone) none = &one;
  }
  if (other && none)
    report_fault(both, {"no member of an intercommunicator gives MPI_ROOT", kRootsAgree}, *other,
                 *none);
}

/// All members of one more process have called. REQUIRES: this is the home.
void add_called(TwoGroups* both, uint64_t number, int processes) {
  GroupClaims& claims = both->calls[number];
  if (++claims.called < processes) return;
  check_root_given(both, claims);
  both->calls.erase(number);
}

int home_of(const CheckedComm& c) {
  const int first = (c.key & 1 ? c.remote : c.group)[0];
  return MPIX_Tool_process(first);
}

template <class Wire>
void send_to_home(int process, const Wire& wire) {
  std::memcpy(add_piece(process, sizeof wire), &wire, sizeof wire);
  notices_due_within_call();
}

int64_t tag_of_leader(const CallRecord& call) { return call.words[4]; }

/// A leader has called. REQUIRES: the leader of lower rank is in this process.
void add_leader(const WireLeader& declared) {
  Leaders& both = g_leaders[{declared.comm, std::min(declared.from, declared.to),
                             std::max(declared.from, declared.to)}];
  both.state.comm = declared.comm;
  if (both.calls.empty() || both.calls.front().world == declared.from)
    return both.calls.push_back({declared.from, SharedCall(declared.call)});
  const Caller other = both.calls.front();
  both.calls.pop_front();
  if (tag_of_leader(other.call) != tag_of_leader(declared.call))
    report_pair(&both.state, "the leaders of two groups give MPI_Intercomm_create different tags",
                "both leaders give the same tag", other,
                {declared.from, SharedCall(declared.call)});
}

}  // namespace

void check_leaders_before(const Arguments& a, Rank* rank) {
  const int64_t local_leader = a.call.at(1), remote_leader = a.call.at(3);
  // Threads may call it several times at once, in any order.
  if (local_leader != a.own.rank || g_process.threads) return;
  const OwnComm* peer = rank->comm_of(static_cast<MPI_Comm>(a.call.at(2)));
  const int other = peer ? peer->comm->world_of(remote_leader) : MPI_UNDEFINED;
  if (other == MPI_UNDEFINED || other == rank->world) return;
  const WireLeader declared{.from = rank->world,
                            .to = other,
                            .comm = without_side(peer->comm->key),
                            .call = a.call.record()};
  if (is_local(std::min(declared.from, declared.to))) return add_leader(declared);
  send_to_home(MPIX_Tool_process(other), declared);
  notices_due_now();
}

void check_groups_before(const Arguments& a, int world, uint64_t number) {
  CheckedComm& c = *a.own.comm;
  if (c.group.empty() || c.remote.empty()) return;
  TwoGroups& both = g_intercommunicators[without_side(c.key)];
  both.state.comm = without_side(c.key);
  const WireClaim declared = claim_of(a, world, number);
  const int home = home_of(c);
  GroupClaims& claims = both.calls[number];
  if (add_claim(&both, &claims, declared) && home != g_process.me) send_to_home(home, declared);
  const auto here = std::count_if(c.remote.begin(), c.remote.end(), is_local) + c.local_members;
  both.at_home = home == g_process.me;
  if (++claims.arrived < here) return;
  if (home == g_process.me) return add_called(&both, number, c.processes);
  send_to_home(home, WireCalled{.processes = c.processes, .comm = declared.comm, .number = number});
  notices_due_now();
  both.calls.erase(number);
}

void on_claim(const WireClaim& declared) {
  if (declared.call.id >= kCallCount) return;
  TwoGroups& both = g_intercommunicators[declared.comm];
  both.at_home = true;
  both.state.comm = declared.comm;
  add_claim(&both, &both.calls[declared.number], declared);
}

void on_leader(const WireLeader& declared) {
  if (declared.call.id == kCall_MPI_Intercomm_create &&
      is_local(std::min(declared.from, declared.to)))
    add_leader(declared);
}

void on_called(const WireCalled& declared) {
  add_called(&g_intercommunicators[declared.comm], declared.number, declared.processes);
}

void report_claims_left() {
  for (const auto& [key, both] : g_intercommunicators) {
    if (both.state.broken || !both.at_home) continue;
    for (const auto& [number, claims] : both.calls)
      if (!claims.list.empty())
        report(FindingKind::kCollectives,
               "a collective call is not made by all members of an intercommunicator",
               "all members of both groups make the same collective calls in the same order",
               {participant_of(Caller{claims.list[0].world, SharedCall(claims.list[0].call)}, "")});
  }
}

}  // namespace fgmpi::check
