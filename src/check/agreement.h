// What agreement.cc and pairs.cc share: the collective calls that are not over, and what a call
// says. Thread rule: as Call (call.h).
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
#include "check/wire.h"

namespace fgmpi::check {

inline constexpr const char* kCountsDiffer = "counts or types of a collective call do not agree";
inline constexpr const char* kCountsAgree =
    "what each rank sends has the types that it is received with, one by one";

struct Caller {
  int world = 0;
  Record call;
};

/// What a rank gives another in a neighbourhood collective, as one of the two has said.
struct Edge {
  WireEdge said;
  Caller by;
};

/// Pieces that processes tell each other of one call (WireParts, WireEdges), their numbers left
/// out.
using Pieces = std::vector<std::string>;

/// A call that was over with nothing wrong: when all members say again what they said then, nothing
/// is.
struct Base {
  uint64_t number = 0;
  std::map<int, Pieces> told;  ///< by process: what the members here said
  Pieces heard;                ///< what those of other processes did
};

/// What ranks say of a call in which they differ (Said): told and compared, or known to be what
/// they said before.
///
///   kNothing ---> kRepeated, by a member that repeats a base ---> over
///       |             | by one that does not, or a piece that was not heard then: all is told after all
///       v             v
///     kTold <---------+                                      ---> over: a base, if nothing was wrong
struct Details {
  enum class As : uint8_t { kNothing, kRepeated, kTold } as = As::kNothing;
  /// What was told is not what a call like it tells, or it has become a base.
  bool no_base = false;
  std::shared_ptr<const Base> base;
  struct Repeater {
    int rank;
    Record call;
    Shared<Said> said;
  };
  std::vector<Repeater> repeaters;
  /// Which goes on its way when all members here have called, or tell_held() is.
  std::map<int, Pieces> told;
  Pieces heard;  ///< looked at once `as` is kTold
  void reset();
};

/// One call on a communicator, until all who are expected here have made it and, where clocks
/// count, left it.
struct Entry {
  Announcement first;
  bool known = false;  ///< `first` is there
  bool root_was_first = false;
  uint64_t agreed = 0;                   ///< agreed_of() the first call here
  uint64_t counts = 0;                   ///< hash of the array of counts of the first member here
  uint64_t arrays = 0;                   ///< KeptCall::arrays of it; 0: not known
  int arrived = 0;                       ///< members in this process
  int left = 0;                          ///< members in this process that MPI has let go
  int announced = 0;                     ///< other processes, where rank 0 is
  std::unique_ptr<Details> details;      ///< of a call that has_details()
  std::unique_ptr<Parts<Caller>> parts;  ///< what each sends each, where counts differ by rank
  std::unordered_map<uint64_t, Edge> edges;  ///< of which one end is told; by WireEdge::between
  Knowledge known_by_all, known_by_root;     ///< what the members here knew, and the root
};

/// Do counts of the operation differ by rank, other than in one array that all give alike?
inline bool has_parts(Collective c) {
  return c == Collective::kGatherv || c == Collective::kScatterv || c == Collective::kAlltoallv ||
         c == Collective::kAlltoallw;
}

/// Do ranks say of it more than what all of them have to agree on?
inline bool has_details(Collective c, bool inter) {
  return has_parts(c) || c == Collective::kNeighbor || (inter && c == Collective::kAllgatherv);
}

/// Do the root's arguments mean something else than those of the others?
inline bool root_differs(Collective c) {
  return c == Collective::kGather || c == Collective::kScatter || c == Collective::kGatherv ||
         c == Collective::kScatterv;
}

/// The collective calls on a communicator that are not over.
struct CallQueue {
  std::vector<std::unique_ptr<Entry>> ring;  ///< by number; its size is a power of two
  uint64_t first = 0, next = 0;  ///< numbers of the oldest that is there, and behind the newest
  bool broken = false;           ///< there was a disagreement: what follows from it is not reported
  uint64_t comm = 0;             ///< key of the communicator, without the side
  std::unique_ptr<Parts<Caller>> spare;  ///< for the next call like the last
  std::unique_ptr<Details> spare_details;
  std::vector<std::shared_ptr<const Base>> bases;  ///< the last ones
  /// Members here, by rank, with the first call on their topology: others have been told of all
  /// their edges.
  std::unordered_map<int, Caller> told;

