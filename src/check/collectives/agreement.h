// Collective calls that are not over yet, and what the members declare about them: shared by
// agreement.cc and pairs.cc. Thread rule: as CheckedCall (call.h).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/call.h"
#include "check/wire/wire.h"

namespace fgmpi::check {

inline constexpr const char* kCountsDiffer = "counts or types of a collective call do not agree";
inline constexpr const char* kCountsAgree =
    "what each rank sends has the types that it is received with, one by one";

struct Caller {
  int world = 0;
  SharedCall call;
};

/// What one rank gives another in a neighbourhood collective, as declared by one of the two.
struct DeclaredEdge {
  WireEdge declared;
  Caller by;
};

/// The pieces about one call that processes send each other (WireParts, WireEdges), without the
/// number of the call.
using Pieces = std::vector<std::string>;

/// A past call that was compared without a finding. When all members of a later call repeat what
/// they declared then, the later call needs no comparison.
struct Base {
  uint64_t number = 0;
  std::map<int, Pieces> told;  ///< by process: what the members here declared to it
  Pieces heard;                ///< what members of other processes declared
};

/// How the declarations (CollectiveDeclaration) of a call in which ranks differ are handled: sent
/// and compared, or recognised as repeating a base.
///
///   kNothing ---> kRepeated: the first member repeats a base ----------------> over
///       |             |
///       |             | another member does not repeat it, or a piece arrives that did not
///       |             | arrive in the base's call: everything is sent and compared after all
///       v             v
///   kAnnounced <------+ ---------------> over: becomes a base if nothing was wrong
struct Details {
  enum class As : uint8_t { kNothing, kRepeated, kAnnounced } as = As::kNothing;
  /// This call cannot become a base: its pieces are not those of a usual call, or
  /// it has become one.
  bool no_base = false;
  std::shared_ptr<const Base> base;
  struct Repeater {
    int rank;
    SharedCall call;
    RefPtr<CollectiveDeclaration> declared;
  };
  std::vector<Repeater> repeaters;
  /// Pieces by process. They are sent when all members here have called, or by send_held_details().
  std::map<int, Pieces> told;
  Pieces heard;  ///< pieces from other processes, compared once `as` is kAnnounced
  void reset();
};

/// One call on a communicator. It lasts until all expected members here have called and, where
/// vector clocks are maintained, have also left the call.
struct CollectiveEntry {
  WireAnnouncement first;
  bool known = false;  ///< `first` is filled
  bool root_was_first = false;
  uint64_t agreed = 0;  ///< agreed_of() of the first call here
  /// Where the root was first and its arguments mean something else (root_differs()): agreed_of()
  /// of the first other member here, which was compared with the root; 0: none yet.
  uint64_t agreed_by_others = 0;
  uint64_t counts = 0;  ///< hash of the array of counts of the first member here
  uint64_t arrays = 0;  ///< RememberedCall::arrays of the first call here; 0: unknown
  int arrived = 0;      ///< members in this process that have called
  int left = 0;         ///< members in this process whose call has returned
  int announced = 0;    ///< other processes that have announced; counted in the process of rank 0
  std::unique_ptr<Details> details;  ///< where has_details()
  std::unique_ptr<DeclaredParts<Caller>>
      parts;  ///< what each sends each, where counts differ by rank
  /// Edges that only one end has declared, by WireEdge::between.
  std::unordered_map<uint64_t, DeclaredEdge> edges;
  Knowledge known_by_all, known_by_root;  ///< clocks of the members here, and of the root
};

/// Does each rank give its own counts, rather than one array that is the same at all ranks?
inline bool has_parts(Collective c) {
  return c == Collective::kGatherv || c == Collective::kScatterv || c == Collective::kAlltoallv ||
         c == Collective::kAlltoallw;
}

/// Do ranks declare more about this collective than the values on which all must agree?
inline bool has_details(Collective c, bool inter) {
  return has_parts(c) || c == Collective::kNeighbor || (inter && c == Collective::kAllgatherv);
}

/// Do the arguments of the root mean something else than those of the other members?
inline bool root_differs(Collective c) {
  return c == Collective::kGather || c == Collective::kScatter || c == Collective::kGatherv ||
         c == Collective::kScatterv;
}

/// The collective calls on a communicator that are not over.
struct CallQueue {
  std::vector<std::unique_ptr<CollectiveEntry>> ring;  ///< by number; the size is a power of two
  uint64_t first = 0, next = 0;  ///< number of the oldest entry, and one past the newest
  /// Members have disagreed: later disagreements follow from the first and are not reported.
  bool broken = false;
  uint64_t comm = 0;                             ///< key of the communicator, without the side
  std::unique_ptr<DeclaredParts<Caller>> spare;  ///< reused for the next call of the same shape
  std::unique_ptr<Details> spare_details;
  std::vector<std::shared_ptr<const Base>> bases;  ///< the most recent ones
  /// Members here, by rank, with their first call on the topology, in which they declared all their
  /// edges to other processes.
  std::unordered_map<int, Caller> told;

