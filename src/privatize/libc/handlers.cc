// The interposed calls that install signal handlers, and the function that counts their runs.

#include "privatize/libc/handlers.h"

#include <errno.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <new>
#include <utility>

#include "base/library_call.h"
#include "base/plain_mutex.h"
#include "base/raw_call.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/blocked_calls.h"
#include "privatize/libc/scheduler_signal.h"
#include "privatize/libc/waits.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/visitors.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/coroutine/visitors.h"
#include "proclet-sched/threads/descriptor_waits.h"

namespace fgmpi::privatize {

/// The action that a rank has installed for one signal. Handlers of signals read the lists of ranks
/// and of actions while they grow: no element is ever removed from them.
struct RankAction {
  std::atomic<int> number{0};  ///< 0: unused
  RankAction* next = nullptr;
  std::atomic<void (*)(int, siginfo_t*, void*)> handler{nullptr};  ///< or SIG_DFL, SIG_IGN
  std::atomic<int> flags{0};
  sigset_t mask{};
};

/// The signals of a rank that can be in other processes: in its slot, which these and its home map.
struct MovedSignals {
  std::atomic<int32_t> process{0};   ///< where its handlers are; 0: on their way
  std::atomic<uint64_t> pending{0};  ///< by number: signals of its home that it has not got

  bool is_here() const { return process.load() == raw_call(SYS_getpid); }
};
static_assert(NSIG <= 65 && std::atomic<uint64_t>::is_always_lock_free);

/// The actions of a rank, or of all ranks that share their globals.
class RankHandlers {
 public:
  RankAction* find(int number) const {
    RankAction* a = actions.load();
    while (a && a->number != number) a = a->next;
    return a;
  }
  RankAction* find_or_add(int number) {
    if (RankAction* a = find(number)) return a;
    RankAction* a = find(0);
    if (!a) {
      a = new RankAction;
      a->next = actions.load();
      actions.store(a);
    }
    a->number = number;
    return a;
  }

  sched::InterruptionCounts counts;
  std::atomic<RankAction*> actions{nullptr};
  RankHandlers* next = nullptr;
  RankHandlers* next_unused = nullptr;  ///< in the list of those whose rank has ended
  std::atomic<MovedSignals*> moved{nullptr};
  std::atomic<bool> of_visitor{false};
};

namespace {

using Handler = void (*)(int, siginfo_t*, void*);

constinit Real<int(int, const struct sigaction*, struct sigaction*)> g_sigaction("sigaction");

/// Protects changes of the variables that follow. A holder has all signals blocked.
PlainMutex g_mutex;
std::atomic<RankHandlers*> g_ranks{nullptr};
RankHandlers* g_unused = nullptr;
/// By signal: how many ranks have a function for it. While one has, the kernel calls run_handler().
std::atomic<int> g_functions[NSIG];
/// By signal: the kernel's action before a rank installed a function.
struct sigaction g_before_ranks[NSIG];
/// By signal: true where siginterrupt() has made it interrupt calls; signal() then installs
/// without SA_RESTART.
std::atomic<bool> g_interrupting[NSIG];

/// Blocks all signals and holds g_mutex while it lives.
class ChangingHandlers {
 public:
  ChangingHandlers() {
    const uint64_t all = ~uint64_t{0};
    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&all),
             reinterpret_cast<long>(&before_), sizeof before_);
    g_mutex.lock();
  }
  ~ChangingHandlers() {
    g_mutex.unlock();
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before_), 0, sizeof before_);
  }
  ChangingHandlers(const ChangingHandlers&) = delete;
  ChangingHandlers& operator=(const ChangingHandlers&) = delete;

 private:
  uint64_t before_ = 0;  ///< the kernel's set of signals
};

/// The handler that runs on the scheduler's thread. longjmp() may leave the handler without notice,
/// so `frame` is only compared, never followed.
struct RunningHandler {
  const void* frame = nullptr;  ///< of run_handler(); nullptr: none runs
  const sched::Proclet* rank = nullptr;
  bool on_stack_of_rank = false;
  RankHandlers* of = nullptr;  ///< of the rank that installed it, perhaps not the running one
};
RunningHandler g_running;

