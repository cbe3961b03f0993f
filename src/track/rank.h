// The tracker's state of each rank, and the access to the running one.
//
// Ranks of a process share its file (TraceSpool) and the tables in TrackedProcess; everything else
// belongs to one rank. The running rank is found by the library's word for tools (MPIX_Tool_word)
// if that exists, because then ranks are coroutines of one thread. With other MPI libraries a
// process is one rank.
//
// Thread rule: a rank's. Where a rank asked for MPI_THREAD_MULTIPLE, each entry acquires the
// process's lock; its holder never waits for others. Only functions that say so call MPI functions
// that wait. Invariants: records of communicators are never removed; the local id of a communicator
// is its record's number.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/processor.h"
#include "track/format.h"
#include "track/handle_table.h"
#include "track/settings.h"
#include "track/spool.h"
#include "track/track_calls.h"

namespace fgmpi::track {

/// The kind of operation behind a request or a matched message.
enum class RequestKind : uint8_t { kSend, kRecv, kColl, kIdup, kMessage };

struct RequestEntry {
  RequestKind kind = RequestKind::kSend;
  bool persistent = false, active = true, cancelled = false;
  bool recorded = true;  ///< the trace contains its start
  uint16_t call = 0;
  uint32_t comm = kNoComm;  ///< kIdup: the parent's handle
  int32_t peer = 0, tag = 0;
  uint64_t bytes = 0;
  uint64_t number = 0;  ///< number of the request in the trace
  uint64_t extra = 0;   ///< collectives: bytes received; kIdup: address of the new handle
  const void* place = nullptr;
  // Sends with one handle, oldest first: libraries return the same handle for all sends that are
  // complete at once.
  uint32_t next = HandleTable::kNone;
  uint32_t last = HandleTable::kNone;  ///< of the first one
  uint32_t uses = 0;                   ///< number of times that this entry was dropped
};

/// A request as it is before a call that may complete or free it. After the call another thread may
/// have its handle.
struct RequestDescription {
  MPI_Request request = MPI_REQUEST_NULL;
  uint32_t entry = HandleTable::kNone;
  uint32_t uses = 0;
};

/// A key that has not arrived yet (keys.cc).
struct PendingKey {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  uint32_t id = 0;
  uint64_t sent[3] = {}, received[3] = {};
};

/// The chunks of one kind to which a rank appends.
struct ChunkWriter {
  ChunkHeader* chunk = nullptr;
  uint32_t parts = 0;
  /// Room for one more record; nullptr when the disk is full.
  void* next(TraceSpool& spool, ChunkKind kind, int32_t rank, size_t size, size_t first,
             size_t most);
};

struct TrackedRank {
  // Members that each event uses.
  CallEvent* next_event = nullptr;
  CallEvent* last_event = nullptr;  ///< end of the chunk, or of the events that may be recorded
  ChunkHeader* events = nullptr;
  bool recording = false;
  bool threads = false;                ///< MPI_THREAD_MULTIPLE
  std::atomic<int> thread_numbers{1};  ///< next number for one of its threads
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
  ChunkWriter comm_writer;
  std::vector<CommRecord*> records;  ///< first record of each chunk of communicators
  uint32_t comm_count = 0;
  uint32_t defined = 0, defined_inter = 0;
  std::vector<PendingKey*> pending;
  /// Encoded maps of the groups that this rank defines.
  std::vector<std::pair<uint32_t, const ChunkHeader*>> stored_groups;
  /// Groups of communicators by local id, for world ranks in events.
  std::vector<MPI_Group> groups;
  int sessions = 0;          ///< number of open sessions
  bool initialised = false;  ///< MPI_Init was called
  bool unify_later = false;  ///< a session came before MPI_Init, so the world is not number 0
  class TrackedCall* finalize = nullptr;  ///< the program's call of MPI_Finalize
  bool foreign = false;                   ///< the job was spawned, or has connected to another