  CollectiveEntry* at(uint64_t number) {
    if (number < first) return nullptr;
    while (number >= next) make_next();
    return ring[number & (ring.size() - 1)].get();
  }
  /// As at(), but null where the entry does not exist.
  CollectiveEntry* find(uint64_t number) {
    return number >= first && number < next ? ring[number & (ring.size() - 1)].get() : nullptr;
  }
  void end(uint64_t number);
  std::shared_ptr<const Base> base(uint64_t number) const {
    for (const auto& one : bases)
      if (one->number == number) return one;
    return nullptr;
  }

 private:
  void make_next();
};

/// One side's array of counts and, where the call has one, of types.
class PartsOf {
 public:
  PartsOf(const CheckedCall& call, bool sends)
      : call_(call),
        counts_position_(call.find(sends ? "sendcounts" : "recvcounts")),
        types_position_(call.find(sends ? "sendtypes" : "recvtypes")),
        counts_(address(counts_position_)),
        types_(address(types_position_)),
        type_(static_cast<MPI_Datatype>(
            call.value(sends ? &Positions::send_type : &Positions::recv_type))) {}
  /// Does the call have such an array?
  bool exist() const { return counts_position_ >= 0; }
  /// The signature of part i. Where the program gave a null array the signature is unknown: MPI
  /// reports that error itself.
  TypeSignature at(int i) const {
    const bool many_types = types_position_ >= 0;
    if (!counts_ || (many_types && !types_)) return {0, 0, false, false};
    return signature_of(many_types ? reinterpret_cast<const MPI_Datatype*>(types_)[i] : type_,
                        number_in(call_, counts_, i));
  }

 private:
  int64_t address(int position) const { return position < 0 ? 0 : call_.at(position); }

  const CheckedCall& call_;
  int counts_position_, types_position_;
  int64_t counts_, types_;
  MPI_Datatype type_;
};

/// Arguments of a collective.
struct Arguments {
  const CheckedCall& call;
  OwnComm& own;

  bool is_root() const { return check::is_root(call.info(), call.record().words, own); }
  bool in_place() const {
    return call.value(&Positions::send_buffer) == word_of_in_place() ||
           call.value(&Positions::recv_buffer) == word_of_in_place();
  }
  TypeSignature sent() const { return one(&Positions::send_count, &Positions::send_type); }
  TypeSignature taken() const { return one(&Positions::recv_count, &Positions::recv_type); }