bool on_stack_of(const sched::Proclet* rank, const void* address) {
  return rank && static_cast<size_t>(static_cast<const char*>(address) - rank->stack_low) <
                     rank->stack_size;
}

template <size_t n>
bool contains(const int (&numbers)[n], int number) {
  return std::find(numbers, numbers + n, number) != numbers + n;
}

/// True for a signal that the kernel sends because the interrupted code has failed.
bool is_fault(int number, const siginfo_t* info) {
  constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  return info->si_code > 0 && contains(kFaults, number);
}

/// True for a fault, and for a signal that raise() or pthread_kill() has sent to this thread.
bool is_of_one_rank(int number, const siginfo_t* info) {
  return info->si_code == SI_TKILL || is_fault(number, info);
}

RankHandlers** handlers_of(const sched::Proclet* rank) {
  static RankHandlers* shared = nullptr;
  return rank && rank->image ? &static_cast<Image*>(rank->image)->signal_handlers : &shared;
}

const sched::Proclet* rank_here() {
  return on_scheduler_thread() ? sched::running() : sched::rank_of_thread();
}

/// Returns *of, which it creates where it is missing. REQUIRES: the caller holds a
/// ChangingHandlers.
RankHandlers* make_handlers(RankHandlers** of) {
  if (*of) return *of;
  if (g_unused) return *of = std::exchange(g_unused, g_unused->next_unused);
  auto* made = new RankHandlers;
  made->next = g_ranks.load();
  g_ranks.store(made);
  return *of = made;
}

bool is_function(Handler handler) {
  struct sigaction a {};
  a.sa_sigaction = handler;
  return a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN;
}

bool is_away(const RankHandlers* rank) {
  const MovedSignals* moved = rank->moved.load();
  return moved && !moved->is_here();
}

/// Calls the rank's function for the signal. Returns false where the rank has none here.
bool call_handler_of(RankHandlers* rank, int number, siginfo_t* info, void* context) {
  RankAction* a = rank ? rank->find(number) : nullptr;
  const Handler handler = a ? a->handler.load() : nullptr;
  if (!is_function(handler) || is_away(rank)) return false;
  const int flags = a->flags.load();
  if (flags & SA_RESETHAND && a->handler.exchange(nullptr) == handler &&
      g_functions[number].fetch_sub(1) == 1) {
    struct sigaction none {};
    g_sigaction(number, &none, nullptr);
  }
  if (on_scheduler_thread()) g_running.of = rank;
  // A handler that another thread of the rank runs does not end waits of the rank's main, as in a
  // process of one rank.
  const sched::Proclet* of_thread = on_scheduler_thread() ? nullptr : sched::rank_of_thread();
  if (!of_thread || rank != *handlers_of(of_thread))
    sched::count_interruption(&rank->counts, flags & SA_RESTART);
  handler(number, info, context);
  return true;
}

/// The action in the form that sigaction() returns.
struct sigaction action_of(const RankAction& a) {
  struct sigaction action {};
  action.sa_sigaction = a.handler.load();
  action.sa_flags = a.flags.load();
  action.sa_mask = a.mask;
  return action;
}

/// Acts on the signal for a rank that has no function for it: as the rank has chosen (SIG_IGN,
/// SIG_DFL), or as the process did before a rank installed a function.
void act_without_function(RankHandlers* rank, int number, siginfo_t* info, void* context) {
  constexpr int kIgnored[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};
  const RankAction* a = rank ? rank->find(number) : nullptr;
  const struct sigaction chosen = a ? action_of(*a) : g_before_ranks[number];
  const bool fault = is_fault(number, info);
  if (is_function(chosen.sa_sigaction)) return chosen.sa_sigaction(number, info, context);
  if (!fault && (chosen.sa_handler == SIG_IGN || contains(kIgnored, number))) return;
  // With the default action restored, a fault happens again when the handler returns, and another
  // signal is raised once it is unblocked. Either ends the process.
  struct sigaction none {};
  g_sigaction(number, &none, nullptr);
  if (!fault) ::raise(number);
}