  CommRecord& comm(uint32_t id);
  uint32_t id_of(MPI_Comm comm) {
    if (__builtin_expect(comm == last_comm, 1)) return last_id;
    return find_or_add_comm(comm);
  }
  uint32_t find_or_add_comm(MPI_Comm comm);
  /// The next event of the chunk, or of a new one; nullptr when no more shall be recorded.
  CallEvent* next_event_slot() {
    if (__builtin_expect(next_event == last_event, 0)) return next_event_in_new_chunk();
    CallEvent* e = next_event++;
    events->used += sizeof(CallEvent);
    return e;
  }
  CallEvent* next_event_in_new_chunk();

  /// Tracks a new communicator: adds its record and table entry and starts its key. Returns its
  /// local id. Other ranks must be in the same creation; does not wait for them.
  uint32_t add_comm(MPI_Comm comm, uint32_t parent, uint16_t call, uint16_t flags,
                    const void* place);
  /// Removes the handle of the communicator with this local id.
  void drop_comm(MPI_Comm comm, uint32_t id);

  void new_entry(MPI_Request request, const RequestEntry& entry);
  /// REQUIRES: the entry is the first of its handle, or no longer among the handle's entries.
  void drop_entry(MPI_Request request, uint32_t index);
  RequestDescription describe_request(MPI_Request request) const;
  /// The entry of a known request, or another entry of its handle if a thread has removed that;
  /// kNone: there is none.
  uint32_t entry_of(const RequestDescription& known) const;
};

struct TrackedProcess {
  Settings settings;
  TraceSpool spool;
  std::mutex lock;
  bool on = false;            ///< the file exists
  bool context_keys = false;  ///< the library returns keys itself
  bool short_way = false;     ///< it returns encoded maps too
  uint64_t job = 0;
  int32_t ranks = 1, arrived = 0, left = 0;
  std::vector<TrackedRank*> all;
  bool wanted[kCallCount] = {};
  /// The library's word for tools of the running rank; null where the process has one rank.
  void** (*tool_word)() = nullptr;
  TrackedRank* only_rank = nullptr;
  bool ticks_are_cycles = false;  ///< ticks() reads the processor's counter
};
extern TrackedProcess g_process;
/// Stores in g_process what is known when the library is loaded. Called once, after its
/// constructor.
void prepare_process();

/// The running rank; nullptr where it is not tracked (before MPI_Init, after MPI_Finalize).
inline TrackedRank* current_rank() {
  if (g_process.tool_word) {
    void** word = g_process.tool_word();
    return word ? static_cast<TrackedRank*>(*word) : nullptr;
  }
  return g_process.only_rank;
}

/// The calling thread becomes number 0 of its rank.
void this_is_the_first_thread();

uint64_t read_ticks_slowly();
/// The present time: the processor's counter if it is equal in all cores and never stops.
inline uint64_t ticks() {
  if (__builtin_expect(g_process.ticks_are_cycles, 1)) return processor::read_counter();
  return read_ticks_slowly();
}
/// Called before the first ticks().
void choose_clock();
void set_up_ticks(FileHeader* header);
/// Stores a later pair of times in the header.
void record_ticks(FileHeader* header);

/// Holds the lock where a rank has several threads.
class RankLock {
 public:
  explicit RankLock(const TrackedRank* rank) : locked_(rank->threads) {
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
void start_key(TrackedRank* rank, MPI_Comm comm, uint32_t id);
/// Completes the keys that have arrived; `all`: waits for all of them (may switch).
void advance_keys(TrackedRank* rank, bool all);

// life.cc -----------------------------------------------------------------------------------------
/// Called after MPI_Init and MPI_Session_init.
void rank_starts(bool session);
/// The end of a rank that did not call MPI_Init: rank_ends() is called before its last
/// MPI_Session_finalize and rank_has_ended() after it. Local.
void rank_ends(TrackedRank* rank);
void rank_has_ended(TrackedRank* rank, bool in_order);

// unify.cc ----------------------------------------------------------------------------------------
/// Unifies the definitions of all ranks (EuroMPI'11 section 4.2). Collective over the
/// world; may switch.
void unify(TrackedRank* rank);

}  // namespace fgmpi::track
