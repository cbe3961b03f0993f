// Windows (MPI-4.0 chapter 12): memory of ranks that others read and write without their help.
//
//   rank 0: Win (32 B) --+                      +-- WindowPart of process 0: bases, sizes, units,
//   rank 1: Win (32 B) --+--> SharedWin --------+     its memory object
//        + Comm (64 B)       (one a process)    +-- WindowPart of process 1 ...
//
// A window belongs to the process: collocated members share one SharedWin, found by the context id
// of the window's own duplicate of the communicator. A process stores the addresses of all members'
// memory once, as MemberNumbers for each process of the window. A member owns a Win and its Comm of
// the duplicate, 96 bytes. The member's first epoch makes its MemberEpochs (what it has locked,
// which operations are under way).
//
// Ways to a target's data, decided when a rank first reaches the target:
//   kHere      same process: copied or folded in place
//   kMapped    same host, memory that MPI allocated: loads, stores and processor atomics in the
//              mapping
//   kAttached  same host, the user's own memory: process_vm_readv and process_vm_writev
//   kProvider  other hosts, where the network's provider moves memory: its reads, writes and
//              atomics (provider.h)
//   kMessages  everything else: active messages (message.h)
//
// Thread rule: one thread. Functions that may switch say so. Invariants: no member of a SharedWin
// is freed while a rank has not left MPI_Win_free; operations that are not by messages are complete
// when their call returns.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/slab.h"
#include "base/status.h"
#include "coll/coll.h"
#include "comm/comm.h"
#include "comm/group.h"
#include "comm/hints.h"
#include "host/handle_bits.h"
#include "proclet-sched/coroutine/poller.h"
#include "pt2pt/pt2pt.h"
#include "rma/check.h"
#include "rma/control.h"
#include "rma/member_numbers.h"
#include "transport/memory_object.h"

namespace fgmpi::rma {

using transport::MemoryObject;
using transport::MemoryObjectName;

enum class AccessWay : uint8_t { kHere, kMapped, kAttached, kProvider, kMessages };
inline constexpr int kWays = 5;

/// Numbers of operations so far, by way, for MPIX_Stats.
struct WayCounters {
  uint64_t operations[kWays];
};
extern WayCounters g_counters;

/// The data that this process stores about the members of a window in one process (which may be
/// this one).
struct WindowPart {
  uint32_t process = 0;
  /// The members' indices in that process, ascending. The other lists are in this order.
  MemberNumbers locals;
  MemberNumbers ranks;  ///< the members' ranks in the window
  MemberNumbers
      bases;  ///< addresses there; of MPI_Win_allocate_shared: offsets in the common object
  MemberNumbers sizes;      ///< bytes
  MemberNumbers units;      ///< displacement units
  MemoryObjectName object;  ///< control area, and behind it the memory of MPI_Win_allocate
  uint64_t control_bytes = 0;
  uint64_t object_base = 0;  ///< address of the object in the owner's process
  uint64_t host = 0;         ///< equal for processes that can share memory
  uint64_t access_key = 0;   ///< for accesses by the network's provider; 0: none are granted
  bool near = false;         ///< on this process's host, reached by a transport for such processes
  bool locked = false;       ///< accumulates to its memory lock Control::all()
  bool alone = false;        ///< only its own process reaches its memory
  bool tried = false;        ///< near: this process has tried to map the object
  bool no_attach = false;    ///< the kernel does not let this process reach its memory
  std::unique_ptr<MemoryObject> memory;  ///< the object, mapped here
  std::unique_ptr<Control> control;      ///< nullptr: only its owner can use it
  /// In `memory`, behind `control`; nullptr while accesses are not checked.
  AccessTable* table = nullptr;
};

/// The way by which one rank reaches another rank's memory.
struct Reach {
  WindowPart* part = nullptr;
  uint32_t member = 0;  ///< index among the members of the part
  AccessWay way = AccessWay::kMessages;
  int64_t base = 0;      ///< address of displacement 0, as the owner numbers its memory
  int64_t size = 0;      ///< bytes; -1 for a dynamic window
  int64_t unit = 1;      ///< bytes
  char* here = nullptr;  ///< kHere and kMapped: address of displacement 0 in this process
};

/// Memory that MPI_Win_attach added to a dynamic window.
struct AttachedRegion {
  uint64_t base, bytes;
};

/// Proclets that wait for something of one member: the member, and other threads of its rank
/// (MPI_THREAD_MULTIPLE).
class ParkedThreads {
 public:
  /// Parks the calling proclet until wake(). May switch.
  void park(const sched::WaitSite* site) {
    Parked self{sched::current(), first_};
    first_ = &self;
    sched::park(site);
    Parked** at = &first_;
    while (*at && *at != &self) at = &(*at)->next;
    if (*at) *at = self.next;
  }
  /// Makes all of them ready.
  void wake() {
    for (Parked* p = std::exchange(first_, nullptr); p;) {
      Parked* next = p->next;
      sched::ready(p->proclet);
      p = next;
    }
  }

