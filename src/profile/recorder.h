// The counts that the wrapper of a call adds to the record of its rank (format.h).
//
// Thread rule: a rank's threads. The fast paths (Fast) are inline and write only the running rank's
// record. Functions named slow_* acquire the process's lock. Nothing here switches or waits.
#pragma once

#include <mpi.h>

#include <mutex>
#include <unordered_map>

#include "base/hash.h"
#include "host/handle_bits.h"
#include "proclet-sched/sched.h"
#include "profile/extensions.h"
#include "profile/moving_ranks.h"
#include "profile/parts.h"
#include "profile/profile_calls.h"
#include "watch/interpose.h"
#include "watch/places.h"

namespace fgmpi::report {

using findings::from_fortran;

/// The data that each call reads, in few cache lines.
struct HotFields {
  /// The address at which the scheduler publishes the running proclet, while only one thread of the
  /// process may call MPI. Otherwise kNobody: then MPIX_Tool_word finds the rank.
  sched::Proclet* const* running = &kNobody;
  static constexpr sched::Proclet* kNobody = nullptr;
  /// The code of the Fortran binding and the library's code in front of it, if the
  /// program has them.
  uint64_t bindings = 0, bindings_bytes = 0;
  uint64_t own = 0, own_bytes = 0;
  bool in_binding(uint64_t address) const {
    return address - bindings < bindings_bytes || address - own < own_bytes;
  }
  int first = 0;
  unsigned count = 0;  ///< ranks of the process
  /// For each index of a request's handle the peer of the request: RankRecord::peer minus kNoPeer.
  /// Only used pages take memory.
  int32_t* peers = nullptr;
  /// The offset in a RankRecord of the cell of each call; 0: it has none yet.
  uint16_t cells[kCallCount] = {};
  FamilyRecord* families[kFamilies] = {};  ///< null: not made
};
// Hidden, so that addressing its members needs no register.
[[gnu::visibility("hidden")]] extern HotFields g_hot;
/// Receives the counts of calls without a rank's record: before MPI_Init, after MPI_Finalize, or
/// without a file.
[[gnu::visibility("hidden")]] extern RankRecord g_nobody;
/// In MPICH's ABI, the mask of the index in the handle of an object; our library has at most so
/// many requests.
inline constexpr uint32_t kRequestIndices = 1u << 25;
inline int32_t peer_of_request(MPI_Request request) {
  constexpr uint32_t kDirect =
      host::handle_base(host::HandleKind::kDirect, host::HandleObject::kRequest);
  const auto handle = static_cast<uint32_t>(request);
  return g_hot.peers && (handle & ~(kRequestIndices - 1)) == kDirect
             ? g_hot.peers[handle & (kRequestIndices - 1)] + kNoPeer
             : kNoPeer;
}
inline constexpr uint32_t kCellsAt = offsetof(RankRecord, calls_made);

struct ProfiledProcess {
  ProfileHeader* header = nullptr;  ///< null: no file
  RankRecord* ranks = nullptr;
  /// The record that a rank of this process, or a visitor, writes; nullptr: there is none.
  RankRecord* record_of(int32_t local) const {
    return g_moving ? g_moving->record_of(local) : &ranks[local];
  }