/// A signal of this process, the home of ranks that are elsewhere: tells their processes, each of
/// them once, as these signals interrupt each other. Returns false where no such rank has a
/// function.
bool pass_on(int number) {
  std::array<int32_t, 16> told{};
  size_t n = 0;
  bool any = false;
  for (RankHandlers* rank = g_ranks.load(); rank; rank = rank->next) {
    const RankAction* a = rank->find(number);
    if (!a || !is_function(a->handler.load()) || !is_away(rank)) continue;
    MovedSignals* moved = rank->moved.load();
    moved->pending |= uint64_t{1} << (number - 1);
    any = true;
    // A rank that is on its way finds the signal when it comes.
    const int32_t process = moved->process.load();
    if (process == 0 || std::find(told.begin(), told.begin() + n, process) != told.begin() + n)
      continue;
    if (n < told.size())
      told[n++] = process;
    else
      scheduler_signal::send_to_process(process);
  }
  // Only now: all are noted, and a process looks at all of its ranks.
  for (size_t i = 0; i < n; ++i) scheduler_signal::send_to_process(told[i]);
  return any;
}

/// A signal of this process is the rank's.
bool is_of(const RankHandlers* rank, int number) {
  constexpr int kOfTimers[] = {SIGALRM, SIGVTALRM, SIGPROF};
  return rank && (!rank->of_visitor || contains(kOfTimers, number));
}

/// Begins the run of handlers on the scheduler's thread; `frame` is on the stack of the caller.
void begin_running(const void* frame, RankHandlers* here) {
  if (!on_scheduler_thread()) return;
  const sched::Proclet* rank = sched::running();
  g_running = {frame, rank, on_stack_of(rank, frame), here};
}

/// Calls the handlers of ranks of this process for the signals that have come to their homes.
void run_handlers_of_homes(const ucontext_t* context) {
  const RunningHandler outer = g_running;
  const int kept = errno;
  for (RankHandlers* rank = g_ranks.load(); rank; rank = rank->next) {
    MovedSignals* moved = rank->moved.load();
    if (!moved || !moved->is_here()) continue;
    for (uint64_t left = moved->pending.exchange(0); left; left &= left - 1) {
      siginfo_t info{};
      info.si_signo = std::countr_zero(left) + 1;
      info.si_code = SI_USER;
      info.si_pid = static_cast<int>(raw_call(SYS_getpid));
      begin_running(&outer, *handlers_of(rank_here()));
      void* const interrupted = const_cast<ucontext_t*>(context);
      if (!call_handler_of(rank, info.si_signo, &info, interrupted))
        act_without_function(rank, info.si_signo, &info, interrupted);
    }
  }
  errno = kept;
  if (on_scheduler_thread()) g_running = outer;
}

void run_handler(int number, siginfo_t* info, void* context) {
  if (is_of_packed_stack(number, info)) return;
  RankHandlers* here = *handlers_of(rank_here());
  const RunningHandler outer = g_running;
  begin_running(&outer, here);
  if (is_of_one_rank(number, info) || !in_own_process()) {
    if (!call_handler_of(here, number, info, context))
      act_without_function(here, number, info, context);
  } else {
    const int kept = errno;
    bool called = pass_on(number);
    for (RankHandlers* rank = g_ranks.load(); rank; rank = rank->next)
      if (rank != here && is_of(rank, number))
        called |= call_handler_of(rank, number, info, context);
    errno = kept;
    // The last one, since a handler may not return.
    if (is_of(here, number)) called |= call_handler_of(here, number, info, context);
    if (!called) act_without_function(nullptr, number, info, context);
  }
  if (on_scheduler_thread()) g_running = outer;
}

