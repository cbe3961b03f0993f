// The data that the entry points of a program compiled with mpicc -check have about memory that MPI
// operations own, and the calls by which they report accesses to the checker (check).
//
// An AccessView lies in each module (program, library) that was linked with entry points, so that
// each rank has its own in its image. The view alone decides most accesses: they call nothing.
//
//   low[how], length[how]   an access that begins in low .. low + length may touch memory that is
//                           owned. [0]: reads, which matter only for memory that operations write;
//                           [1]: writes. low is kMost - 1 below the owned memory, so that an access
//                           of up to kMost bytes that reaches into it counts. At first: all
//                           addresses.
//   filter                  a byte for each kind of granule (bits 9 to 20 of an address); 0:
//                           no operation owns memory there. The checker owns the bytes; null until
//                           the checker has registered the view.
//
// Thread rule: the checker writes a view with the lock of its owner held, word by word; entry
// points read it without a lock in any thread of the rank. Old and new words are both correct for
// an entry point that reads during a write: accesses of other threads at that moment have no order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::access {

/// Bytes of the largest access that is not reported as a range.
inline constexpr uintptr_t kMost = 16;
inline constexpr unsigned kGranuleBits = 9;
inline constexpr size_t kGranules = 4096;

inline constexpr size_t granule(uintptr_t address) { return (address >> kGranuleBits) % kGranules; }

struct AccessView {
  uintptr_t low[2] = {0, 0};
  uintptr_t length[2] = {~uintptr_t{0}, ~uintptr_t{0}};
  const uint8_t* filter = nullptr;
  void* owner = nullptr;  ///< used by the checker only
  /// The rank has several threads: the view lets all accesses through, and the checker learns of
  /// atomic operations, too.
  bool threads = false;
};
// as.sh and the plugin (plugin/) write these offsets into programs.
static_assert(offsetof(AccessView, low) == 0 && offsetof(AccessView, length) == 16 &&
              sizeof(uintptr_t) == 8);

/// An access that a view does not decide.
struct ProgramAccess {
  uintptr_t address;
  size_t bytes;
  bool writes;
  /// The access reads, and may write as well: a load, or an atomic change that returns the old
  /// value.
  bool reads;
  /// The function of the C library that makes the access for the program; null: the program itself.
  const char* function;
  const void* place;  ///< the address to which the entry point returns, in the program's code
};

/// In place of ProgramAccess::function: no access, but the one that follows is a load by which the
/// program waits for others to change the memory: a volatile or atomic one, or one that decides
/// whether a loop with calls ends.
inline constexpr const char* kPolls = "?";
inline bool is_poll(const ProgramAccess& access) {
  return access.function && *access.function == *kPolls;
}

/// What the compiler knows about the buffers of the call of MPI that follows (plugin/facts.cc).
///
///   facts   NAME ['?'] '|'
///           { ARGUMENT ['!'] ['.'] ':' BYTES ':' { LETTER SIZE '@' OFFSET } ':' TYPE ';' }
///           the call's name, with "?" where nothing reads the source in the status that it
///           fills in; for each buffer the number of its argument, "!" where nothing has written
///           its variable, "." where it is a member of a structure; the elements' size, their
///           scalars and their type in words. A letter is s or u for integers with and without
///           sign, f, c (complex), b (bool), e (enum), p (pointer).
///   object, bytes   the variable that the first and the second buffer lie in; null: unknown
struct ProgramCall {
  const char* facts;
  const void* object[2];
  size_t bytes[2];
};

/// The type of the function that receives it, and of those that learn what the program does with
/// the heap. `place`: as in ProgramAccess.
using Call = void (*)(const ProgramCall* call);
inline constexpr const char* kCall = "fgmpi_check_call";
/// `fresh`: the block's contents have no meaning yet.
using Allocated = void (*)(void* block, size_t bytes, bool fresh);
inline constexpr const char* kAllocated = "fgmpi_check_allocated";
using Freed = void (*)(void* block, const char* function, const void* place);
inline constexpr const char* kFreed = "fgmpi_check_freed";