 private:
  TypeSignature one(int8_t Positions::*count, int8_t Positions::*type) const {
    return signature_of(static_cast<MPI_Datatype>(call.value(type)), call.value(count));
  }
};

// agreement.cc ------------------------------------------------------------------------------------
/// Records that two members disagree. After an earlier disagreement on the communicator nothing is
/// recorded, except a `note`.
void report_pair(CallQueue* queue, const char* sentence, const char* allowed, const Caller& a,
                 const Caller& b, bool note = false);
findings::Participant participant_of(const Caller& by, const char* role);
CallQueue& queue_of(uint64_t key);
/// Another process has sent a piece about the call: ends the call if nothing more is expected.
void remove_if_over(uint64_t key, uint64_t number);
/// Does a member whose arguments have this agreed_of() give what the first member here of the same
/// role has given, as far as that hash says? `differs`: root_differs() of the call.
inline bool repeats_first(const CollectiveEntry& e, uint64_t agreed, bool differs, bool is_root) {
  if (agreed == 0 || (differs && is_root)) return false;
  return agreed == (differs && e.root_was_first ? e.agreed_by_others : e.agreed);
}
/// Are the rank's own events, which its call makes known to other processes, recorded with an
/// earlier call already?
inline bool has_recorded_events(const Rank& rank, const OwnComm& own) {
  return rank.events == 0 || (own.comm->others.empty() && !own.comm->inter) ||
         (!own.events.empty() && own.events.back().second == rank.events);
}
/// A member makes the call: others learn its clock. `tells_as_root`: it is the root of an operation
/// that has one. Which calls of this communicator the member has left early need not be said:
/// whoever takes part in this call has made those before.
[[gnu::always_inline]] inline void count_arrival(Rank* rank, const CheckedComm& c,
                                                 CollectiveEntry* e, bool tells_as_root) {
  ++e->arrived;
  if (rank->left.of && rank->left.of != of_left(c.key)) [[unlikely]]
    rank->say_left();
  e->known_by_all.learn(rank->knows);
  if (tells_as_root) e->known_by_root = rank->knows;
}
/// The last member in this process makes the call.
void all_here_have_called(const CheckedComm& c, uint64_t number, CollectiveEntry* e);
/// Returns the members for which a call waits; `is_root`: the caller is its root.
AwaitedMembers awaited_members(const CallInfo& info, bool is_root);
/// Returns the members whose clocks the caller learns. After a scan it learns those of all, more
/// than it could: this hides races but reports none falsely.
inline AwaitedMembers learns_of(const CallInfo& info, bool is_root) {
  return info.starts == Starts::kPersistent ? AwaitedMembers::kNobody
                                            : awaited_members(info, is_root);
}
/// Ends the entry if the call is over.
void end_if_over(const CheckedComm& c, uint64_t number, CollectiveEntry* e);
/// As leave_collective() of call.h, for a caller that has the entry.
[[gnu::always_inline]] inline void leave_collective(Rank* rank, AwaitedMembers of,
                                                    const CheckedComm& c, uint64_t number,
                                                    CollectiveEntry* e) {
  if (of != AwaitedMembers::kNobody) {
    rank->knows.learn(of == AwaitedMembers::kRoot ? e->known_by_root : e->known_by_all);
    // What members in other processes knew is not sent. The number of the call alone orders them.
    if (!c.others.empty() || c.inter)
      rank->knows.learn_named({of_comm(without_side(c.key)), number + 1});
  }
  if (of != AwaitedMembers::kAll && (e->arrived < c.local_members || !c.others.empty()) && !c.inter)
    rank->leave_early({of_left(c.key), left_early(number, rank->world)});
  if (++e->left == c.local_members) end_if_over(c, number, e);
}
/// What other processes must learn of a call is sent when the last member here makes it, or a few
/// calls later if that is sooner.
void notices_due_within_call();

// early.cc ----------------------------------------------------------------------------------------
/// The rank enters a call that another rank has left, as it knows by messages: unless a collective
/// returns before all have called it, both wait for ever. `by`: Knowledge::left_early_by().
void report_left_early(const Rank* rank, const CallRecord& call, const CheckedComm& c,
                       uint64_t number, int by);

// groups.cc ---------------------------------------------------------------------------------------
/// A member of an intercommunicator calls: compares what it gives with what others of
/// both groups give.
void check_groups_before(const Arguments& a, int world, uint64_t number);
/// A rank calls MPI_Intercomm_create: compares the arguments of the two groups'
/// leaders. May switch.
void check_leaders_before(const Arguments& a, Rank* rank);
void on_claim(const WireClaim& declared);
void on_leader(const WireLeader& declared);
void on_called(const WireCalled& declared);
/// The process ends: reports calls that some members have not made.
void report_claims_left();

// pairs.cc ----------------------------------------------------------------------------------------
/// A member calls a collective that has_details(). `kept` is the call's record in the rank, or null
/// where the rank remembers none.
void check_details_before(const Arguments& a, RememberedCall* kept, const Rank& rank,
                          uint64_t number, CallQueue* queue, CollectiveEntry* e);
/// Does the call repeat the base of the entry? REQUIRES: the entry has details; kDeclared and kFine
/// of the call hold.
inline bool repeats_base(const RememberedCall& call, const CollectiveEntry& e) {
  return e.details->as == Details::As::kRepeated && e.details->base->number == call.declared_in;
}
/// All members here have called: their declarations are sent.
void send_details(uint64_t number, CallQueue* queue, CollectiveEntry* e);
/// Is nothing more expected? REQUIRES: all members here have called.
bool details_are_over(const CollectiveEntry& e);
/// The comparison of the call is over: saves it as a base for later calls.
void store_base(uint64_t number, CallQueue* queue, CollectiveEntry* e);
/// A piece from another process has arrived. `c` is null where no member here has used the
/// communicator, `e` where the call is over.
void receive_details(const char* piece, size_t bytes, CheckedComm* c, CallQueue* queue,
                     CollectiveEntry* e);

}  // namespace fgmpi::check
