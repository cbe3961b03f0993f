// Functions that the files of this folder share: the table of windows, parts, and the functions
// that wake waiting members. Thread rule: one thread. Only functions that say so switch.
#pragma once

#include "rma/win.h"

namespace fgmpi::rma {

/// The window to which messages of this context id belong, or nullptr.
SharedWin* find_shared(uint64_t ctx);
void register_shared(SharedWin* shared);
void drop_shared(SharedWin* shared);
/// Makes a member's Win for a window. Errors: MPI_ERR_OTHER when handles are used up.
Status enter(SharedWin* shared, comm::Comm* comm, Win** out);
/// Drops a member's Win; the last member of the process drops the SharedWin.
void leave(Win* win);

/// Wakes those who wait for one of a member's counts.
inline void wake(MemberEpochs* access) { access->parked.wake(); }

/// Waits until all operations of a member have been answered. May switch.
void drain(Win* win, const char* call);
/// Waits until *count, of a target's accumulates, is 0. May switch.
void wait_for_accumulates(Win* win, int32_t rank, const uint32_t* count, const char* call);

// ---- Locks and notices as they arrive, from whatever process ------------------------------------
/// Called when rank `rank` of this process holds the lock of rank `target`; releases the lock where
/// the rank does not wait for it any more.
void lock_granted(SharedWin* shared, int32_t target, int32_t rank);
/// Called when the lock of `target` is not free, and `rank` does not wait until it is.
void lock_refused(SharedWin* shared, int32_t target, int32_t rank);
/// Notifies ranks, wherever they live, that they hold the lock of `target` now; for ranks of lost
/// processes, releases it. REQUIRES: the control area of the target is in reach.
void notify_granted_ranks(SharedWin* shared, int32_t target, std::vector<int32_t> ranks);
/// Called when the window has lost a member: wakes whoever waits for another member, so that the
/// waiter checks whether that member can still come.
void wake_waiting(SharedWin* shared);
/// Called when rank `from` has posted to the ranks listed, which live here, or when a rank has
/// completed at them.
void on_posted(SharedWin* shared, int32_t from, const int32_t* ranks, size_t count);
void on_completed(SharedWin* shared, const int32_t* ranks, size_t count);

/// Checks that `target` (MPI-4.0 section 12.2.1) holds the bytes [low, high) from displacement
/// `disp` on. Errors: MPI_ERR_RMA_RANGE, MPI_ERR_DISP.
Status check_range(const Win* win, const Reach& reach, int32_t rank, MPI_Aint disp, int64_t low,
                   int64_t high);

}  // namespace fgmpi::rma