/// What the wrappers of threads.cc and openmp.cc tell of the order of a program's threads, and what
/// `object` and `value` are. A strand is a part of the program whose statements have one order: a
/// thread, or a task, section or chunk of a loop of OpenMP, whichever thread executes it.
enum class Sync : uint8_t {
  kRelease,  ///< `object` passes on what the strand has done, ...
  kAcquire,  ///< ... to the strand that now continues because of it
  kForget,   ///< `object` is used no more
  /// The strand is about to wait for the mutex `object`; `value`: the place, and kIsOwn where it is
  /// a mutex that it would wait for if it had it already (await_value).
  kWants,
  kLock,    ///< the strand has got the mutex `object`
  kUnlock,  ///< it is about to release it
  /// The strand is about to wait at `object` for other strands: the first four for kWake, then for
  /// the arrival of all at a barrier, of all threads of the innermost region or of region `object`,
  /// and for the tasks that it has made, or that are in its group if there is an `object`.
  /// `value`: the place; for regions also the number of threads, for waits that end at a time
  /// kHasLimit (await_value). Returns 1 if it is to wait by kAwait first. The strand's next event
  /// ends the wait.
  kAwaitsCondition,
  kAwaitsSemaphore,
  kAwaitsMutex,
  kAwaitsWord,  ///< a word that it waits for by futex()
  kAwaitsBarrier,
  kAwaitsTeam,
  kAwaitsMembers,
  kAwaitsTasks,
  kAwaitsThread,  ///< ... or for the end of a thread, which the library is told of: never 1
  kAwait,         ///< returns when what the strand awaits may have come: 1 by kWake, else 0
  kTimedOut,      ///< a wait at `object` has ended without success; `value`: the place
  kWake,          ///< what strands await at `object` may have come
  kParallel,      ///< a parallel region `object` begins; `value`: the threads asked for, 0: any
  kMember,        ///< the calling thread begins its part of it; `value`: its frame
  kMemberEnds,    ///< ... and ends it
  kParallelEnds,  ///< all have
  kArrive,        ///< a barrier of the innermost parallel region begins for the strand
  kLeave,         ///< all have arrived
  kTeamRelease,   ///< as kRelease and kAcquire, for the innermost parallel region
  kTeamAcquire,
  kChunk,          ///< a section, or a chunk of a loop, begins
  kChunkEnds,      ///< it ends, if one has begun
  kChunksEnd,      ///< the strand has no further one
  kTask,           ///< a task is made, or if `value` several; returns its number
  kTaskNeeds,      ///< task number `value` depends on `object`
  kTaskBegins,     ///< task number `value` begins; `object`: its frame
  kTaskEnds,       ///< it ends
  kTaskWait,       ///< the tasks that the strand has made are over
  kGroup,          ///< a group of tasks begins
  kGroupEnds,      ///< all its tasks are over
  kThread,         ///< a thread is about to be made; returns a number for it
  kThreadBegins,   ///< thread number `value` begins
  kJoined,         ///< the thread with the handle `value` is over
  kBarrierMade,    ///< `object` is a barrier for `value` threads
  kBarrierArrive,  ///< the strand arrives there; returns a number
  kBarrierLeave,   ///< the barrier lets it go on; `value`: that number
  kAtomicStore,    ///< an atomic store is about to happen; `value`: its order in memory
  kAtomicLoad,     ///< an atomic load has happened
  kAtomicChange,   ///< an atomic operation that reads and writes is about to happen
  kAtomicChanged,  ///< ... and has
  kFence,          ///< a fence
};
/// The value of an event about `threads` threads at `place`; addresses of code have 48 bits.
constexpr unsigned kPlaceBits = 48;
constexpr int kHasLimit = 1 << 15;
constexpr int kIsOwn = 1;
inline const void* place_of(uint64_t value) {
  return reinterpret_cast<const void*>(value & ((uint64_t{1} << kPlaceBits) - 1));
}
inline uint64_t await_value(const void* place, int threads) {
  return reinterpret_cast<uintptr_t>(place) | static_cast<uint64_t>(threads) << kPlaceBits;
}
using Order = uint64_t (*)(AccessView* view, Sync what, const void* object, uint64_t value);
inline constexpr const char* kOrder = "fgmpi_check_order";

/// The type of the function of libfgmpi-check.so, found by name, that checks an access. It
/// registers the view, unless it cannot decide anything yet.
using Look = void (*)(AccessView* view, const ProgramAccess* access);
inline constexpr const char* kLook = "fgmpi_check_access";
/// The type of the function that returns whether an operation may own any of these bytes, so that
/// accesses to them have to be checked one by one.
using Touches = bool (*)(AccessView* view, uintptr_t address, size_t bytes, bool writes);
inline constexpr const char* kTouches = "fgmpi_check_touches";
/// The type of the function that drops a view, which is about to disappear.
using Forget = void (*)(AccessView* view);
inline constexpr const char* kForget = "fgmpi_check_forget";

}  // namespace fgmpi::access
