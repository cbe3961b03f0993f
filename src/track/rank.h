// What the tracker keeps for each rank, and the way to the running one.
//
// Ranks of a process share its file (Spool) and the tables in Process; everything else is the
// rank's own. The running rank is found by the library's word for tools (MPIX_Tool_word) where
// there is one, since there ranks are coroutines of one thread; with other MPI libraries a process
// is one rank.
//
// Thread rule: a rank's. Where a rank asked for MPI_THREAD_MULTIPLE, each entry takes the process's
// lock; nothing that holds it waits for others. Nothing here but what says so calls MPI functions
// that wait. Invariants: records of communicators are never removed; the local id of a communicator
// is its record's number.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "track/format.h"
#include "track/handle_table.h"
#include "track/settings.h"
#include "track/spool.h"
#include "track/track_calls.h"

namespace fgmpi::track {

/// What a request (or a matched message) is about.
enum class RequestKind : uint8_t { kSend, kRecv, kColl, kIdup, kMessage };

struct RequestEntry {
  RequestKind kind = RequestKind::kSend;
  bool persistent = false, active = true, cancelled = false;
  bool recorded = true;  ///< its start is in the trace
  uint16_t call = 0;
  uint32_t comm = kNoComm;  ///< of a kIdup: the parent's handle
  int32_t peer = 0, tag = 0;
  uint64_t bytes = 0;
  uint64_t number = 0;  ///< the request's name in the trace
  uint64_t extra = 0;   ///< collectives: bytes received; kIdup: where the new handle will be
  const void* place = nullptr;
  // Sends of one handle, oldest first: libraries give the same one to all that were complete at
  // once.
  uint32_t next = HandleTable::kNone;
  uint32_t last = HandleTable::kNone;  ///< of the first one
  uint32_t uses = 0;                   ///< how often this entry was dropped
};

/// A request before a call that may complete or free it. Afterwards another thread may have its
/// handle.
struct KnownRequest {
  MPI_Request request = MPI_REQUEST_NULL;
  uint32_t entry = HandleTable::kNone;
  uint32_t uses = 0;
};

/// A key that is on its way (keys.cc).
struct PendingKey {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  uint32_t id = 0;
  uint64_t sent[3] = {}, received[3] = {};
};

/// Chunks of one kind that a rank appends to.
struct Writer {
  ChunkHeader* chunk = nullptr;
  uint32_t parts = 0;
  /// Room for one more record, or nullptr when the disk is full.
  void* next(Spool& spool, ChunkKind kind, int32_t rank, size_t size, size_t first, size_t most);
};

struct Rank {
  // What each event touches.
  Event* next_event = nullptr;
  Event* last_event = nullptr;  ///< end of the chunk, or of what may be recorded
  ChunkHeader* events = nullptr;
  bool recording = false;
  bool threads = false;                ///< MPI_THREAD_MULTIPLE
  std::atomic<int> thread_numbers{1};  ///< given to its threads
  MPI_Comm last_comm = MPI_COMM_NULL;
  uint32_t last_id = kNoComm;
  HandleTable comms;     ///< handle -> local id
  HandleTable requests;  ///< handle -> its first entry
  std::vector<RequestEntry> entries;
  std::vector<uint32_t> free_entries;
  uint64_t next_request = 1;
  uint64_t events_left = 0;

  int32_t world_rank = 0, world_size = 1;
  uint32_t event_parts = 0;
  Writer comm_writer;
  std::vector<CommRecord*> records;  ///< first record of each chunk of them
  uint32_t comm_count = 0;
  uint32_t defined = 0, defined_inter = 0;
  std::vector<PendingKey*> pending;
  /// Encoded, of those that this rank defines.
  std::vector<std::pair<uint32_t, const ChunkHeader*>> kept_groups;
  std::vector<MPI_Group> groups;   ///< of communicators, for world ranks in events; by local id
  int sessions = 0;                ///< open ones
  bool initialised = false;        ///< MPI_Init was called
  bool unify_later = false;        ///< a session came before MPI_Init: the world is not number 0
  class Call* finalize = nullptr;  ///< the program's call of MPI_Finalize
  bool foreign = false;            ///< the job was spawned, or has met another

