// FGMPI_RMA_CHECK reports accesses to a window's memory that no synchronisation orders (MPI-4.0
// section 12.7): a put with a put or get of the same bytes of a target; an accumulate with another
// access or another operation; and MPI calls of a rank that read or write its exposed memory, or
// the origin memory of an operation that is not complete.
//
// Each process has a table of the accesses to its members' memory that no synchronisation has ended
// yet. The table lies behind the process's control area, so in memory that peers of the host share:
//
//   | lock, used, overflowed, done: 4 each | times 134 x 8 | assertions of two fences |
//   | records: 168 each, kMost of them |
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
// With a tool that knows the order of events in ranks (ConflictObserver), accesses of epochs of
// locks that are complete stay in the table, and so do MPI calls of a rank on its own memory. They
// conflict with later accesses of ranks that cannot know of them. The tool follows messages and
// collectives. What this layer orders, it tells the tool as a time: the rank may know of all that
// was complete by then. So it may know too much, and conflicts are missed, but never too little:
//   an exclusive lock                                    the last release of any
//   MPI_Win_fence, _start, _wait    when a member last began that fence, MPI_Win_post, _complete
//   a shared lock                                        the last release of an exclusive one
//   a flush after reads, at the target's memory          the last update there
//   an operation, where the target has been read before  the last change by the target itself
//   any call of a rank with windows                      the last update of its own memory
//   memory that is shared, reads that end by a request   for ever
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
#include <vector>

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
/// True where start_observing() has set it: only a tool wants it.
[[gnu::visibility("hidden")]] extern bool g_observing;
}  // namespace detail
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
/// What a tool records of the running rank's order of events at some time.
struct OrderStamp {
  uint64_t words[10];
};
/// The functions of a tool to which conflicts are reported, in place of standard error. `place`
/// identifies the place of the present call. `conflict` runs in the call that makes the second
/// access. `where`: "bytes 0 to 3"; nullptr for the origin memory of `first`, an operation that is
/// not complete. Two members that give a fence different assertions are reported with words about
/// these as the verbs, and with an empty `where`.
struct ConflictObserver {
  uint64_t (*place)();
  void (*conflict)(const Observed& second, const Observed& first, const char* where);
  /// The next three are null for a tool that does not know the order of events. `stamp`: an event
  /// of the running rank; `fresh`: after all that the rank has told others so far. `ordered`: may
  /// the running rank know of that event of rank `world`, which was at that time (stamp_ns())?
  /// `learn`: it may know of everything before that time.
  void (*stamp)(OrderStamp* now, bool fresh) = nullptr;
  bool (*ordered)(int32_t world, const OrderStamp& event, int64_t time) = nullptr;
  void (*learn)(int64_t time) = nullptr;
};
/// Sets the tool. Called before the process connects. Accesses are then checked from the first
/// window on.
void set_observer(const ConflictObserver& observer);
/// Called before a window is made. Returns true where checking begins now, because there is an
/// observer.
bool start_observing();

/// kNoUpdates: none, but the program has asserted that nobody updates the memory (MPI_MODE_NOPUT).
enum class MemoryUse : uint8_t { kRead, kWrite, kAccumulate, kSwap, kNoUpdates };

class AccessTable;
/// Bytes of a table, in whole pages; 0 while accesses are not checked. In recorded runs there is
/// room for it in any case, so that where a window's memory lies does not depend on the checker.
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
/// Checks bytes that a call of the running rank has read or written: a receive, or a collective,
/// that is complete. `call`, `place`: as for check_program(). REQUIRES: checking(). Errors: as
/// above.
Status check_used(uint64_t address, uint64_t bytes, bool writes, const char* call, uint64_t place);
/// The addresses of the times at which operations of others have last changed memory of the running
/// rank, one for each of its windows; valid until the window is freed.
std::vector<const int64_t*> update_times();
/// Tells the tool when operations of others have last changed memory of the running rank.
void learn_of_updates();
/// True while operations of epochs of locks to the running rank's memory in the window are under
/// way; in a shared window, to any member's.
bool is_under_way(Win* win);

// ---- The ends of accesses. REQUIRES: checking(). ------------------------------------------------
/// Called before the barrier of MPI_Win_fence.
void fence_begins(Win* win, int assertion);
/// Called when the barrier of MPI_Win_fence is over. Errors: as above.
Status fence_passed(Win* win, int assertion);
/// Called by MPI_Win_post, before others learn of it. Errors: as above.
Status exposure_begins(Win* win, int assertion);
/// Called when MPI_Win_start has the answers of its targets.
void access_begins(Win* win);
/// Called when a lock of `rank` is held, and before it is released. `known`: the program has said
/// that there is no other holder (MPI_MODE_NOCHECK).
void lock_acquired(Win* win, int32_t rank, bool exclusive, bool known);
void lock_released(Win* win, int32_t rank, bool exclusive);
/// Called when all accesses of an epoch of MPI_Win_start are complete at this origin, before others
/// learn of it.
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
