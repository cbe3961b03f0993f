// Communicators: two objects each.
//
//   proclet 0: Comm (64 B) --+
//   proclet 1: Comm (64 B) --+--> SharedComm (one per process): context id, rank map,
//   proclet 2: Comm (64 B) --+        level-one state; made when needed: hierarchy, topology
//
// A SharedComm is found by context id in a hash table of the process. The first collocated member
// makes it, the last frees it (HPDC'10 section 4). Context ids are <LID, LBI>: the world rank of a
// leader picked from the group (the member that has led least) and an index unique for that leader.
// MPI_COMM_WORLD and MPI_COMM_SELF exist once a proclet and live in its RankState.
//
// Thread rule: one thread. Invariants: all collocated members hold the same SharedComm; a
// Comm outlives its handle while requests use it; no table here grows with the world's size
// per communicator.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/ref_count.h"
#include "base/slab.h"
#include "base/status.h"
#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/rankmap.h"
#include "host/handle_bits.h"
#include "proclet-sched/sched.h"

namespace fgmpi::pt2pt {
struct RankBuffers;
}

namespace fgmpi::comm {

/// The planes of a context id separate kinds of traffic that must never match each other.
enum Plane : uint8_t {
  kPlanePt2pt = 0,
  kPlaneColl = 1,
  kPlaneInternal = 2,
  kPlaneRma = 3,
  kPlanePart = 4
};
/// The 5 bits above the plane distinguish the rounds of a persistent collective.
inline constexpr uint64_t kPlaneMask = 7;

/// <LID, LBI> with room for the plane: LID in bits 63..32, LBI in 31..8, round in 7..3, plane in
/// 2..0. LIDs are below 2^31; with bit 63 set, the other 55 bits above the round are drawn at
/// random.
struct ContextId {
  uint64_t bits = 0;
  static ContextId make(uint32_t lid, uint32_t lbi) {
    return {uint64_t{lid} << 32 | uint64_t{lbi} << 8};
  }
  uint32_t lid() const { return bits >> 32; }
  uint32_t lbi() const { return bits >> 8 & 0xffffff; }
  uint64_t plane(Plane p, uint32_t round = 0) const { return bits | (round % 32) << 3 | p; }
  /// The id of the communicator that has this plane.
  static ContextId of_plane(uint64_t ctx) { return {ctx & ~uint64_t{0xff}}; }
  bool operator==(const ContextId&) const = default;
  /// True for a communicator that has members of several jobs, or was made from one that
  /// had (context.h).
  bool is_drawn() const { return bits >> 63; }
};
inline constexpr uint32_t kMaxLbi = 0xffffff;

struct Hierarchy;        // hierarchy.h: processes of the group, members per process; built lazily
struct Topology;         // topology.h
struct OpenMeetings;     // meeting.h: where collocated members meet in a collective
struct DeleteMeetings {  // out of line, as the meetings are incomplete here
  void operator()(OpenMeetings* meetings) const;
};
class PartialGroup;  // partial_group.h

/// What all collocated members share: at most 512 bytes for a regular communicator of any size. A
/// process that hosts members of both groups of an intercommunicator has one SharedComm per side:
/// with the same context id, with `map` and `remote` exchanged, and with `side` 0 for the group
/// whose first member has the lower world rank.
struct SharedComm {
  ContextId id;
  int32_t size = 0;         ///< of the local group
  uint32_t references = 0;  ///< collocated members that have not freed their Comm
  uint32_t members = 0;     ///< proclets of this process in the local group
  uint32_t processes = 1;   ///< number of processes that host members (of either group)
  bool inter = false;
  uint8_t side = 0;        ///< intercommunicators: 0 or 1, the same at all members of a group
  bool stored_as = false;  ///< store_as() has been called
  uint8_t broken = 0;      ///< bits of Broken (broken.h)
  /// What the fast paths of messages need of peers(); 0 while they must not be used. A group never
  /// changes, so these stay true when `map` is replaced.
  struct Shortcuts {
    uint32_t ranks = 0;         ///< peers().size()
    uint32_t offset_ranks = 0;  ///< the same where peers().is_offset()
    uint32_t first_local = 0;   ///< rank 0's index in this process, modulo 2^32 where it has none
  } shortcuts;
  const char* creating_call = "";                          ///< the MPI call, for the list of leaks
  RankMap map;                                             ///< local group: rank -> world rank
  std::unique_ptr<RankMap> remote;                         ///< remote group of an intercommunicator
  std::shared_ptr<Hierarchy> hierarchy, remote_hierarchy;  ///< shared by duplicates
  std::shared_ptr<Topology> topology;
  std::unique_ptr<OpenMeetings, DeleteMeetings> meetings;
  /// The tree of a system-ranked communicator with members in several processes (partial_group.h).
  /// While it is set, `map` asks other processes for the ranks that it is asked for. A call that
  /// needs the whole group replaces the map (hierarchy(), materialise_map()).
  std::shared_ptr<PartialGroup> tree;
  /// Sets `shortcuts`. REQUIRES: the maps are set.
  void set_shortcuts() {
    const auto ranks = static_cast<uint32_t>(peers().size());
    shortcuts = {ranks, 0, 0};
    if (ranks == 0 || !peers().is_offset()) return;
    shortcuts.offset_ranks = ranks;
    shortcuts.first_local = static_cast<uint32_t>(peers().world_of(0)) - g_av.my_first();
  }
  /// The group that point-to-point ranks refer to.
  const RankMap& peers() const { return __builtin_expect(inter, 0) ? *remote : map; }
};
static_assert(sizeof(SharedComm) <= 256,
              "memory budget: 512 bytes with its hash entry and level-one state");

/// What the number of a collective adds to that of the one before of its kind, blocking or not
/// (meeting.h).
inline constexpr uint32_t kNextOfKind = 2;

/// Attributes, name, info and hints, which are rarely set.
struct Extras;

/// What a proclet owns of a communicator that it belongs to.
struct Comm : RefCount {
  SharedComm* shared = nullptr;  ///< MPI_COMM_SELF's is made by its first find()
  int32_t rank = -1;             ///< in the local group
  MPI_Comm handle = MPI_COMM_NULL;
  /// MPI_ERRHANDLER_NULL: none was set on this communicator, nor on its parent before it was made;
  /// then MPI_COMM_WORLD's error handler answers.
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
  /// The number of the next blocking collective here, and of the next nonblocking or persistent one
  /// (meeting.h).
  uint32_t sequence = 0;
  std::unique_ptr<Extras> extras;
  uint32_t freed : 1 = 0;  ///< the user freed the handle
  /// The number of the session that the communicator's group is from; 0: of none, but of MPI_Init.
  uint32_t session : 31 = 0;
  uint32_t nonblocking_sequence = 1;

