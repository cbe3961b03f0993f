// FGMPI_RMA_CHECK: accesses to a window's memory that no synchronisation orders (MPI-4.0 section
// 12.7) are reported: put with put or get on the same bytes of a target, an accumulate with another
// access or another operation, and MPI calls of a rank that read or write its exposed memory or the
// origin memory of an operation that is not complete.
//
// Each process keeps, behind its control area and so in memory that peers of the host share, a
// table of the accesses to its members' memory that no synchronisation has ended yet:
//
//   | lock 4 | used 4 | overflowed 4 | pad 4 | records: 72 each, kMost of them; untouched pages cost nothing |
//
// Processes that cannot map it (other hosts, other transports) ask its owner by messages and wait
// for the answer (check_message.h).
//
// An access is in it until what ends it: of an epoch of locks, a flush or unlock by its origin; of
// one of MPI_Win_start, the target's MPI_Win_wait; of a fence, the target's next one, and records
// say after how many fences they were made. Hence whatever overlaps a record has begun before the
// record's access was complete for all: there are no false alarms. Loads and stores of the program
// are there as far as a tool tells of them, from the rank's next call on, until a call by which
// others may be told to begin, or the end of their epoch; with operations of epochs of locks a tool
// has them compared as they are made. Compared with what is in the table, but not kept in it: a
// rank's own MPI calls, and request forms of gets, which their completion ends.
//
// Thread rule: one thread; the tables, any process of the host at once. What may switch says so.
// Off, it costs nothing: the shortest ways (win_inl.h) are for predefined types in
// mpi::g_basic_types, which is empty while accesses are checked.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "host/datatype.h"

namespace fgmpi::rma {

struct Operation;
struct Part;
struct Reach;
struct SharedWin;
struct Win;

namespace detail {
[[gnu::visibility("hidden")]] extern bool g_checking;
}
/// Are accesses checked? Set by start_checking().
inline bool checking() { return __builtin_expect(detail::g_checking, 0); }
/// Reads the setting. Called when the process connects. Returns checking().
bool start_checking();

/// An access of a conflict, as a tool is told of it.
struct Observed {
  const char* call;
  const char* verb;  ///< "reads", "writes", "accumulates into"
  int32_t world;     ///< the rank in MPI_COMM_WORLD that called
  int32_t target;    ///< in MPI_COMM_WORLD: whose memory it is
  uint64_t place;    ///< what Observer::place() has said when it was made
};
/// A tool that is told of conflicts, which are not written to standard error then. `conflict` runs
/// in the call that makes the second access. `where`: "bytes 0 to 3"; nullptr: it is origin memory
/// of the first, an operation that is not complete.
struct Observer {
  uint64_t (*place)();
  void (*conflict)(const Observed& second, const Observed& first, const char* where);
};
/// To be called before the process connects. Accesses are then checked from the first window on.
void set_observer(const Observer& observer);
/// A window is about to be made. True: from now on accesses are checked, as the observer wants.
bool start_observing();

enum class Use : uint8_t { kRead, kWrite, kAccumulate, kSwap };

class AccessTable;
/// Bytes of a table, whole pages; 0 while nothing is checked.
uint64_t access_table_bytes();
/// The table at the end of a control area of so many bytes, or nullptr.
AccessTable* access_table(void* control, uint64_t control_bytes);

/// An operation at a target whose epoch and range are right. May switch: the target in reach may be
/// another one then. Errors: MPI_ERR_RMA_CONFLICT with FGMPI_RMA_CHECK=error. `offset`: of the
/// target's displacement, in bytes.
Status check_operation(Win* win, const Reach& reach, const Operation& what, Use use, int64_t offset,
                       const host::Type& target_type);
/// Memory that an MPI call of the running rank reads or writes. Errors: as above.
Status check_local(const void* address, int64_t count, const host::Type& type, bool writes,
                   const char* call);

/// The program of the running rank has loaded or stored bytes of its own memory in the window since
/// its last call, or in a shared one of any member's. `call`: what it was, in words; `place`: as
/// Observer::place(). `keeps`: it stays until the epoch ends; else those that were kept go. No
/// bytes: none is compared. REQUIRES: checking(). Errors: as above.
Status check_program(Win* win, uint64_t address, uint64_t bytes, bool writes, const char* call,
                     uint64_t place, bool keeps);

/// The same of an access that is being made: it is compared with updates by epochs of locks, and
/// not kept. A load, or an update that returns the old value (`reads`), may see what those have
/// done: stores are right then.
Status check_program_now(Win* win, uint64_t address, uint64_t bytes, bool reads, bool writes,
                         const char* call, uint64_t place);
/// Are operations of epochs of locks to the running rank's memory in the window under way, or to
/// memory of a shared one?
bool is_under_way(Win* win);

// ---- What synchronisation ends. REQUIRES: checking(). -------------------------------------------
/// MPI_Win_fence has come back from its barrier.
void fence_passed(Win* win);
/// All accesses of the epoch of MPI_Win_start are complete at this origin.
void access_completed(Win* win);
/// MPI_Win_wait: those of the epoch of MPI_Win_post are complete.
void exposure_ended(Win* win);
/// A flush: of `rank`, or of all targets (-1). `local`: only origin memory may be used again; else
/// it may switch.
void flushed(Win* win, int32_t rank, bool local);
/// The running rank has a window; it is freed.
void note_window(Win* win);
void forget_window(const Win* win);

}  // namespace fgmpi::rma