/// Sets the kernel's action of the signal after the rank's action has become `now`: run_handler()
/// while any rank has a function. REQUIRES: the caller holds a ChangingHandlers.
int set_kernel_action(int number, const struct sigaction& now, bool others_have_functions) {
  // A handler of this library stays, since faults on packed stacks have to reach it.
  if (number == SIGSEGV && sched::packing_is_allowed() && !is_function(now.sa_sigaction)) return 0;
  if (!is_function(now.sa_sigaction))
    return others_have_functions ? 0 : g_sigaction(number, &now, nullptr);
  struct sigaction ours = now;
  ours.sa_sigaction = run_handler;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  return g_sigaction(number, &ours, nullptr);
}

int set_action(int number, const struct sigaction* now, struct sigaction* before) {
  struct sigaction kernel;
  if (number <= 0 || number >= NSIG) return g_sigaction(number, now, before);
  const ChangingHandlers changing;
  if (g_sigaction(number, nullptr, &kernel) != 0) return -1;
  const bool is_ours = kernel.sa_sigaction == run_handler;
  RankHandlers* rank = make_handlers(
      on_scheduler_thread() && in_handler() ? &g_running.of : handlers_of(rank_here()));
  RankAction* a = rank->find(number);
  const struct sigaction seen = a ? action_of(*a) : is_ours ? g_before_ranks[number] : kernel;
  if (now) {
    const struct sigaction wanted = *now;  // perhaps *before
    if (!is_ours) g_before_ranks[number] = kernel;
    const int had = a && is_function(a->handler.load());
    if (set_kernel_action(number, wanted, g_functions[number] - had > 0) != 0) return -1;
    a = rank->find_or_add(number);
    a->mask = wanted.sa_mask;
    a->flags = wanted.sa_flags;
    a->handler = wanted.sa_sigaction;
    g_functions[number] += is_function(wanted.sa_sigaction) - had;
  }
  if (before) *before = seen;
  return 0;
}

/// Forgets an action. REQUIRES: the caller holds a ChangingHandlers.
void drop_action(RankAction* a) {
  const Handler handler = a->handler.exchange(nullptr);
  const int number = a->number.exchange(0);
  if (is_function(handler) && g_functions[number].fetch_sub(1) == 1)
    g_sigaction(number, &g_before_ranks[number], nullptr);
}

/// True where code at `caller` installs a handler of a rank, which run_handler() will call. False
/// for libraries of the system, whose handlers belong to no rank.
bool wraps_handlers(const void* caller) {
  return !g_in_library_call && g_mode != ImageMode::kForeign &&
         !in_this_library(reinterpret_cast<uintptr_t>(caller)) && in_own_process();
}

/// set_action() for code of the running rank. Its home, to which a signal of the process is sent,
/// has to know of a function.
int set_action_of_program(int number, const struct sigaction* now, struct sigaction* before) {
  if (now && is_function(now->sa_sigaction) && !in_handler() &&
      !bring_home("a handler of signals (sigaction, signal)"))
    return errno = EBUSY, -1;
  return set_action(number, now, before);
}

sighandler_t set_handler(int number, sighandler_t handler, int flags) {
  struct sigaction now {
  }, before;
  now.sa_handler = handler;
  now.sa_flags = flags;
  if (!(flags & SA_NODEFER) && number > 0 && number < NSIG) sigaddset(&now.sa_mask, number);
  if (handler == SIG_ERR) return errno = EINVAL, SIG_ERR;
  return set_action_of_program(number, &now, &before) == 0 ? before.sa_handler : SIG_ERR;
}

}  // namespace

bool rank_has_handlers() {
  const RankHandlers* rank = *handlers_of(sched::running());
  const RankAction* a = rank ? rank->actions.load() : nullptr;
  while (a && !is_function(a->handler.load())) a = a->next;
  return a != nullptr;
}

