// The proclet scheduler: nonpreemptive coroutines on the one thread of a process.
//
// A proclet runs until it parks (its request is incomplete), yields or ends. Whoever completes what
// a parked proclet waits for calls ready(); the switch then goes from proclet to proclet directly.
// The main stack of the process is the host stack: it runs the idle loop (poll the transports,
// sleep in the kernel) and calls that need much stack (call_on_host_stack).
//
// Two kinds of proclets share the machinery: ranks (one per MPI rank of this process, created once)
// and helpers (borrowed coroutines that run nonblocking collectives and the like; pooled).
//
// Thread rule: one thread, or several that hold the engine lock in turn (threads.h); nothing here
// is async-signal-safe. Functions that may switch say so.
// Invariants: a proclet is in exactly one state; `next` links it into at most one list (the run
// queue, or one wait list of whoever will make it ready); a ready proclet is never parked by anyone
// but itself. Source: HPDC'10 section 2 (nonpreemptive proclets that yield to a scheduler).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>

#include "base/assert.h"
#include "base/status.h"

namespace fgmpi::sched {

/// Why a proclet is parked; lives on its stack while it is. For the deadlock report and the
/// debugger.
struct WaitSite {
  const char* call = "";  ///< the MPI call, e.g. "MPI_Recv"
  /// Words for one line of the report ("source 3, tag 7, communicator MPI_COMM_WORLD"), or nullptr.
  void (*describe)(const WaitSite*, std::string* out) = nullptr;
  /// False while something outside this process and its peers can end the wait (a timer, a pipe, a
  /// completion).
  bool deadlocks = true;
};

enum class State : uint8_t { kReady, kRunning, kParked, kSleeping, kFinished };
/// kForeign: stands for a thread of a rank other than the scheduler's (threads.h).
enum class Kind : uint8_t { kRank, kHelper, kForeign };

/// What the scheduler keeps per proclet. At most 256 bytes, so that with the matching state and its
/// two communicators a parked proclet stays within the 512 bytes of the memory budget.
struct Proclet {
  void* context = nullptr;         ///< saved context while not running
  Proclet* next = nullptr;         ///< link of the one list it is in
  const WaitSite* wait = nullptr;  ///< set while parked
  uint32_t index = 0;              ///< ranks: 0..C-1 in this process; helpers: their own numbering
  State state = State::kReady;
  Kind kind = Kind::kRank;
  uint8_t mpi_phase = 0;              ///< owned by src/mpi: not yet / initialised / finalised
  bool began_before_threads = false;  ///< its call began before threads were enabled (threads.h)
  /// Owned by src/mpi: the rank's MPI objects (a helper has its rank's).
  void* rank_state = nullptr;
  void* image = nullptr;  ///< owned by src/privatize
  void* tool = nullptr;   ///< a tool's own word (MPIX_Tool_word; a helper has a copy of its rank's)
  char* stack_low = nullptr;  ///< lowest usable byte
  size_t stack_size = 0;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  int exit_status = 0;
  // What a switch saves beside the context.
  int saved_errno = 0;
  void* exception_state[2] = {};  ///< the C++ runtime's __cxa_eh_globals of this proclet
  void* locale = nullptr;         ///< what uselocale() set, or nullptr
  void* fake_stack = nullptr;     ///< AddressSanitizer's handle
  void* pending = nullptr;        ///< owned by src/privatize: what to do at its end
  uint32_t stack_id = 0;          ///< valgrind's handle
  /// Functions of the user that MPI is calling on this stack (UserCallback).
  uint32_t callbacks = 0;
};
static_assert(sizeof(Proclet) <= 256, "memory budget, design section 8");

namespace detail {
/// Targets of the per-thread pointers until set_runtime_cells(): written by switches, never read.
inline int no_errno;
inline void* no_exceptions[2];
inline const void* nothing_watched[2];
}  // namespace detail

/// What the C and C++ runtimes keep once per thread and every proclet must have for itself: every
/// switch saves and loads it.
struct RuntimeCells {
  int* errno_cell = &detail::no_errno;
  /// Two words: the C++ runtime's caught and uncaught exceptions.
  void** exceptions = detail::no_exceptions;
};

namespace detail {
/// The run queue and what the hot path touches, in one cache line.
struct Hot {
  Proclet* current = nullptr;
  Proclet* head = nullptr;  ///< next to run; always nullptr under the random policy
  Proclet* tail = nullptr;  ///< the last one; stale while there is no head
  uint32_t until_poll = 1;  ///< switches before the transports are due
  bool fifo = true;         ///< false: ready() takes the slow path
  bool extras = false;      ///< a switch has more to do than to swap the cells and jump
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

/// For the time during which MPI calls a function of the user's that may call MPI: the call outside
/// of it goes on with the lock afterwards, also where it began before threads were enabled.
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
/// Up to so many ranks a process have stacks as large as the main thread's; up to so many have 1
/// MiB; more, 256 KiB.
constexpr uint32_t kLargeStacks = 4096, kMediumStacks = 65536;
/// No default stack is smaller. It is what helper coroutines have, which run no code of the program
/// but its operations.
constexpr size_t kLeastStack = size_t{64} << 10;
/// What a rank's stack is by default when a process hosts `count` of them: as large as the main
/// thread's (`ulimit -s`, at most 64 MiB) to kLargeStacks ranks, 1 MiB to kMediumStacks, then 256
/// KiB. Programs written for one rank a process keep arrays on their stack, and only touched pages
/// cost memory. It is half of that, or a quarter and so on down to kLeastStack, as long as all
/// stacks would take more than half of `address_space` bytes, or their page tables more than a
/// twentieth of `memory` bytes (-1: unknown).
size_t default_stack_size(uint32_t count, uint64_t address_space, int64_t memory);
/// What the settings say.
Options configured_options();
/// Uses these from the next create_ranks() on, instead of the settings'.
void set_options(const Options& options);

/// Calls of the owner of the transports (src/mpi sets them).
struct Hooks {
  /// Makes progress; returns true when it did anything. Called on the host stack when nothing is
  /// ready, and every so many switches. May call ready() and spawn_helper(); must not park.
  bool (*poll)() = nullptr;
  /// Sleeps in the kernel until a transport has something, or `timeout_ns` passed (-1: no limit).
  /// Nothing is ready when it is called and poll() found nothing. nullptr: the scheduler sleeps
  /// until a timer is due or a completion is posted (completions.h).
  void (*sleep)(int64_t timeout_ns) = nullptr;
  /// Ends a sleep() that another thread is in or about to begin, at once. Called by any thread,
  /// without the engine lock. nullptr: nothing but time ends a sleep().
  void (*interrupt)() = nullptr;
  /// Everything here is parked, no timer runs, poll() found nothing: called once per such state
  /// before sleep. Returns true when the job is deadlocked and was reported.
  bool (*all_parked)() = nullptr;
  /// How long an idle process polls before it sleeps. Less where processes outnumber cores.
  int64_t spin_ns = 20'000;
  /// How long the scheduler's thread sleeps at most where ranks have threads: whether all of them
  /// wait for MPI is looked at when it wakes up only, and nothing wakes it when the last one begins
  /// to.
  int64_t look_at_threads_ns = 250'000'000;
};
void set_hooks(const Hooks& hooks);
/// Another Hooks::spin_ns.
void set_spin(int64_t ns);

/// From now on switches save and load these.
void set_runtime_cells(const RuntimeCells& cells);

/// Called with the proclet that is left and the one that runs next (nullptr: the host stack), on
/// the stack of the first: at each switch, or only when the watched words differ.
enum class HookAt : uint8_t { kEachSwitch, kWatched };
void set_switch_hook(void (*hook)(Proclet* from, Proclet* to), HookAt at = HookAt::kEachSwitch);
/// Two words that differ while the hook has work to do.
void watch(const void* const* words);
/// From now on the hook is called at each switch.
void call_hook_at_each_switch();

/// Called on the host stack when the process has become idle, before it spins or sleeps.
void set_idle_hook(void (*hook)());

/// Adds a function that gives back memory which has not been needed since it was last called, and
/// returns true when there is more that it would give back the next time. Called on the host stack,
/// some ten times a second at most. At most kMostTrimmers; one that is there already is not added.
constexpr int kMostTrimmers = 8;
void add_trimmer(bool (*trim)());

/// Creates the rank proclets 0..count-1, each to run entry(argument) with current()->index set.
/// Stacks, guards and limits are checked first; an error says how many would fit. Again allowed
/// after run() has returned.
Status create_ranks(uint32_t count, void (*entry)(void*), void* argument);

/// Ranks that join while others run (spawned programs). Adds rank proclets with consecutive numbers
/// from *first on, behind those that create_ranks() has made; they do not run yet. At most
/// kMostAdded at a time. Their exit statuses are not run()'s. Errors: MPI_ERR_NO_MEM, which say how
/// many fit.
constexpr uint32_t kMostAdded = 65536;
Status add_ranks(uint32_t count, void (*entry)(void*), void* argument, uint32_t* first);
/// All numbers of ranks that there may ever be are below.
uint32_t most_ranks();
/// They become ready. Never switches. REQUIRES: called once for these.
void start_added_ranks(uint32_t first);
/// Gives back their stacks and numbers. REQUIRES: none of them was started, or all have finished,
/// and nobody keeps one of these proclets; not called on one of their stacks.
void remove_ranks(uint32_t first);

/// The caller goes on as rank proclet 0, the only one, on its own stack; the host loop gets a stack
/// too. For a program that was not started through create_ranks() and run(). The proclet ends with
/// the process: it must not call finish(); a deadlock ends the process with status 1. REQUIRES: no
/// rank proclets, current() == nullptr.
Status adopt_caller();

/// Runs until every rank proclet has finished. Returns the first non-zero exit status, else 0; 1
/// when the all_parked hook said that the job is deadlocked. Called once per create_ranks(), on the
/// host stack.
int run();

Proclet* rank_proclet(uint32_t index);
/// All numbers of ranks are below; those that nobody has now belong to finished proclets.
uint32_t rank_count();
/// Rank proclets that have not finished.
uint32_t live_ranks();
/// Helper coroutines made so far (in use and pooled), and each of them: for reports and the
/// debugger.
uint32_t helper_count();
Proclet* helper_proclet(uint32_t number);
/// Idle helpers whose stacks hold memory (statistics, tests).
uint32_t warm_helpers();

/// Parks the running proclet until somebody calls ready() on it. May switch.
/// REQUIRES: current() != nullptr, and the caller has published itself to whoever will wake it.
void park(const WaitSite* site);

/// Makes a parked proclet runnable. Never switches. REQUIRES: p->state == kParked, or kFinished for
/// a rank that has left its stack (leave.h), where something may come that it waited for: it
/// finishes again.
inline void ready(Proclet* p) {
  FGMPI_ASSERT(p->state == State::kParked || p->state == State::kFinished);
  p->state = State::kReady;
  detail::Hot& hot = detail::g_hot;
  if (__builtin_expect(!hot.fifo, 0)) return detail::ready_by_policy(p);
  detail::append_fifo(p);
}

/// Lets every other ready proclet run first. May switch. On the host stack: polls once.
void yield();

/// Sleeps for at least `ns` nanoseconds while others run. May switch.
void sleep_for(int64_t ns);

/// Ends the running rank proclet with this exit status. Never returns; its stack is freed.
/// REQUIRES: current()->kind == Kind::kRank, not inside call_on_host_stack().
[[noreturn]] void finish(int exit_status);

/// Makes sure that the next spawn_helper() finds a helper, if it comes before anything that may
/// switch. MPI_ERR_NO_MEM when there is no memory or address space for another one. Never switches.
Status ensure_helper();

/// Starts entry(argument) on a pooled helper coroutine that acts for `rank` (shares its
/// rank_state). Never switches; the helper becomes ready. Returns at once. Without memory for
/// another helper the process ends: ensure_helper() asks first.
Proclet* spawn_helper(Proclet* rank, void (*entry)(void*), void* argument);

/// Runs function(argument) on the host stack and returns. It must not park, yield or throw.
/// On the host stack already: a plain call. current() stays the caller.
void call_on_host_stack(void (*function)(void*), void* argument);

/// True outside of proclets and inside call_on_host_stack(): where nothing may park.
bool on_host_stack();

/// yield(), where the caller may.
void force_switch();
/// In builds with FGMPI_FORCE_SWITCH: yields (about every call); else nothing. Called at entry of
/// each MPI call that may switch.
inline void maybe_force_switch() {
#ifdef FGMPI_FORCE_SWITCH
  force_switch();
#endif
}

/// Number of switches so far in this process, entries of foreign threads included (statistics,
/// tests).
uint64_t switch_count();

/// How many of them were made by yield() and sleep_for().
uint64_t rest_count();

/// How stacks are guarded in this run: "guard pages", "mprotect" or "canary".
const char* guard_kind();

/// If `address` lies in the guard (or stack) of a proclet, that proclet, and whether it is the
/// guard.
Proclet* proclet_of_address(const void* address, bool* in_guard);

/// Runs a callable on the host stack: call_on_host([&] { ... }). Same rules, but that it may throw
/// std::bad_alloc, which the caller then sees: no exception leaves a stack by itself.
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