 private:
  /// Lies on the stack of park().
  struct Parked {
    sched::Proclet* proclet;
    Parked* next;
  };
  Parked* first_ = nullptr;
};

/// The state of post-start-complete-wait of one member. Exists from the first post to it, or
/// complete at it, on.
struct Handshake {
  /// Ranks whose MPI_Win_post names this one, which no MPI_Win_start of this one has matched yet.
  std::unordered_set<int32_t> posted;
  /// Calls of MPI_Win_complete that this member's exposure epoch has received from its group.
  uint32_t completed = 0;
  ParkedThreads parked;  ///< wait for either
  /// The member has looked in vain by MPI_Win_test: counted down with the next change.
  sched::Waiter* news = nullptr;
};

/// A member, or another thread of its rank, that waits for a lock. Lies on its stack.
struct LockWait {
  sched::Proclet* proclet;
  int32_t target;
  const WindowPart* part;  ///< the target's
  bool granted = false, refused = false;
  LockWait* next = nullptr;  ///< of the same rank
};

/// A lock for which a member has ceased to wait, because the window has lost a member, but which
/// may still be granted.
struct LateLock {
  int32_t target;
  LockKind kind;
};

/// The state of a window that collocated members share.
struct SharedWin {
  comm::ContextId id;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  uint32_t references = 0;  ///< members here that have not freed it
  uint32_t me = 0;          ///< the part of this process
  const char* creating_call = "";
  bool no_locks = false;          ///< info key: no member will lock
  bool granted = false;           ///< withdraw_access() has to be called in the end
  std::vector<WindowPart> parts;  ///< ascending processes
  MemoryObject common;            ///< the memory of MPI_Win_allocate_shared
  std::unordered_map<int32_t, Handshake> handshakes;  ///< by rank
  /// By rank. Threads of a rank wait at one lock of each process at most, since the queues in the
  /// control area name waiting ranks (control.h).
  std::unordered_map<int32_t, LockWait*> lock_waits;
  std::unordered_multimap<int32_t, LateLock> late_locks;  ///< by rank
  /// By index in the own part; regions ascend.
  std::unordered_map<uint32_t, std::vector<AttachedRegion>> attached;
  /// Addresses that were attached with 0 bytes, once for each call. They are no memory, but they
  /// can be detached. By index in the own part.
  std::unordered_map<uint32_t, std::vector<uint64_t>> attached_empty;

  WindowPart& own() { return parts[me]; }
  /// REQUIRES: the process hosts members.
  WindowPart& part_of(uint32_t process) {
    const uint32_t at = process - parts[0].process;
    if (__builtin_expect(at < parts.size() && parts[at].process == process, 1)) return parts[at];
    return search(process);
  }