sched::InterruptionCounts* counts_of_rank() {
  RankHandlers** rank = handlers_of(sched::running());
  if (!*rank) {
    const ChangingHandlers changing;
    make_handlers(rank);
  }
  return &(*rank)->counts;
}

void forget_handlers_of_rank() {
  const sched::Proclet* p = sched::running();
  if (!p->image || !*handlers_of(p)) return;
  const ChangingHandlers changing;
  RankHandlers* rank = std::exchange(*handlers_of(p), nullptr);
  for (RankAction* a = rank->actions.load(); a; a = a->next) drop_action(a);
  rank->moved = nullptr;
  rank->of_visitor = false;
  rank->next_unused = std::exchange(g_unused, rank);
}

namespace {

/// The actions of a rank that is saved: in its slot, one behind the other.
struct SavedActions {
  int count;
  struct {
    int number;
    struct sigaction action;
  } actions[];
};

}  // namespace

const char* describe_handlers(void** list) {
  std::free(*list);
  *list = nullptr;
  const RankHandlers* rank = *handlers_of(sched::running());
  if (!rank) return nullptr;
  int count = 0;
  for (const RankAction* a = rank->actions.load(); a; a = a->next) count += a->number != 0;
  if (count == 0) return nullptr;
  auto* saved = static_cast<SavedActions*>(allocate_in_slot_of(
      list, sizeof(SavedActions) + static_cast<size_t>(count) * sizeof *SavedActions::actions));
  if (!saved) return "it has no memory left for the list of its handlers of signals";
  saved->count = 0;
  for (const RankAction* a = rank->actions.load(); a; a = a->next)
    if (a->number != 0) saved->actions[saved->count++] = {a->number, action_of(*a)};
  *list = saved;
  return nullptr;
}

void install_handlers(const void* list) {
  const auto* saved = static_cast<const SavedActions*>(list);
  for (int i = 0; saved && i < saved->count; ++i)
    set_action(saved->actions[i].number, &saved->actions[i].action, nullptr);
}

void follow_signals_of_moved_ranks() {
  scheduler_signal::begin_threads();
  scheduler_signal::call(scheduler_signal::kOtherProcess, run_handlers_of_homes);
}

void* let_handlers_leave() {
  RankHandlers* rank = *handlers_of(sched::running());
  MovedSignals* moved = rank ? rank->moved.load() : nullptr;
  if (rank && !moved && !rank->of_visitor) {
    char* const heap = slot_of_rank(sched::running()->index) + slot_places().heap;
    void* const memory = allocate_in_slot_of(heap, sizeof *moved);
    if (memory) moved = new (memory) MovedSignals;
  }
  if (!moved || rank->of_visitor) {
    if (moved) moved->process = 0;
    forget_handlers_of_rank();
    return moved;
  }
  // The home keeps its list, by which it passes signals on.
  moved->process = 0;
  rank->moved = moved;
  return moved;
}

void let_handlers_come(void* came_with, const void* list) {
  auto* moved = static_cast<MovedSignals*>(came_with);
  const sched::Proclet* p = sched::running();
  RankHandlers** const rank = handlers_of(p);
  {
    const ChangingHandlers changing;
    make_handlers(rank);
  }
  (*rank)->of_visitor = sched::is_visitor(p);
  install_handlers(list);
  const auto* saved = static_cast<const SavedActions*>(list);
  const auto is_saved = [&](int number) {
    for (int i = 0; saved && i < saved->count; ++i)
      if (saved->actions[i].number == number) return true;
    return false;
  };
  {
    // At home, what the rank has dropped elsewhere.
    const ChangingHandlers changing;
    for (RankAction* a = (*rank)->actions.load(); a; a = a->next)
      if (a->number != 0 && !is_saved(a->number)) drop_action(a);
    (*rank)->moved = moved;
    if (!moved) return;
    moved->process = static_cast<int>(raw_call(SYS_getpid));
  }
  if (moved->pending.load() != 0) scheduler_signal::send_to_process(moved->process);
}