  Comm();
  ~Comm();
  int32_t size() const { return shared->size; }
  /// The number of collectives that were started here on this communicator, modulo 2^31.
  uint32_t collectives() const {
    return (sequence / kNextOfKind + nonblocking_sequence / kNextOfKind) & 0x7fffffff;
  }
  /// Resolves a rank of the peer group to process and local index. The result is kUnknownProcess
  /// where another process has yet to be asked (system-ranked communicators); point-to-point
  /// accepts that too. Never switches. REQUIRES: 0 <= rank < shared->peers().size().
  Location peer(int32_t peer_rank) const {
    uint32_t world = static_cast<uint32_t>(shared->peers().world_of(peer_rank));
    uint32_t local;
    if (__builtin_expect(g_av.is_mine(world, &local), 1)) return {g_av.me(), local};
    if (__builtin_expect(world == kUnknownWorld, 0))
      return {kUnknownProcess, static_cast<uint32_t>(peer_rank)};
    return g_av.locate(world);
  }
  /// As peer(), for the destination of a user's message: where ranks move, the result names the
  /// rank, not a process.
  Location destination(int32_t peer_rank) const {
    uint32_t world = static_cast<uint32_t>(shared->peers().world_of(peer_rank));
    uint32_t local;
    if (__builtin_expect(g_av.is_direct(world, &local), 1)) return {g_av.me(), local};
    if (__builtin_expect(world == kUnknownWorld, 0))
      return {kUnknownProcess, static_cast<uint32_t>(peer_rank)};
    return g_av.destination(world);
  }
};
static_assert(sizeof(Comm) <= 64, "memory budget: 64 bytes a member");

/// A rank's MPI objects: one per rank proclet, made when the rank calls MPI_Init (or a session's
/// first call). `led` and `world_rank`, which the choice of a leader reads at every member, lie
/// beside `world`, which any call on the world touches.
struct RankState {
  Comm world;
  uint32_t led = 0;  ///< number of communicators that this rank leads now
  uint32_t world_rank = 0;
  Comm self;
  uint32_t local = 0;     ///< index in this process
  uint32_t lbi_next = 0;  ///< next never-used LBI of this rank as a leader
  int thread_level = MPI_THREAD_SINGLE;
  bool self_answers = false;  ///< the program gave MPI_COMM_SELF an error handler
  /// Attached buffers of buffered sends, from the first one on.
  pt2pt::RankBuffers* buffers = nullptr;
};
static_assert(sizeof(RankState) <= 144, "memory budget: part of a parked rank's 512 bytes");

/// The RankState of the running proclet, or nullptr before MPI_Init. A helper coroutine gets
/// its rank's.
inline RankState* rank_state() {
  sched::Proclet* p = sched::current();
  return __builtin_expect(p != nullptr, 1) ? static_cast<RankState*>(p->rank_state) : nullptr;
}

namespace detail {
extern Slab<Comm> g_comms;
Comm* find_slow(MPI_Comm handle);
inline constexpr uint32_t kHandleBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kComm);
inline constexpr uint32_t kHandleMask = host::kHandleTypeMask;
/// The handles that find() compares with. Once several threads may call MPI these are handles that
/// nobody has, so that find() reads nothing that another thread may be changing; find_slow() then
/// checks whether the caller holds the engine lock. These are variables, and not constants with a
/// test, so that the fast paths have no instruction more.
struct FastHandles {
  MPI_Comm world = MPI_COMM_WORLD;
  uint32_t base = kHandleBase;
};
[[gnu::visibility("hidden")]] extern FastHandles g_fast_handles;

/// Searches the world and the communicators of the first table, whose handles are `handles`.
/// Returns false if the handle is none of these. *out: the communicator, or nullptr.
[[gnu::always_inline]] inline bool find_listed(MPI_Comm handle, const FastHandles& handles,
                                               Comm** out) {
  if (__builtin_expect(handle == handles.world, 1)) {
    RankState* r = rank_state();
    *out = __builtin_expect(r != nullptr && !r->world.freed, 1) ? &r->world : nullptr;
    return true;
  }
  if ((static_cast<uint32_t>(handle) & kHandleMask) != handles.base) return false;
  Comm* c = g_comms.get(static_cast<uint32_t>(handle) & ~kHandleMask);
  *out = c && !c->freed ? c : nullptr;
  return true;
}
}  // namespace detail

