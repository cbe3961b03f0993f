// FGMPI_RMA_CHECK reports accesses to a window's memory that no synchronisation orders (MPI-4.0
// section 12.7): a put with a put or get of the same bytes of a target; an accumulate with another
// access or another operation; and MPI calls of a rank that read or write its exposed memory, or
// the origin memory of an operation that is not complete.
//
// Each process has a table of the accesses to its members' memory that no synchronisation has ended
// yet. The table lies behind the process's control area, so in memory that peers of the host share:
//
//   | lock 4 | used 4 | overflowed 4 | pad 4 | records: 72 each, kMost of them |
//
// Untouched pages of it cost nothing. Processes that cannot map the table (other hosts, other
// transports) ask its owner by messages and wait for the answer (check_message.h).
//
// An access stays in the table until the synchronisation that ends it:
//   epoch of locks    a flush or unlock by its origin
//   MPI_Win_start     the target's MPI_Win_wait
//   fence             the target's next fence; records hold the number of fences before them
// So any access that overlaps a record has begun before the record's access was complete for all
// ranks: there are no false alarms.
//
// Loads and stores of the program are in the table as far as a tool reports them: from the rank's
// next call on, until a call by which it may let other ranks begin an access, or the end of their
// epoch. A tool has loads and stores compared with operations of epochs of locks while they are
// made. Two kinds of accesses are compared with the table but not added to it: a rank's own MPI
// calls, and request forms of gets, which their completion ends.
//
// Thread rule: one thread; any process of the host may use the tables at once. Functions that may
// switch say so. When the check is off, it costs nothing: the shortest ways (win_inl.h) are for
// predefined types in mpi::g_basic_types, which is empty while accesses are checked.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::rma {

struct RmaOperation;
struct WindowPart;
struct Reach;
struct SharedWin;
struct Win;

namespace detail {
[[gnu::visibility("hidden")]] extern bool g_checking;
}
/// True while accesses are checked. Set by start_checking() and start_observing().
inline bool checking() { return __builtin_expect(detail::g_checking, 0); }
/// Reads the setting, when the process connects. Returns checking().
bool start_checking();

/// One access of a conflict, as a tool receives it.
struct Observed {
  const char* call;
  const char* verb;  ///< "reads", "writes", "accumulates into"
  int32_t world;     ///< the rank in MPI_COMM_WORLD that called
  int32_t target;    ///< the rank in MPI_COMM_WORLD whose memory it is
  uint64_t place;    ///< what ConflictObserver::place() returned when the access was made
};
/// The functions of a tool to which conflicts are reported, in place of standard error. `place`
/// identifies the place of the present call. `conflict` runs in the call that makes the second
/// access. `where`: "bytes 0 to 3"; nullptr for the origin memory of `first`, an operation that is
/// not complete.
struct ConflictObserver {
  uint64_t (*place)();
  void (*conflict)(const Observed& second, const Observed& first, const char* where);
};
/// Sets the tool. Called before the process connects. Accesses are then checked from the first
/// window on.
void set_observer(const ConflictObserver& observer);
/// Called before a window is made. Returns true where checking begins now, because there is an
/// observer.
bool start_observing();

enum class MemoryUse : uint8_t { kRead, kWrite, kAccumulate, kSwap };

class AccessTable;
/// Bytes of a table, in whole pages; 0 while accesses are not checked.
uint64_t access_table_bytes();
/// The table at the end of a control area of so many bytes, or nullptr.
AccessTable* access_table(void* control, uint64_t control_bytes);

/// Checks an operation at a target; the caller has checked its epoch and range. `offset`: the
/// target's displacement in bytes. May switch; another target may be in reach afterwards. Errors:
/// MPI_ERR_RMA_CONFLICT with FGMPI_RMA_CHECK=error.
Status check_operation(Win* win, const Reach& reach, const RmaOperation& what, MemoryUse use,
                       int64_t offset, const datatype::Type& target_type);
/// Checks memory that an MPI call of the running rank reads or writes. Errors: as above.
Status check_local(const void* address, int64_t count, const datatype::Type& type, bool writes,
                   const char* call);

/// Checks bytes that the program of the running rank has loaded or stored since its last call: in
/// its own memory in the window, or in any member's where the window is shared. `call`: the access,
/// in words; `place`: as ConflictObserver::place(). `keeps`: the access stays in the table until
/// the epoch ends; otherwise the program's earlier accesses are removed from it. With 0 bytes
/// nothing is compared. REQUIRES: checking(). Errors: as above.
Status check_program(Win* win, uint64_t address, uint64_t bytes, bool writes, const char* call,
                     uint64_t place, bool keeps);

/// Checks a load or store of the program while it is made: compares it with updates by epochs of
/// locks, and does not add it to the table. A load, or an update that returns the old value
/// (`reads`), may see what these updates have done; after that, stores are right.
Status check_program_now(Win* win, uint64_t address, uint64_t bytes, bool reads, bool writes,
                         const char* call, uint64_t place);
/// True while operations of epochs of locks to the running rank's memory in the window are under
/// way; in a shared window, to any member's.
bool is_under_way(Win* win);

// ---- The ends of accesses. REQUIRES: checking(). ------------------------------------------------
/// Called when the barrier of MPI_Win_fence is over.
void fence_passed(Win* win);
/// Called when all accesses of an epoch of MPI_Win_start are complete at this origin.
void access_completed(Win* win);
/// Called by MPI_Win_wait: the accesses of the epoch of MPI_Win_post are complete.
void exposure_ended(Win* win);
/// Called by a flush of `rank`, or of all targets (-1). `local`: only origin memory may be used
/// again; otherwise this may switch.
void flushed(Win* win, int32_t rank, bool local);
/// Record that the running rank has a window, and that the window is freed.
void record_window(Win* win);
void forget_window(const Win* win);

}  // namespace fgmpi::rma
