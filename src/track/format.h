// The file that a traced process leaves in the trace's folder. It is written through a shared
// mapping, so that it can be read after any end of the process.
//
//   proc-<first world rank>.trk    (of a spawned job, or a further job in the folder:
//                                  job-<key>-proc-<first world rank>.trk)
//
//   | FileHeader, 4 KiB | chunk | chunk | ... | zeros to the end of the file |
//
//   chunk:  | ChunkHeader, 32 B | `used` bytes of records | zeros to `capacity` |
//
//   The records of a chunk are of one kind and one rank.
//
// A rank appends to the last chunk of its kind; a full chunk stays. The chunks of a process's ranks
// follow each other in the order of request. Numbers are in the machine's byte order
// (little-endian).
//
// Costs: a communicator 40 bytes for each rank; a call 48 bytes, and each further message or
// completion of the call 48 more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::track {

inline constexpr uint64_t kFileMagic = 0x314b43415254'4746;  // "FGTRACK1"
inline constexpr uint32_t kChunkMagic = 0x4b4e4843;          // "CHNK"
inline constexpr size_t kFileHeaderBytes = 4096;

struct FileHeader {
  uint64_t magic;
  uint64_t job;  ///< the same in all processes of a job, different in each job; 0: unknown
  int32_t first_rank;
  int32_t ranks;       ///< ranks that this process hosts
  int32_t world_size;  ///< of MPI_COMM_WORLD, or of the process set mpi://WORLD
  int32_t pid;
  /// At the start: ticks, monotonic nanoseconds, nanoseconds since 1970.
  uint64_t ticks0, mono0, real0;
  uint64_t ticks1, mono1;  ///< a later pair
  uint64_t end;            ///< size of the file up to the last chunk
  uint32_t flags;          ///< FileFlag
  uint32_t calls;  ///< length of the list of calls; a reader with another list refuses the file
  char host[64];
  char library[64];
};
static_assert(sizeof(FileHeader) <= kFileHeaderBytes);

enum FileFlag : uint32_t {
  kGlobalRanks = 1,  ///< events hold world ranks (FGMPI_TRACK=ranks-in-events:global)
  kFinished = 2,     ///< every rank of the process has called MPI_Finalize
  kContextKeys = 4,  ///< keys are the library's context ids, not <world rank, counter>
  kSessions = 8,     ///< no MPI_COMM_WORLD: ranks are those of mpi://WORLD
};

enum class ChunkKind : uint32_t {
  kComms = 1,    ///< CommRecord
  kEvents = 2,   ///< CallEvent
  kModules = 3,  ///< TracedModule and its path, each padded to 8 bytes
  kMapping = 4,  ///< uint32: global id of each local communicator, in order
  kGroups = 5,   ///< GroupRecord and the bytes of an encoded map, padded to 8
  kUnified = 6,  ///< the job's definitions (definitions.h), at the root
  kNames = 7,    ///< NameRecord and the text, padded to 8
  kThreads = 8,  ///< no records: the chunk shows that the rank asked for MPI_THREAD_MULTIPLE
};

struct ChunkHeader {
  uint32_t magic;
  ChunkKind kind;
  int32_t rank;   ///< world rank
  uint32_t part;  ///< number of the chunk among those of its kind and rank
  uint64_t used;  ///< bytes of records; grows as they are appended
  uint64_t capacity;
};
static_assert(sizeof(ChunkHeader) == 32);

enum CommFlag : uint16_t {
  kSelfLike = 1,  ///< one process: no key is needed
  kInter = 2,
  kKeyed = 4,       ///< the key is known
  kFreed = 8,       ///< by MPI_Comm_free or MPI_Comm_disconnect
  kSameGroup = 16,  ///< a duplicate: the group is the parent's
  kForeign = 32,    ///< may have members of other jobs
  kPredefined = 64,
  /// Intercommunicators: the key was defined by the other group's rank 0. Known after the
  /// unification.
  kSideB = 128,
};

/// A rank's record of a communicator, of constant size (EuroMPI'11 section 4.1). The local id is
/// the record's number.
///
///   | definer  counter | local rank  size | parent  remote size | job | call flags  place |
struct CommRecord {
  uint32_t definer;  ///< world rank of rank 0; with kContextKeys: the leader
  /// The number of communicators that this rank had defined before; with kContextKeys: the index.
  /// Intercommunicators without kContextKeys: rank 0 of the other group, see keys.cc.
  uint32_t counter;
  int32_t rank;         ///< in the communicator (its local group)
  int32_t size;         ///< of its local group
  uint32_t parent;      ///< local id, or kNoComm
  int32_t remote_size;  ///< intercommunicators
  uint32_t job;         ///< lower half of the definer's job key
  uint16_t call;        ///< the call that made it
  uint16_t flags;       ///< CommFlag
  uint64_t place;       ///< return address of that call, in the program as the linker loaded it
};
static_assert(sizeof(CommRecord) == 40,
              "memory budget: 64 bytes a communicator a rank, 24 of them its table's");

inline constexpr uint32_t kNoComm = 0xffffffffu;

enum class EventKind : uint8_t {
  kCall = 1,    ///< without further data
  kSend,        ///< peer, tag, bytes
  kRecv,        ///< peer, tag, bytes
  kIsend,       ///< and extra = request
  kIrecvPost,   ///< extra = request
  kIsendDone,   ///< extra = request
  kIrecvDone,   ///< peer, tag, bytes, extra = request
  kColl,        ///< peer = root or kNoRoot, bytes sent, extra = bytes received
  kIcollPost,   ///< extra = request
  kIcollDone,   ///< as kColl, but extra = request and tag = the call that started it
  kCommCreate,  ///< comm = the new one
  kCommFree,    ///< comm
  kCancelled,   ///< extra = request
  kFlush,       ///< by the tracker: a new chunk was made from begin to end
};
/// Set in `kind` for a part of the preceding call with the same begin.
inline constexpr uint8_t kPart = 0x80;
inline constexpr int32_t kNoRoot = -100;

/// A call, or a part of one.
struct CallEvent {
  uint64_t begin, end;  ///< in ticks; end = 0: the call has not returned
  uint16_t call;
  uint8_t kind;    ///< EventKind, with kPart
  uint8_t thread;  ///< 0: the one that called MPI_Init; others in the order of their first call
  uint32_t comm;   ///< local id or kNoComm
  int32_t peer;    ///< rank in the communicator; world rank with kGlobalRanks
  int32_t tag;
  uint64_t bytes;
  uint64_t extra;
};
static_assert(sizeof(CallEvent) == 48);

struct TracedModule {
  uint64_t base, size;
  uint32_t path_bytes, unused;
};
struct GroupRecord {
  uint32_t comm;  ///< local id at this rank
  uint32_t bytes;
};
struct NameRecord {
  uint32_t comm;
  uint32_t bytes;
};

}  // namespace fgmpi::track