/// The communicator behind a handle, or nullptr (null, freed, foreign, MPI not initialised or
/// finalised).
inline Comm* find(MPI_Comm handle) {
  Comm* found;
  return detail::find_listed(handle, detail::g_fast_handles, &found) ? found
                                                                     : detail::find_slow(handle);
}

/// As find(), for a caller that is inside the library, whether or not calls have to enter it first.
inline Comm* find_inside(MPI_Comm handle) {
  Comm* found;
  return detail::find_listed(handle, {}, &found) ? found : detail::find_slow(handle);
}

/// From now on find() finds nothing for a thread that is outside the library
/// (proclet-sched/threads/threads.h).
void close_fast_paths();

/// Makes world and self of the running rank (MPI_Init). Never switches.
Status init_rank(RankState* rank, SharedComm* world = nullptr, int32_t rank_in_world = 0);
/// Deletes the attributes of self, in reverse order, then those of world: the first act of
/// MPI_Finalize (MPI-4.0 section 11.2.4). May switch (delete functions).
void delete_rank_attributes(RankState* rank);
/// The end of MPI_Finalize: drops world and self.
void finalize_rank(RankState* rank);

/// The SharedComm of a context id (and side) in this process, or nullptr.
SharedComm* find_shared(ContextId id, uint8_t side = 0);
/// As find_shared(), but nullptr where only visitors use it (visit.h): collectives ignore those.
SharedComm* find_with_members(ContextId id, uint8_t side = 0);
/// The properties of a communicator that is about to be made.
struct CommSpec {
  ContextId id;
  const RankMap* map = nullptr;
  const RankMap* remote = nullptr;  ///< intercommunicators only
  uint32_t members = 0;             ///< of the local group in this process
  uint32_t processes = 1;           ///< number of processes that host members of either group
  uint8_t side = 0;
  const char* creating_call = "";  ///< the MPI call
};
/// Makes the shared part of a new communicator. Each of spec.members owns a share in it, which
/// the member claims by enter(). REQUIRES: this process has no SharedComm of this id and side.
/// Never switches.
SharedComm* make_shared(const CommSpec& spec);
/// Releases a share that no member will claim.
void release_share(SharedComm* shared);
/// Claims a member's share and makes its Comm. Errors: MPI_ERR_OTHER when the handles of the
/// process are used up (the share is then released). Never switches.
Status enter(SharedComm* shared, int32_t rank, const Comm* parent, Comm** out);