bool in_handler() {
  if (__builtin_expect(!g_running.frame, 1)) return false;
  const sched::Proclet* rank = sched::running();
  const void* here = __builtin_frame_address(0);
  const bool on_stack = on_stack_of(rank, here);
  // Another rank, or a frame further out than the handler's, runs only after longjmp() has left
  // the handler.
  const bool left = rank != g_running.rank ||
                    (on_stack && (!g_running.on_stack_of_rank || here > g_running.frame));
  if (left) g_running = {};
  return !left;
}

sighandler_t signal_of_program(int number, sighandler_t handler, const void* caller) {
  static constinit Real<sighandler_t(int, sighandler_t)> real("signal");
  if (!wraps_handlers(caller)) return real(number, handler);
  const bool interrupts = number > 0 && number < NSIG && g_interrupting[number];
  return set_handler(number, handler, interrupts ? 0 : SA_RESTART);
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int sigaction(int number, const struct sigaction* now,
                              struct sigaction* before) noexcept {
  if (!wraps_handlers(__builtin_return_address(0))) return g_sigaction(number, now, before);
  return set_action_of_program(number, now, before);
}

FGMPI_INTERPOSE sighandler_t bsd_signal(int number, sighandler_t handler) noexcept {
  return signal_of_program(number, handler, __builtin_return_address(0));
}

// Programs that are compiled for strict ISO C call signal() by this name.
FGMPI_INTERPOSE sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  static constinit Real<sighandler_t(int, sighandler_t)> real("__sysv_signal");
  if (!wraps_handlers(__builtin_return_address(0))) return real(number, handler);
  return set_handler(number, handler, static_cast<int>(SA_RESETHAND | SA_NODEFER));
}

FGMPI_INTERPOSE int siginterrupt(int number, int interrupts) noexcept {
  static constinit Real<int(int, int)> real("siginterrupt");
  if (!wraps_handlers(__builtin_return_address(0))) return real(number, interrupts);
  struct sigaction action;
  if (set_action(number, nullptr, &action) != 0) return -1;
  if (interrupts)
    action.sa_flags &= ~SA_RESTART;
  else
    action.sa_flags |= SA_RESTART;
  g_interrupting[number] = interrupts != 0;
  return set_action(number, &action, nullptr);
}

namespace {

/// Signals of a rank come to its home, which has to block them. Where the rank cannot go there, the
/// process where it is blocks them.
void block_at_home(int how, const sigset_t* signals, const void* caller) {
  if (signals && how != SIG_UNBLOCK && wraps_handlers(caller) && on_scheduler_thread() &&
      !in_handler())
    bring_home("a mask of signals (sigprocmask)");
}

/// Blocks no SIGSEGV, since a blocked fault on a packed stack would end the process. A program that
/// blocks it gains nothing: a fault ends it all the same.
template <class Call>
int block_signals(int how, const sigset_t* signals, Call call) {
  if (!signals || how == SIG_UNBLOCK || !fgmpi::sched::packing_is_allowed() ||
      sigismember(signals, SIGSEGV) != 1)
    return call(signals);
  sigset_t others = *signals;
  sigdelset(&others, SIGSEGV);
  return call(&others);
}

}  // namespace

FGMPI_INTERPOSE int sigprocmask(int how, const sigset_t* signals, sigset_t* before) noexcept {
  static constinit Real<int(int, const sigset_t*, sigset_t*)> real("sigprocmask");
  block_at_home(how, signals, __builtin_return_address(0));
  return block_signals(how, signals, [&](const sigset_t* s) { return real(how, s, before); });
}

FGMPI_INTERPOSE int pthread_sigmask(int how, const sigset_t* signals, sigset_t* before) noexcept {
  static constinit Real<int(int, const sigset_t*, sigset_t*)> real("pthread_sigmask");
  block_at_home(how, signals, __builtin_return_address(0));
  return block_signals(how, signals, [&](const sigset_t* s) { return real(how, s, before); });
}