 private:
  WindowPart& search(uint32_t process);
};

/// Which access epoch a member is in. kFenced: after a fence, without any access yet; then a lock
/// or start may follow.
enum class Epoch : uint8_t { kNone, kFenced, kFence, kStart, kLock, kLockAll };

/// One member's locks of one target, and its operations under way there by messages.
struct Target {
  LockKind lock = LockKind::kNone;
  bool no_check = false;     ///< MPI_MODE_NOCHECK: no lock is held
  uint32_t outstanding = 0;  ///< operations that the target has not answered
  uint32_t unsent = 0;       ///< operations whose origin memory has not been read whole
  /// Outstanding accumulates by messages, and by the provider. Accumulates of the two kinds could
  /// pass each other, so at least one of these counts is always 0.
  uint32_t folds = 0, atomics = 0;
};

/// A member's epochs, made by its first one. The members that a fence reads come first.
struct MemberEpochs {
  /// The target reached last in this epoch, whose memory is `hot`; -1: none.
  int32_t hot_rank = -1;
  int32_t hot_of = -1;  ///< the rank whose memory `hot` is, maybe since an earlier epoch
  Epoch epoch = Epoch::kNone;
  bool exposed = false;                  ///< between MPI_Win_post and MPI_Win_wait
  bool no_check = false;                 ///< MPI_Win_lock_all with MPI_MODE_NOCHECK
  bool stores = false;                   ///< stored into mappings since the last flush
  uint32_t outstanding = 0, unsent = 0;  ///< sums over all targets
  uint32_t locks = 0;                    ///< targets locked by MPI_Win_lock
  Status failure;                        ///< the first error with which a target has answered
  ParkedThreads parked;                  ///< wait for one of the counts, or to ask for a lock
  Reach hot;
  std::unordered_map<int32_t, Target> targets;
  std::vector<int32_t> started;  ///< kStart: ranks of the group, ascending
  uint32_t expected = 0;         ///< calls of MPI_Win_complete that MPI_Win_wait waits for
  // Values that attributes point to.
  MPI_Aint size = 0;
  int unit = 0, flavor = 0, model = MPI_WIN_UNIFIED;

  /// True where no operation is under way, nothing is exposed, and no other epoch than a fence's is
  /// open.
  bool is_quiet() const {
    return epoch <= Epoch::kFence && !exposed && !stores && outstanding == 0 && failure.ok();
  }
};

/// A member's window.
struct Win {
  SharedWin* shared = nullptr;
  /// The window's own communicator, which holds the error handler, name, attributes and hints.
  comm::Comm* comm = nullptr;
  std::unique_ptr<MemberEpochs> access;
  MPI_Win handle = MPI_WIN_NULL;
};
static_assert(sizeof(Win) + sizeof(comm::Comm) <= 96, "memory budget: 96 bytes a member");

namespace detail {
[[gnu::visibility("hidden")]] extern Slab<Win> g_wins;
}
inline constexpr uint32_t kHandleBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kWin);
/// The window of a handle, or nullptr.
inline Win* find(MPI_Win handle) {
  const auto bits = static_cast<uint32_t>(handle);
  return (bits & host::kHandleTypeMask) == kHandleBase
             ? detail::g_wins.get(host::handle_index(handle))
             : nullptr;
}
/// "rank 3 of 8 in window 0xa0000001".
std::string name_of(const Win* win);

// ---- Creation and freeing: collective, may switch. ----------------------------------------------
struct Creation {
  int flavor = MPI_WIN_FLAVOR_CREATE;
  void* base = nullptr;  ///< in: base of MPI_Win_create; out: the member's memory
  int64_t bytes = 0;
  int64_t unit = 1;
  comm::Hints hints;
  const char* call = "";
};
/// Errors: MPI_ERR_COMM (intercommunicator), MPI_ERR_SIZE, MPI_ERR_DISP, MPI_ERR_RMA_SHARED,
/// MPI_ERR_NO_MEM.
Status create(comm::Comm* comm, Creation* what, Win** out);
/// Waits until no rank uses the window. Errors: MPI_ERR_RMA_SYNC inside an epoch.
Status free(Win* win, const char* call);

/// Dynamic windows. Errors: MPI_ERR_RMA_FLAVOR, MPI_ERR_RMA_ATTACH, MPI_ERR_SIZE, MPI_ERR_BASE.
Status attach(Win* win, void* base, int64_t bytes);
Status detach(Win* win, const void* base);
/// True where [address, address + bytes) is attached by that member of this process.
bool is_attached(const SharedWin& shared, uint32_t member, uint64_t address, uint64_t bytes);