  std::mutex lock;  ///< guards the members below
  struct PersistentSend {
    MPI_Comm comm;
    int dest;
    uint64_t bytes;
  };
  /// Persistent sends, by rank and request. Where ranks move, each has handles of its own.
  std::unordered_map<uint64_t, PersistentSend> kept;
  static uint64_t key_of_send(const RankRecord* rank, MPI_Request request) {
    return mix(reinterpret_cast<uint64_t>(rank), static_cast<uint32_t>(request));
  }
  struct Handle {
    uint16_t family;
    uint64_t made_ns;
  };
  std::unordered_map<MPI_Comm, Handle> family_of;
  struct Keyed {
    uint16_t family;
    uint32_t handles;
  };
  /// The properties of a communicator that is not counted yet.
  struct NewComm {
    uint64_t site;
    uint16_t call, parent;  ///< parent: family
    bool first;             ///< this rank counts it: rank 0, on one side of an intercommunicator
    int size, inter;
  };
  std::unordered_map<uint64_t, Keyed> family_of_key;  ///< by key_of()
  int families_used = 0;
  /// Communicators of MPI_Comm_idup that are not complete, by the address of their future handle.
  std::unordered_map<const MPI_Comm*, NewComm> copies;
  /// The groups of windows on communicators other than MPI_COMM_WORLD.
  std::unordered_map<MPI_Win, MPI_Group> group_of;
};
extern ProfiledProcess& g_process;

/// The running rank by MPIX_Tool_word, or nullptr.
void* slow_word();
/// bindings.cc: the site in the program that called the binding's function, which has called us
/// from `place`. `frame`: the frame of our call.
uint64_t caller_of_binding(uint64_t place, uint64_t frame);
/// The offset of a call's cell in a record. Makes the cell at the first call.
uint32_t slow_cell_of(uint16_t call);
uint16_t slow_family_of(MPI_Comm comm);
uint64_t slow_bytes_of(int64_t count, MPI_Datatype type);
void slow_source(RankRecord* rank, MPI_Comm comm, int source);
/// Sets the rank's peer to a destination, without counting a message.
void slow_target(RankRecord* rank, MPI_Comm comm, int dest);
/// The world rank of a destination; negative where it has none. Counts the message's way.
int32_t slow_dest(RankRecord* rank, MPI_Comm comm, int dest, uint64_t bytes);
void slow_message(RankRecord* rank, int32_t peer, uint64_t bytes);
void record_any_source(RankRecord* rank, MPI_Comm comm, int tag, int source);
void record_persistent_send(const RankRecord* rank, MPI_Request request, MPI_Comm comm, int dest,
                            uint64_t bytes);
void start_sends(RankRecord* rank, CallCell* cell, int count, const MPI_Request* requests);
void forget_send(const RankRecord* rank, MPI_Request request);
/// Counts a one-sided operation. `fetches`: the bytes go from the target to the rank.
void moved(RankRecord* rank, MPI_Win win, int target, uint64_t bytes, bool fetches);
void made_window(MPI_Comm comm, MPI_Win win);
void freed_window(MPI_Win win);
/// The record of a collective of a family; nullptr: there is none.
CollectiveRecord* collective_record(const FamilyRecord* family, uint16_t call);
void count_collective(FamilyRecord* family, uint16_t call, uint64_t bytes);
/// Makes the family with this number. Called with the process's lock held, or before there are
/// other threads.
FamilyRecord* make_family(uint16_t number);
/// For MPIX_Tool_runs: an algorithm runs on the communicator with this key.
void count_run(int leader, int index, int algorithm);
/// The key in family_of_key of a communicator of the calling rank.
uint64_t key_of(MPI_Comm comm);
void made_comm(RankRecord* rank, MPI_Comm parent, MPI_Comm made);
/// For MPIX_Tool_copies: MPI_Comm_idup begins, or its communicator is complete.
void begins_copy(RankRecord* rank, MPI_Comm parent, const MPI_Comm* newcomm);
void made_copy(const MPI_Comm* newcomm, MPI_Comm made, int leader, int index);
void freed_comm(MPI_Comm comm);

/// Stores the peer of the current call for the request that the call has made.
[[gnu::always_inline]] inline void record_peer(const RankRecord* r, MPI_Request request) {
  if (g_hot.peers)
    g_hot.peers[static_cast<uint32_t>(request) & (kRequestIndices - 1)] = r->peer - kNoPeer;
}

/// Counts a message to a world rank.
[[gnu::always_inline]] inline void count_message(RankRecord* r, int32_t peer, uint64_t bytes) {
  const uint32_t wanted = r->number_of(peer);
  PeerCell& cell = r->peers[wanted % kPeerCells];
  if (__builtin_expect(cell.peer_and_one() != wanted, 0)) return slow_message(r, peer, bytes);
  ++cell.word;
  cell.bytes += bytes;
}

/// Does the type's handle contain its size (MPICH)?
inline bool is_basic(MPI_Datatype type) {
  return host::is_builtin(type, host::HandleObject::kDatatype);
}

/// The size of `count` elements.
inline uint64_t bytes_of_basic(int64_t count, MPI_Datatype type) {
  return static_cast<uint64_t>(count) * host::builtin_size(type);
}
inline uint64_t bytes_of(int64_t count, MPI_Datatype type) {
  if (__builtin_expect(is_basic(type), 1)) return bytes_of_basic(count, type);
  return slow_bytes_of(count, type);
}

/// A call in progress. Until the destructor runs, the rank's record shows that the rank is in it.
/// Functions that are not inline get members by value, so a scope stays in registers. This class is
/// for any call; most calls use Fast, below.
class CallScope {
 public:
  [[gnu::always_inline]] CallScope(uint16_t call, const void* place) : rank_(current()) {
    RankRecord* const r = rank_;
    peer_before_ = r->peer;
    uint64_t site = reinterpret_cast<uint64_t>(place);
    if (__builtin_expect(g_hot.in_binding(site), 0))
      site = caller_of_binding(site, reinterpret_cast<uint64_t>(__builtin_dwarf_cfa()));
    r->site = site;
    r->peer = kNoPeer;
    r->now = call + 1u;
    uint32_t at = g_hot.cells[call];
    if (__builtin_expect(at == 0, 0)) at = slow_cell_of(call);
    cell_ = reinterpret_cast<CallCell*>(reinterpret_cast<char*>(r) + at);
    ++cell_->count;
  }
  [[gnu::always_inline]] ~CallScope() { rank_->now = 0; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  [[gnu::always_inline]] void receives(MPI_Comm comm, int source) {
    if (__builtin_expect(source < 0 || comm != MPI_COMM_WORLD, 0))
      slow_source(rank_, comm, source);
    else
      rank_->peer = source | kIsSource;
  }
  /// Where MPI shall write the status of a receive: the program's status, or ours if the
  /// program ignores it.
  [[gnu::always_inline]] static MPI_Status* status_for(int source, MPI_Status* given,
                                                       MPI_Status* own) {
    return __builtin_expect(source == MPI_ANY_SOURCE && given == MPI_STATUS_IGNORE, 0) ? own
                                                                                       : given;
  }
  [[gnu::always_inline]] void took(MPI_Comm comm, int source, int tag, const MPI_Status* status) {
    if (__builtin_expect(source == MPI_ANY_SOURCE, 0))
      record_any_source(rank_, comm, tag, status->MPI_SOURCE);
  }
  void takes_later(int source) {
    if (source == MPI_ANY_SOURCE) rank_->flags |= kUnknownSource;
  }
  /// `receives`: the call has a source as well.
  [[gnu::always_inline]] void sends(MPI_Comm comm, int dest, uint64_t bytes, bool receives) {
    if (__builtin_expect(
            static_cast<unsigned>(dest - g_hot.first) >= g_hot.count || comm != MPI_COMM_WORLD,
            0)) {
      dest = slow_dest(rank_, comm, dest, bytes);
      if (dest < 0) return;
    }
    if (!receives) rank_->peer = dest;
    cell_->bytes += bytes;
    rank_->repeated += dest == peer_before_ && bytes <= kSmall;
    count_message(rank_, dest, bytes);
  }
  void collective(MPI_Comm comm, uint64_t bytes) {
    const uint16_t family = comm == MPI_COMM_WORLD ? kWorldFamily : slow_family_of(comm);
    rank_->family = family;
    cell_->bytes += bytes;
    FamilyRecord* const f = g_hot.families[family];
    if (!f) return;
    ++f->collectives;
    f->bytes += bytes;
    count_collective(f, static_cast<uint16_t>(rank_->now - 1), bytes);
  }
  void keeps(MPI_Request request, MPI_Comm comm, int dest, uint64_t bytes) {
    record_persistent_send(rank_, request, comm, dest, bytes);
  }
  [[gnu::always_inline]] void began(MPI_Request request) { record_peer(rank_, request); }
  /// Sets the destination of a persistent send.
  void names(MPI_Comm comm, int dest) { slow_target(rank_, comm, dest); }
  /// The call completes one request.
  [[gnu::always_inline]] void completes(MPI_Request request) {
    rank_->peer = peer_of_request(request);
  }
  /// Counts the bytes of a one-sided or file operation.
  void moves(uint64_t bytes) { cell_->bytes += bytes; }
  void reaches(MPI_Win win, int target, uint64_t bytes, bool fetches) {
    moved(rank_, win, target, bytes, fetches);
  }
  void made_win(MPI_Comm comm, MPI_Win win) { made_window(comm, win); }
  void frees_win(MPI_Win win) { freed_window(win); }
  void starts(int count, const MPI_Request* requests) {
    start_sends(rank_, cell_, count, requests);
  }
  void forgets(MPI_Request request) { forget_send(rank_, request); }
  void made(MPI_Comm parent, MPI_Comm made) { made_comm(rank_, parent, made); }
  void copies(MPI_Comm parent, const MPI_Comm* newcomm) { begins_copy(rank_, parent, newcomm); }
  void frees(MPI_Comm comm) { freed_comm(comm); }

 private:
  [[gnu::always_inline]] static RankRecord* current() {
    const sched::Proclet* p = *g_hot.running;
    void* word = p ? p->tool : g_hot.running == &HotFields::kNobody ? slow_word() : nullptr;
    return word ? static_cast<RankRecord*>(word) : &g_nobody;
  }

  RankRecord* rank_;
  CallCell* cell_;
  int32_t peer_before_;  ///< peer of the previous call
};

/// As CallScope, for a call by MPI_* (not by PMPI_*, as bindings call) of which everything is
/// simple: the running rank is known, the call has a cell, the peer is a rank of this process or a
/// named source, the type is basic, the communicator is MPI_COMM_WORLD. Its functions return
/// whether that is so; nothing is counted before enters(). So the wrapper need not save its
/// arguments over calls. Everything else is done out of line, by CallScope.
class Fast {
 public:
  [[gnu::always_inline]] bool known(uint16_t call) {
    const sched::Proclet* p = *g_hot.running;
    if (!p || !p->tool) return false;
    rank_ = static_cast<RankRecord*>(p->tool);
    return g_hot.cells[call] != 0;
  }
  [[gnu::always_inline]] bool receives(MPI_Comm comm, int source) {
    peer_ = source | kIsSource;
    return source >= 0 && comm == MPI_COMM_WORLD;
  }
  /// `receives`: the call has a source as well.
  [[gnu::always_inline]] bool sends(MPI_Comm comm, int dest, MPI_Datatype type, bool receives) {
    if (!is_basic(type) || comm != MPI_COMM_WORLD ||
        static_cast<unsigned>(dest - g_hot.first) >= g_hot.count)
      return false;
    const uint32_t wanted = rank_->number_of(dest);
    to_ = &rank_->peers[wanted % kPeerCells];
    if (!receives) peer_ = dest;
    return to_->peer_and_one() == wanted;
  }
  [[gnu::always_inline]] bool completes(MPI_Request request) {
    peer_ = peer_of_request(request);
    return true;
  }
  [[gnu::always_inline]] void enters(uint16_t call, const void* place) {
    forget_registers();
    ++cell(call)->count;
    begins(call, place);
  }
  /// As the function above, with the size that the call sends.
  [[gnu::always_inline]] void enters(uint16_t call, const void* place, int dest, int64_t count,
                                     MPI_Datatype type) {
    forget_registers();
    const uint64_t bytes = bytes_of_basic(count, type);
    if (__builtin_expect(rank_->peer == dest, 0)) rank_->repeated += bytes <= kSmall;
    ++to_->word;
    to_->bytes += bytes;
    CallCell* const c = cell(call);
    ++c->count;
    c->bytes += bytes;
    begins(call, place);
  }
  [[gnu::always_inline]] void began(MPI_Request request) { record_peer(rank_, request); }
  [[gnu::always_inline]] void leaves() { rank_->now = 0; }

