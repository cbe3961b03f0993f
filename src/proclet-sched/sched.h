// The proclet scheduler: nonpreemptive coroutines on the one thread of a process.
//
// A proclet runs until it parks (its request is incomplete), yields or ends. Whoever completes what a
// parked proclet waits for calls ready(); the switch then goes from proclet to proclet directly. The
// main stack of the process is the host stack: it runs the idle loop (poll the transports, sleep in
// the kernel) and calls that need much stack (call_on_host_stack).
//
// Two kinds of proclets share the machinery: ranks (one per MPI rank of this process, created once)
// and helpers (borrowed coroutines that run nonblocking collectives and the like; pooled).
//
// Thread rule: one thread; nothing here is async-signal-safe. Functions that may switch say so.
// Invariants: a proclet is in exactly one state; `next` links it into at most one list (the run queue,
// or one wait list of whoever will make it ready); a ready proclet is never parked by anyone but itself.
// Source: HPDC'10 section 2 (nonpreemptive proclets that yield to a scheduler).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace fgmpi::sched {

/// Why a proclet is parked; lives on its stack while it is. For the deadlock report and the debugger.
struct WaitSite {
  const char* call = "";  ///< the MPI call, e.g. "MPI_Recv"
  /// Words for one line of the report ("source 3, tag 7, communicator MPI_COMM_WORLD"), or nullptr.
  void (*describe)(const WaitSite*, std::string* out) = nullptr;
  /// False while something outside this process and its peers can end the wait (a timer, a pipe).
  bool deadlocks = true;
};

enum class State : uint8_t { kReady, kRunning, kParked, kSleeping, kFinished };
enum class Kind : uint8_t { kRank, kHelper };

/// What the scheduler keeps per proclet. At most 256 bytes, so that with the matching state and its
/// two communicators a parked proclet stays within the 512 bytes of the memory budget.
struct Proclet {
  void* context = nullptr;         ///< saved context while not running
  Proclet* next = nullptr;         ///< link of the one list it is in
  const WaitSite* wait = nullptr;  ///< set while parked
  uint32_t index = 0;              ///< ranks: 0..C-1 in this process; helpers: their own numbering
  State state = State::kReady;
  Kind kind = Kind::kRank;
  uint8_t mpi_phase = 0;           ///< owned by src/mpi: not yet / initialised / finalised
  void* rank_state = nullptr;      ///< owned by src/mpi: the rank's MPI objects (a helper has its rank's)
  void* image = nullptr;           ///< owned by src/privatize
  char* stack_low = nullptr;       ///< lowest usable byte
  size_t stack_size = 0;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  int exit_status = 0;
  // Further fields (timer, sanitizer and valgrind handles, saved errno) follow in proclet-sched's own use.
  void* aux[6] = {};
};
static_assert(sizeof(Proclet) <= 256, "memory budget, design section 8");

namespace detail {
extern Proclet* g_current;
}

/// The running proclet; nullptr on the host stack outside of any proclet.
inline Proclet* current() { return detail::g_current; }

/// Options of a run; configure() fills them from the environment.
struct Options {
  size_t stack_size = 64 * 1024;  ///< FGMPI_STACK_SIZE: address space per proclet
  enum Policy : uint8_t { kFifo, kLifo, kRandom } policy = kFifo;  ///< FGMPI_SCHED=fifo|lifo|random:SEED
  uint64_t seed = 0;
};
/// A bad value gives an error that names the variable, its value and what is allowed.
Status configure(Options* options);

/// Calls of the owner of the transports (src/mpi sets them).
struct Hooks {
  /// Makes progress; returns true when it did anything. Called on the host stack when nothing is ready,
  /// and every so many switches. May call ready() and spawn_helper(); must not park.
  bool (*poll)() = nullptr;
  /// Sleeps in the kernel until a transport has something, or `timeout_ns` passed (-1: no limit).
  /// Nothing is ready when it is called and poll() found nothing.
  void (*sleep)(int64_t timeout_ns) = nullptr;
  /// Everything here is parked, no timer runs, poll() found nothing: called once per such state
  /// before sleep. Returns true when the job is deadlocked and was reported.
  bool (*all_parked)() = nullptr;
};
void set_hooks(const Hooks& hooks);

/// Creates the rank proclets 0..count-1, each to run entry(argument) with current()->index set.
/// Stacks, guards and limits are checked first; an error says how many would fit.
Status create_ranks(uint32_t count, void (*entry)(void*), void* argument);

/// Runs until every rank proclet has finished. Returns the first non-zero exit status, else 0.
/// Called once, on the host stack.
int run();

Proclet* rank_proclet(uint32_t index);
uint32_t rank_count();
/// Rank proclets that have not finished.
uint32_t live_ranks();

/// Parks the running proclet until somebody calls ready() on it. May switch.
/// REQUIRES: current() != nullptr, and the caller has published itself to whoever will wake it.
void park(const WaitSite* site);

/// Makes a parked proclet runnable. Never switches. REQUIRES: p->state == kParked.
void ready(Proclet* p);

/// Lets every other ready proclet run first. May switch. On the host stack: polls once.
void yield();

/// Sleeps for at least `ns` nanoseconds while others run. May switch.
void sleep_for(int64_t ns);

/// Ends the running proclet with this exit status. Never returns; frees the stack later.
[[noreturn]] void finish(int exit_status);

/// Starts entry(argument) on a pooled helper coroutine that acts for `rank` (shares its rank_state).
/// Never switches; the helper becomes ready. Returns at once.
Proclet* spawn_helper(Proclet* rank, void (*entry)(void*), void* argument);

/// Runs function(argument) on the host stack and returns. It must not park, yield or throw.
/// On the host stack already: a plain call.
void call_on_host_stack(void (*function)(void*), void* argument);

/// In builds with FGMPI_FORCE_SWITCH: yields (about every call); else nothing. Called at entry of
/// each MPI call that may switch.
inline void maybe_force_switch() {
#ifdef FGMPI_FORCE_SWITCH
  if (current()) yield();
#endif
}

/// Number of switches so far in this process (statistics, tests).
uint64_t switch_count();

/// How stacks are guarded in this run: "guard pages", "mprotect" or "canary".
const char* guard_kind();

/// If `address` lies in the guard (or stack) of a proclet, that proclet, and whether it is the guard.
Proclet* proclet_of_address(const void* address, bool* in_guard);

/// Runs a callable on the host stack: call_on_host([&] { ... }). Same rules.
template <class F>
inline void call_on_host(F&& f) {
  call_on_host_stack([](void* p) { (*static_cast<F*>(p))(); }, &f);
}

}  // namespace fgmpi::sched