/// Returns the way by which the running process reaches a rank's memory. Never switches.
Reach reach_of(Win* win, int32_t rank);
/// Implements MPI_Win_shared_query: the memory that the caller can load and store; 0 bytes for a
/// rank whose memory is elsewhere (MPI-4.1 section 12.2.3). Errors: MPI_ERR_RMA_FLAVOR.
Status shared_query(Win* win, int32_t rank, int64_t* bytes, int64_t* unit, void** base);

// ---- Epochs (sync.cc). May switch. --------------------------------------------------------------
MemberEpochs& access_of(Win* win);
/// A fence that has assertions, or something to do before its barrier. Errors: MPI_ERR_ASSERT,
/// MPI_ERR_RMA_SYNC.
Status fence_after_all(Win* win, int assertion);
/// Lies in line, since a fence is to cost no more than its barrier.
inline Status fence(Win* win, int assertion) {
  MemberEpochs* a = win->access.get();
  if (assertion != 0 || !a || !a->is_quiet() || checking()) return fence_after_all(win, assertion);
  // The barrier's messages order what is stored and loaded on either side. All counts in `targets`
  // of this epoch are 0.
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
  a->hot_rank = -1;
  a->epoch = Epoch::kFenced;
  return coll::barrier(win->comm, "MPI_Win_fence");
}
Status post(Win* win, const comm::Group* group, int assertion);
Status start(Win* win, const comm::Group* group, int assertion);
Status complete(Win* win);
/// `flag`: nullptr for MPI_Win_wait, else that of MPI_Win_test.
Status wait(Win* win, int* flag, const char* call);
Status lock(Win* win, int type, int32_t rank, int assertion);
Status unlock(Win* win, int32_t rank);
Status lock_all(Win* win, int assertion);
Status unlock_all(Win* win);
/// `local`: waits only until the origin's memory may be used again.
Status flush(Win* win, int32_t rank, bool local, const char* call);
Status flush_all(Win* win, bool local, const char* call);
/// Switches only when it is called again and again.
Status sync(Win* win);
/// Called by calls on which a program may spin: lets other ranks run at every 256th call.
void yield_on_repeated_call();

/// Makes `rank` the target in reach, if the member's epoch allows an operation there. May switch
/// (while another rank holds a lock of MPI_Win_lock_all). Errors: MPI_ERR_RMA_SYNC.
Status open_another_target(Win* win, int32_t rank, const char* call);
inline Status open_target(Win* win, int32_t rank, const char* call, Reach** out) {
  MemberEpochs* access = win->access.get();
  if (__builtin_expect(!access || access->hot_rank != rank, 0)) {
    FGMPI_TRY(open_another_target(win, rank, call));
    access = win->access.get();
  }
  *out = &access->hot;
  return {};
}

// ---- Operations (transfer.cc). May switch as open_target() may. ---------------------------------
/// Elements at the origin or at the target. `address`: for the origin; a target has `disp` in place
/// of it.
struct Elements {
  const void* address = nullptr;
  int64_t count = 0;
  MPI_Datatype type = MPI_BYTE;
};
/// `request`: nullptr, or where the request of an R-form is stored.
struct RmaOperation {
  Elements origin, result, target;
  int32_t rank = 0;
  MPI_Aint disp = 0;
  MPI_Op op = MPI_OP_NULL;
  pt2pt::Request** request = nullptr;
  const char* call = "";
};
Status put(Win* win, const RmaOperation& what);
Status get(Win* win, const RmaOperation& what);
/// `fetch`: `result` receives the target's elements from before.
Status accumulate(Win* win, const RmaOperation& what, bool fetch);
Status compare_and_swap(Win* win, const void* origin, const void* compare, void* result,
                        MPI_Datatype type, int32_t rank, MPI_Aint disp);

/// Visits the windows that were not freed, with the call that made them, and the locks that are
/// held, for FGMPI_LEAKS.
void for_each_unfreed(void (*visit)(const Win& win, void* argument), void* argument);

}  // namespace fgmpi::rma