  CommRecord& comm(uint32_t id);
  uint32_t id_of(MPI_Comm comm) {
    if (__builtin_expect(comm == last_comm, 1)) return last_id;
    return look_up(comm);
  }
  uint32_t look_up(MPI_Comm comm);
  /// The next event of the chunk, or of a new one; nullptr when no more are to be recorded.
  Event* take() {
    if (__builtin_expect(next_event == last_event, 0)) return take_slow();
    Event* e = next_event++;
    events->used += sizeof(Event);
    return e;
  }
  Event* take_slow();

  /// Tracks a new communicator: its record, its table entry, its key. Returns its local id. Other
  /// ranks must be in the same creation; waits for nobody.
  uint32_t add_comm(MPI_Comm comm, uint32_t parent, uint16_t call, uint16_t flags,
                    const void* place);
  /// `comm` was the handle of the communicator with this local id.
  void drop_comm(MPI_Comm comm, uint32_t id);

  void new_entry(MPI_Request request, const RequestEntry& entry);
  /// REQUIRES: it is the first of its handle's entries, or no longer one of them.
  void drop_entry(MPI_Request request, uint32_t index);
  KnownRequest know(MPI_Request request) const;
  /// The entry of a known request, or another one of its handle where a thread has taken that;
  /// kNone: there is none.
  uint32_t entry_of(const KnownRequest& known) const;
};

struct Process {
  Settings settings;
  Spool spool;
  std::mutex lock;
  bool on = false;            ///< files are there
  bool context_keys = false;  ///< the library says keys itself
  bool short_way = false;     ///< it gives encoded maps too
  uint64_t job = 0;
  int32_t ranks = 1, arrived = 0, left = 0;
  std::vector<Rank*> all;
  bool wanted[kCallCount] = {};
};
extern Process g_process;

/// The library's word for tools of the running rank, or where this process's only rank is kept.
extern void** (*g_tool_word)();
extern Rank* g_only_rank;

/// The running rank, or nullptr where it is not tracked (before MPI_Init, after MPI_Finalize).
inline Rank* current_rank() {
  if (g_tool_word) {
    void** word = g_tool_word();
    return word ? static_cast<Rank*>(*word) : nullptr;
  }
  return g_only_rank;
}

/// The caller's thread is number 0 of its rank.
void this_is_the_first_thread();

uint64_t read_ticks_slowly();
extern bool g_ticks_are_cycles;
/// The present time: the processor's counter where it is the same in all cores and never stops.
inline uint64_t ticks() {
  if (__builtin_expect(g_ticks_are_cycles, 1)) return __builtin_ia32_rdtsc();
  return read_ticks_slowly();
}
/// Before the first ticks().
void choose_clock();
void set_up_ticks(FileHeader* header);
/// Gives the header a later pair of times.
void note_ticks(FileHeader* header);

/// Takes the lock where a rank has several threads.
class RankLock {
 public:
  explicit RankLock(const Rank* rank) : locked_(rank->threads) {
    if (__builtin_expect(locked_, 0)) g_process.lock.lock();
  }
  ~RankLock() {
    if (__builtin_expect(locked_, 0)) g_process.lock.unlock();
  }
  RankLock(const RankLock&) = delete;
  RankLock& operator=(const RankLock&) = delete;

 private:
  const bool locked_;
};

// keys.cc -----------------------------------------------------------------------------------------
/// Starts to spread the key of a new communicator (EuroMPI'11 section 4.1), without waiting.
void start_key(Rank* rank, MPI_Comm comm, uint32_t id);
/// Completes what has come; `all`: waits for all of it (may switch).
void advance_keys(Rank* rank, bool all);

// life.cc -----------------------------------------------------------------------------------------
/// Called after MPI_Init and MPI_Session_init.
void rank_starts(bool session);
/// The rank's end, before and after the last MPI_Session_finalize of a rank that did not call
/// MPI_Init. Local.
void rank_ends(Rank* rank);
void rank_has_ended(Rank* rank, bool in_order);

// unify.cc ----------------------------------------------------------------------------------------
/// Unifies the definitions of all ranks (EuroMPI'11 section 4.2). Collective over the world; may
/// switch.
void unify(Rank* rank);

}  // namespace fgmpi::track