  Entry* at(uint64_t number) {
    if (number < first) return nullptr;
    while (number >= next) make_next();
    return ring[number & (ring.size() - 1)].get();
  }
  /// As at(), but null where it is not there.
  Entry* find(uint64_t number) {
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

/// One side's array of counts, and of types.
class PartsOf {
 public:
  PartsOf(const Call& call, bool sends)
      : call_(call),
        counts_position_(call.find(sends ? "sendcounts" : "recvcounts")),
        types_position_(call.find(sends ? "sendtypes" : "recvtypes")),
        counts_(address(counts_position_)),
        types_(address(types_position_)),
        type_(static_cast<MPI_Datatype>(
            call.value(sends ? &Positions::send_type : &Positions::recv_type))) {}
  /// The call has such an array.
  bool exist() const { return counts_position_ >= 0; }
  /// An array that is not there is MPI's to complain of.
  Signature at(int i) const {
    const bool many_types = types_position_ >= 0;
    if (!counts_ || (many_types && !types_)) return {0, 0, false, false};
    return signature_of(many_types ? reinterpret_cast<const MPI_Datatype*>(types_)[i] : type_,
                        number_in(call_, counts_, i));
  }

 private:
  int64_t address(int position) const { return position < 0 ? 0 : call_.at(position); }

  const Call& call_;
  int counts_position_, types_position_;
  int64_t counts_, types_;
  MPI_Datatype type_;
};

/// Arguments of a collective.
struct Arguments {
  const Call& call;
  OwnComm& own;

  bool is_root() const {
    if (!call.has(&Positions::root)) return true;
    const int64_t root = call.value(&Positions::root);
    return own.comm->inter ? root == MPI_ROOT : root == own.rank;
  }
  bool in_place() const {
    return call.value(&Positions::send_buffer) == word_of_in_place() ||
           call.value(&Positions::recv_buffer) == word_of_in_place();
  }
  Signature sent() const { return one(&Positions::send_count, &Positions::send_type); }
  Signature taken() const { return one(&Positions::recv_count, &Positions::recv_type); }

 private:
  Signature one(int8_t Positions::*count, int8_t Positions::*type) const {
    return signature_of(static_cast<MPI_Datatype>(call.value(type)), call.value(count));
  }
};

// agreement.cc ------------------------------------------------------------------------------------
/// Two members do not agree. Nothing where there was a disagreement on the communicator before,
/// other than a `note`.
void note_pair(CallQueue* queue, const char* sentence, const char* allowed, const Caller& a,
               const Caller& b, bool note = false);
findings::Participant participant_of(const Caller& by, const char* role);
CallQueue& queue_of(uint64_t key);
/// A piece of what others have to say of the call is there: is it over?
void look_whether_over(uint64_t key, uint64_t number);
/// The last member here makes the call.
void all_here_have_called(const Comm& c, uint64_t number, Entry* e);
Learns learns(const CallInfo& info, bool is_root);
/// Forgets the call where it is over.
void end_if_over(const Comm& c, uint64_t number, Entry* e);
/// As leave_collective() of call.h, with its entry.
[[gnu::always_inline]] inline void leave_collective(Rank* rank, Learns what, const Comm& c,
                                                    uint64_t number, Entry* e) {
  if (what != Learns::kNothing) {
    rank->knows.learn(what == Learns::kOfRoot ? e->known_by_root : e->known_by_all);
    // What members in other processes knew is not known here: their order follows from the number
    // of the call.
    if (!c.others.empty() || c.inter)
      rank->knows.learn_comm({of_comm(without_side(c.key)), number + 1});
  }
  if (++e->left == c.local_members) end_if_over(c, number, e);
}
/// What others are to be told of a call waits for the last member here to make it, but not for
/// long.
void told_within_call();

// groups.cc ---------------------------------------------------------------------------------------
/// A member of an intercommunicator calls: compares what it gives with what others of both groups
/// do.
void look_at_groups(const Arguments& a, int world, uint64_t number);
/// A rank calls MPI_Intercomm_create: leaders of two groups are compared. May switch.
void look_at_leaders(const Arguments& a, Rank* rank);
void on_claim(const WireClaim& said);
void on_leader(const WireLeader& said);
void on_called(const WireCalled& said);
/// The process ends: calls that some members have not made.
void report_claims_left();

// pairs.cc ----------------------------------------------------------------------------------------
/// A member calls a collective that has_details(). `kept`: the call, where the rank keeps it, else
/// null.
void look_at_details(const Arguments& a, KeptCall* kept, const Rank& rank, uint64_t number,
                     CallQueue* queue, Entry* e);
/// The same of a call that repeats the base of the entry. REQUIRES: kSaid and kFine are known of
/// it.
inline bool repeats_base(const KeptCall& call, const Entry& e) {
  return e.details->as == Details::As::kRepeated && e.details->base->number == call.said_in;
}
/// All members here have called: what they say goes on its way.
void tell_details(uint64_t number, CallQueue* queue, Entry* e);
/// Is there nothing more to come? REQUIRES: all members here have called.
bool details_are_over(const Entry& e);
/// What is told and heard of the call is over: it may be a base of later ones.
void keep_base(uint64_t number, CallQueue* queue, Entry* e);
/// Another process has told. `c`: null where no member here has used the communicator; `e`: null
/// where the call is over.
void hear_details(const char* piece, size_t bytes, Comm* c, CallQueue* queue, Entry* e);

}  // namespace fgmpi::check