 private:
  /// Makes the compiler read again what the conditions have read, so that it needs no registers for
  /// it: these hold the arguments.
  [[gnu::always_inline]] static void forget_registers() { asm volatile("" ::: "memory"); }
  [[gnu::always_inline]] void begins(uint16_t call, const void* place) {
    rank_->site = reinterpret_cast<uint64_t>(place);
    rank_->peer = peer_;
    rank_->now = call + 1u;
  }
  [[gnu::always_inline]] CallCell* cell(uint16_t call) const {
    return reinterpret_cast<CallCell*>(reinterpret_cast<char*>(rank_) + g_hot.cells[call]);
  }

  RankRecord* rank_;
  PeerCell* to_;
  int32_t peer_ = kNoPeer;
};

/// predicted_times.cc: is this a process of mpiexec -predict?
bool is_predicted();
/// The time, ns: of the running rank's clock where mpiexec -predict gives it one.
uint64_t time_now();
/// Has the simulator say where the time of ranks goes. Returns false where nothing is predicted.
bool observe_prediction();
/// life.cc: the first rank of the process has returned from MPI_Init. Returns false where
/// nothing is counted.
bool start_process();
/// sampler.cc: begins to sample the process, on a thread of its own that ends with the process.
void start_sampler();
/// Samples all ranks: before they end, and at the end.
void sample_now();
/// Where ranks move: a rank of the process ends, whose record nobody looks at any more.
void end_moving_rank(int32_t local);

}  // namespace fgmpi::report
