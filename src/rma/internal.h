// What the files of this folder share: the table of windows, parts, and what wakes whom.
// Thread rule: one thread. Nothing here switches unless it says so.
#pragma once

#include "rma/win.h"

namespace fgmpi::rma {

/// The window that messages of this context are about, or nullptr.
SharedWin* find_shared(uint64_t ctx);
void register_shared(SharedWin* shared);
void drop_shared(SharedWin* shared);
/// A member takes its share. Errors: MPI_ERR_OTHER when handles are used up.
Status enter(SharedWin* shared, comm::Comm* comm, Win** out);
/// A member is gone; the last one of the process drops what they shared.
void leave(Win* win);

/// Wakes a member that waits for one of its counts.
inline void wake(Access* access) {
  if (!access->parked) return;
  sched::Proclet* p = access->parked;
  access->parked = nullptr;
  sched::ready(p);
}

/// Waits until all operations of a member have been answered. May switch.
void drain(Win* win, const char* call);
/// Waits until *count, of a target's accumulates, is 0. May switch.
void wait_for_accumulates(Win* win, int32_t rank, const uint32_t* count, const char* call);

// ---- Locks and notices as they arrive, from whatever process ------------------------------------
/// The lock of rank `target` that rank `rank` of this process waits for is its own now; gives it
/// back where that one does not wait any more.
void lock_granted(SharedWin* shared, int32_t target, int32_t rank);
/// That lock is not free, and `rank` does not wait until it is.
void lock_refused(SharedWin* shared, int32_t target, int32_t rank);
/// Tells ranks, wherever they live, that the lock of `target` has been granted to them; for those
/// of lost processes it is released. REQUIRES: the control area of the target is in reach.
void tell_granted(SharedWin* shared, int32_t target, std::vector<int32_t> ranks);
/// The window has lost a member: whoever waits for another one looks whether that one can still
/// come.
void wake_waiting(SharedWin* shared);
/// Rank `from` has posted to, or completed at, the ranks listed, which live here.
void on_posted(SharedWin* shared, int32_t from, const int32_t* ranks, size_t count);
void on_completed(SharedWin* shared, const int32_t* ranks, size_t count);

/// Does `target` (MPI-4.0 section 12.2.1) hold [low, high) bytes from displacement `disp` on?
/// Errors: MPI_ERR_RMA_RANGE, MPI_ERR_DISP.
Status check_range(const Win* win, const Reach& reach, int32_t rank, MPI_Aint disp, int64_t low,
                   int64_t high);

}  // namespace fgmpi::rma
