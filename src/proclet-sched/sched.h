// The proclet scheduler: nonpreemptive coroutines on the one thread of a process.
//
// A proclet runs until it parks (its request is incomplete), yields or ends. Code that completes
// what a parked proclet waits for calls ready(). A switch goes from proclet to proclet directly.
// The main stack of the process is the host stack: it runs the idle loop (polls the transports,
// sleeps in the kernel) and calls that need much stack (call_on_host_stack).
//
// Two kinds of proclets use the scheduler: ranks (one for each MPI rank of this process,
// created once) and helpers (pooled coroutines that run nonblocking collectives and other
// operations for a rank).
//
// Thread rule: one thread, or several that hold the engine lock in turn (threads.h). Nothing here
// is async-signal-safe. The comment of a function that may switch says so.
// Invariants: a proclet is in exactly one state. `next` links it into at most one list: the run
// queue, or one wait list of the code that will make it ready. Only a running proclet parks, and it
// parks itself.
// Source: HPDC'10 section 2 (nonpreemptive proclets that yield to a scheduler).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>

#include "base/assert.h"
#include "base/status.h"

namespace fgmpi::sched {

/// Why a proclet is parked, for the deadlock report and the debugger. The object is on the stack of
/// the parked proclet.
struct WaitSite {
  const char* call = "";  ///< the MPI call, e.g. "MPI_Recv"
  /// Words for one line of the report ("source 3, tag 7, communicator MPI_COMM_WORLD"), or nullptr.
  void (*describe)(const WaitSite*, std::string* out) = nullptr;
  /// False while something outside of this process and its peers can end the wait (a timer, a pipe,
  /// a completion).
  bool deadlocks = true;
};

enum class ProcletState : uint8_t { kReady, kRunning, kParked, kSleeping, kFinished };
/// kForeign: stands for a thread of a rank that is not the scheduler's thread (threads.h).
enum class ProcletKind : uint8_t { kRank, kHelper, kForeign };

/// What the scheduler stores for each proclet. At most 256 bytes, so that a parked proclet, with
/// its matching state and its two communicators, stays within the 512 bytes of the memory budget.
struct Proclet {
  void* context = nullptr;         ///< saved context while not running
  Proclet* next = nullptr;         ///< link of the one list that it is in
  const WaitSite* wait = nullptr;  ///< of a parked proclet, until it runs again
  uint32_t index = 0;              ///< ranks: 0..C-1 in this process; helpers: numbers of their own
  ProcletState state = ProcletState::kReady;
  ProcletKind kind = ProcletKind::kRank;
  uint8_t mpi_phase = 0;              ///< owned by src/mpi: not yet / initialised / finalised
  bool began_before_threads = false;  ///< its call began before threads were enabled (threads.h)
  /// Owned by src/mpi: the rank's MPI objects; a helper has its rank's.
  void* rank_state = nullptr;
  void* image = nullptr;  ///< owned by src/privatize
  void* tool = nullptr;   ///< a tool's own word (MPIX_Tool_word); a helper has a copy of its rank's
  char* stack_low = nullptr;  ///< lowest usable byte
  size_t stack_size = 0;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  int exit_status = 0;
  // What a switch saves in addition to the context.
  int saved_errno = 0;
  void* exception_state[2] = {};  ///< the C++ runtime's __cxa_eh_globals of this proclet
  void* locale = nullptr;         ///< what uselocale() set, or nullptr
  void* fake_stack = nullptr;     ///< AddressSanitizer's handle
  void* pending = nullptr;        ///< owned by src/privatize: what to do when the proclet ends
  void* poller = nullptr;         ///< owned by src/pt2pt: what a rank keeps that polls in vain
  uint32_t stack_id = 0;          ///< valgrind's handle
  uint32_t slot = ~0u;            ///< ranks: the number of the slot with its memory (StackPlaces)
  /// How many functions of the user MPI is calling on this stack (UserCallback).
  uint32_t callbacks = 0;
};
static_assert(sizeof(Proclet) <= 256, "memory budget, design section 8");

namespace detail {
/// Targets of the per-thread pointers until set_runtime_cells(): written by switches, never read.
inline int no_errno;
inline void* no_exceptions[2];
inline const void* nothing_watched[2];
}  // namespace detail

/// Addresses of what the C and C++ runtimes store once for each thread. Every proclet needs its own
/// values, so every switch saves and loads them.
struct RuntimeCells {
  int* errno_cell = &detail::no_errno;
  /// Two words: the C++ runtime's caught and uncaught exceptions.
  void** exceptions = detail::no_exceptions;
};

namespace detail {
/// The run queue and the other data of the hot path, in one cache line.
struct Hot {
  Proclet* current = nullptr;
  Proclet* head = nullptr;  ///< next to run; always nullptr under the random policy
  Proclet* tail = nullptr;  ///< the last one; stale while `head` is nullptr
  uint32_t until_poll = 1;  ///< switches until the transports are polled
  bool fifo = true;         ///< false: ready() uses the slow path
  bool extras = false;      ///< a switch has to do more than swap the cells and jump
  RuntimeCells cells;
  const void* const* watched = nothing_watched;
};
static_assert(sizeof(Hot) <= 64);
[[gnu::visibility("hidden")]] extern Hot g_hot;

/// Puts a ready proclet behind all others.
inline void append_fifo(Proclet* p) {
  Hot& hot = g_hot;
  p->next = nullptr;
  if (hot.head)
    hot.tail->next = p;
  else
    hot.head = p;
  hot.tail = p;
}
void ready_by_policy(Proclet* p);
}  // namespace detail

/// The running proclet; nullptr on the host stack outside of any proclet.
inline Proclet* current() { return detail::g_hot.current; }
/// Where current() is, for a library that asks often.
inline const void* const* running_cell() {
  return reinterpret_cast<const void* const*>(&detail::g_hot.current);
}

/// Lives while MPI calls a function of the user that may call MPI. The MPI call around it holds the
/// engine lock again afterwards, also where it began before threads were enabled.
class UserCallback {
 public:
  UserCallback() : proclet_(current()) {
    if (proclet_) ++proclet_->callbacks;
  }
  ~UserCallback() {
    if (proclet_) --proclet_->callbacks;
  }
  UserCallback(const UserCallback&) = delete;
  UserCallback& operator=(const UserCallback&) = delete;