// ---- Collective calls; all may switch. ----------------------------------------------------------
/// Makes a new communicator with the same group; members agree on nothing but a context id. An
/// irregular map is shared with the parent, or stored anew in this process when the members ask for
/// a strategy.
Status dup(Comm* comm, Comm** out, const char* call,
           std::optional<groupmap::Strategy> strategy = {});
/// Splits a communicator by HPDC'10 Procedure 1; each process first gathers its members' arguments.
/// *out is nullptr for MPI_UNDEFINED.
Status split(Comm* comm, int32_t color, int32_t key, Comm** out);
/// Makes a communicator of the same members, ordered by key. The map is the parent's own where the
/// order does not change.
Status permute(Comm* comm, int32_t key, Comm** out);
/// Stores the irregular map of a new communicator as the members ask, in this process only. The
/// first member that calls does it. Never switches.
void store_as(Comm* comm, const groupmap::Strategy& strategy);
/// Makes a communicator of `group`, a map of world ranks; *out is nullptr for non-members. HPDC'10
/// Procedure 2.
Status create(Comm* comm, const RankMap& group, Comm** out, const char* call = "MPI_Comm_create");
Status create_group(Comm* comm, const RankMap& group, int32_t tag, Comm** out);
/// Frees the handle at once; the object is dropped when nothing uses it any more. Nobody waits for
/// a message. The caller deletes the attributes first (src/mpi calls their delete functions).
void free(Comm* comm);
/// Words for a handle that find() refuses: null, freed (with the name and size that it had),
/// or unknown.
std::string describe_bad(MPI_Comm handle);

/// Registers a function that is called when this process has dropped all it had of a communicator.
/// The function must drop everything that is stored under the context id.
void add_dropped_handler(void (*handler)(ContextId id));

/// The number of communicators of this process that are in use (shared parts and members' parts,
/// without world and self), and the bytes that all of them use: for reports and tests.
struct Usage {
  size_t shared = 0, members = 0, bytes = 0;
};
Usage usage();
/// Calls visit(comm, argument) for each communicator that its user has not freed, without world
/// and self.
void for_each_unfreed(void (*visit)(const Comm& comm, void* argument), void* argument);
/// Calls visit for the shared part of each communicator of this process, world and self included.
/// visit must not make or free any.
void for_each_shared(void (*visit)(SharedComm& shared, void* argument), void* argument);
template <class F>
void for_each_shared(F&& f) {
  for_each_shared([](SharedComm& shared, void* argument) { (*static_cast<F*>(argument))(shared); },
                  &f);
}
/// The bytes that this process uses for a communicator: the shared part, its map and its
/// members' parts.
size_t bytes_of(const SharedComm& shared);
/// The number of communicators of this process that share its map object, itself included (1 when
/// the map is in line).
int sharing_of(const SharedComm& shared);

}  // namespace fgmpi::comm