 private:
  Proclet* proclet_;
};

/// Options of a run.
struct Options {
  size_t stack_size = 0;  ///< FGMPI_STACK_SIZE: address space per proclet; 0: default_stack_size()
  /// FGMPI_SCHED, in the order of the table of settings.
  enum Policy : uint8_t { kFifo, kLifo, kRandom } policy = kFifo;
  uint64_t seed = 0;
};
/// Processes of at most kLargeStacks ranks have stacks as large as the main thread's; of at most
/// kMediumStacks, 1 MiB; of more, 256 KiB.
constexpr uint32_t kLargeStacks = 4096, kMediumStacks = 65536;
/// No default stack is smaller. Helper coroutines have stacks of this size: they run no code of the
/// program except its operations.
constexpr size_t kLeastStack = size_t{64} << 10;
/// The default stack size of a rank where a process hosts `count` of them: as large as the main
/// thread's (`ulimit -s`, at most 64 MiB) up to kLargeStacks ranks, 1 MiB up to kMediumStacks, then
/// 256 KiB. Programs written for one rank a process have arrays on their stack, and only touched
/// pages cost memory. The size is halved, down to kLeastStack, as long as all stacks would use more
/// than half of `address_space` bytes, or their page tables more than a twentieth of `memory` bytes
/// (-1: unknown).
size_t default_stack_size(uint32_t count, uint64_t address_space, int64_t memory);
/// The options that the settings give.
Options configured_options();
/// Uses these options, instead of the settings, from the next create_ranks() on.
void set_options(const Options& options);

/// Functions of the owner of the transports, set by src/mpi.
struct Hooks {
  /// Makes progress; returns true when anything has moved. Called on the host stack when nothing is
  /// ready, and once in a number of switches. May call ready() and spawn_helper(); must not park.
  bool (*poll)() = nullptr;
  /// Sleeps in the kernel until a transport has received something, or `timeout_ns` has passed (-1:
  /// no limit). Called when nothing is ready and poll() has found nothing. nullptr: the scheduler
  /// sleeps until a timer is due or a completion is posted (completions.h).
  void (*sleep)(int64_t timeout_ns) = nullptr;
  /// Ends at once a sleep() that another thread is in or is about to begin. May be called by any
  /// thread, without the engine lock. nullptr: only time ends a sleep().
  void (*interrupt)() = nullptr;
  /// Called before sleep, once for each such state: everything here is parked, no timer runs, and
  /// poll() has found nothing. Returns true when the job is deadlocked and has been reported.
  bool (*all_parked)() = nullptr;
  /// Called before sleep where everything is parked and a timer runs, or proclets poll: makes
  /// proclets ready that do not wait for these. Returns false where there are none.
  bool (*parked_beside_timers)() = nullptr;
  /// How long an idle process polls before it sleeps. Shorter where processes outnumber cores.
  int64_t spin_ns = 20'000;
  /// Longest sleep of the scheduler's thread where ranks have threads. Only when it wakes does it
  /// check whether all threads wait for MPI, and nothing wakes it when the last one begins to wait.
  int64_t check_threads_ns = 250'000'000;
};
void set_hooks(const Hooks& hooks);
/// Replaces Hooks::spin_ns.
void set_spin(int64_t ns);

/// From now on switches save and load these cells.
void set_runtime_cells(const RuntimeCells& cells);

/// The hook is called with the proclet that is left and the one that runs next (nullptr: the host
/// stack), on the stack of the first: at each switch, or only when the watched words differ.
enum class HookAt : uint8_t { kEachSwitch, kWatched };
void set_switch_hook(void (*hook)(Proclet* from, Proclet* to), HookAt at = HookAt::kEachSwitch);
/// Sets the watched words: two words that differ while the hook has work to do.
void watch(const void* const* words);
/// From now on the hook is called at each switch.
void call_hook_at_each_switch();

/// Called on the host stack when the process has become idle, before it spins or sleeps.
void set_idle_hook(void (*hook)());

/// Adds a function that frees memory which has not been needed since its last call. It returns true
/// when it would free more the next time. Called on the host stack, at most some ten times a
/// second. At most kMostTrimmers; a function that was added before is not added again.
constexpr int kMostTrimmers = 8;
void add_trimmer(bool (*trim)());

/// Where the stacks of the ranks of the next create_ranks() are, in memory that is mapped already:
/// that of rank i ends at slots + i * stride + end, and has at most `end` bytes with its guard. The
/// last `record` bytes of each stack are not for frames: their owner keeps there what goes where
/// the stack goes. They are packed with it (packing.h), and dropped when the rank has ended.
///
/// The slot of rank i has the number first_slot + i, and that of the i-th number behind them, for
/// ranks that are added, added_slot + i. `in_file`: the slots are shared memory, but not those of
/// ranks that are added. `extend` maps places for ranks that add_ranks() adds, so that the process
/// has `count`; false: there are none, and their stacks are elsewhere.
struct StackPlaces {
  char* slots = nullptr;
  size_t stride = 0, end = 0, record = 0;
  uint32_t first_slot = 0, added_slot = 0;
  bool in_file = false;
  bool (*extend)(uint32_t count) = nullptr;
};
void place_stacks(const StackPlaces& places);

/// Creates the rank proclets 0..count-1. Each runs entry(argument) with current()->index set.
/// Stacks, guards and limits are checked first; an error says how many ranks would fit. Allowed
/// again after run() has returned.
Status create_ranks(uint32_t count, void (*entry)(void*), void* argument);

/// Adds ranks that join while others run (spawned programs), with consecutive numbers from
/// *first on, behind those that create_ranks() has made. They do not run yet. At most
/// kMostAdded at a time. run() does not return their exit statuses. The error MPI_ERR_NO_MEM
/// says how many ranks fit.
constexpr uint32_t kMostAdded = 65536;
Status add_ranks(uint32_t count, void (*entry)(void*), void* argument, uint32_t* first);
/// A bound: all numbers that a rank may ever have are below it.
uint32_t most_ranks();
/// Makes the ranks that add_ranks() has added from `first` on ready. Never switches. REQUIRES:
/// called once for these ranks.
void start_added_ranks(uint32_t first);
/// Releases the stacks and numbers of these ranks. REQUIRES: none of them was started, or all have
/// finished; nobody has a pointer to one of their proclets; not called on one of their stacks.
void remove_ranks(uint32_t first);

/// Makes the caller rank proclet 0, the only one, on its own stack; the host loop gets a stack of
/// its own. For a program that was not started through create_ranks() and run(). The proclet ends
/// with the process: it must not call finish(). A deadlock ends the process with status 1.
/// REQUIRES: there are no rank proclets, and current() == nullptr.
Status adopt_caller();

/// Runs until every rank proclet has finished. Returns the first non-zero exit status, else 0; 1
/// when the all_parked hook has returned that the job is deadlocked. Called once for each
/// create_ranks(), on the host stack.
int run();

Proclet* rank_proclet(uint32_t index);
/// A bound: all numbers of ranks are below it. Numbers that no rank has now belong to
/// finished proclets.
uint32_t rank_count();
/// Rank proclets that have not finished.
uint32_t live_ranks();
/// helper_count(): how many helper coroutines have been made (in use and pooled). helper_proclet():
/// each of them. For reports and the debugger.
uint32_t helper_count();
Proclet* helper_proclet(uint32_t number);
/// Idle helpers whose stacks hold memory, for statistics and tests.
uint32_t warm_helpers();

/// Parks the running proclet until ready() is called on it. May switch. REQUIRES: current() !=
/// nullptr, and the code that will call ready() can find the caller.
void park(const WaitSite* site);

/// Makes a parked proclet runnable. Never switches. REQUIRES: p->state == kParked, or kFinished for
/// the proclet of a rank that has left its stack (leave.h): something that it waited for may still
/// complete, and it then finishes again.
[[gnu::always_inline]] inline void ready(Proclet* p) {
  FGMPI_ASSERT(p->state == ProcletState::kParked || p->state == ProcletState::kFinished);
  p->state = ProcletState::kReady;
  detail::Hot& hot = detail::g_hot;
  if (__builtin_expect(!hot.fifo, 0)) return detail::ready_by_policy(p);
  detail::append_fifo(p);
}

/// ready(), where this needs no call; returns false otherwise, with nothing done. Never switches.
[[gnu::always_inline]] inline bool ready_in_line(Proclet* p) {
  if (__builtin_expect(!detail::g_hot.fifo, 0)) return false;
  p->state = ProcletState::kReady;
  detail::append_fifo(p);
  return true;
}

/// True where no proclet is ready. False also where the queue is not first in, first out: there it
/// takes more to find out.
inline bool is_none_ready() { return detail::g_hot.fifo && !detail::g_hot.head; }

/// Lets every other ready proclet run first. May switch. On the host stack: polls once.
void yield();

/// Sleeps for at least `ns` nanoseconds while others run. May switch.
void sleep_for(int64_t ns);

/// Ends the running rank proclet with this exit status. Never returns; its stack is freed.
/// REQUIRES: current()->kind == ProcletKind::kRank, not inside call_on_host_stack().
[[noreturn]] void finish(int exit_status);

/// Makes sure that the next spawn_helper() finds a helper, if nothing that may switch
/// comes between. MPI_ERR_NO_MEM when there is no memory or address space for another one.
/// Never switches.
Status ensure_helper();

/// Starts entry(argument) on a pooled helper coroutine that acts for `rank` (uses its rank_state).
/// The helper becomes ready, and the call returns at once. Never switches. Without memory for
/// another helper the process ends: call ensure_helper() first.
Proclet* spawn_helper(Proclet* rank, void (*entry)(void*), void* argument);

/// Runs function(argument) on the host stack and returns. The function must not park, yield or
/// throw. Where the caller is on the host stack already, a plain call. current() stays the caller.
void call_on_host_stack(void (*function)(void*), void* argument);

/// True outside of proclets and inside call_on_host_stack(), where nothing may park.
bool on_host_stack();

/// Yields, where the caller may.
void force_switch();
/// In builds with FGMPI_FORCE_SWITCH: yields, at about every call; otherwise does nothing. Called
/// at the entry of each MPI call that may switch.
inline void maybe_force_switch() {
#ifdef FGMPI_FORCE_SWITCH
  force_switch();
#endif
}

/// Number of switches so far in this process, with entries of foreign threads, for
/// statistics and tests.
uint64_t switch_count();

/// How many of the switches were made by yield() and sleep_for().
uint64_t rest_count();

/// How stacks are guarded in this run: "guard pages", "mprotect" or "canary".
const char* guard_kind();

/// Finds the proclet whose stack or guard contains `address`; *in_guard says which of them.
Proclet* proclet_of_address(const void* address, bool* in_guard);

/// Runs a callable on the host stack: call_on_host([&] { ... }). The rules of call_on_host_stack()
/// hold, but the callable may throw std::bad_alloc, which is thrown again to the caller: no
/// exception leaves a stack by itself.
template <class F>
inline void call_on_host(F&& f) {
  struct Call {
    std::remove_reference_t<F>* function;
    bool out_of_memory;
  } call{&f, false};
  call_on_host_stack(
      [](void* p) {
        auto* c = static_cast<Call*>(p);
        try {
          (*c->function)();
        } catch (const std::bad_alloc&) {
          c->out_of_memory = true;
        }
      },
      &call);
  if (__builtin_expect(call.out_of_memory, 0)) throw std::bad_alloc();
}

}  // namespace fgmpi::sched
