#include "privatize/handlers.h"

#include <errno.h>
#include <signal.h>

#include <atomic>

#include "privatize/blocked_calls.h"
#include "privatize/internal.h"
#include "privatize/waits.h"
#include "proclet-sched/descriptor_waits.h"

namespace fgmpi::privatize {
namespace {

using Handler = void (*)(int, siginfo_t*, void*);

constinit Real<int(int, const struct sigaction*, struct sigaction*)> g_sigaction("sigaction");

/// What the program has installed last: the kernel has run_handler() in its place.
struct Installed {
  std::atomic<Handler> handler{nullptr};
  std::atomic<int> flags{0};
};
constinit Installed g_installed[NSIG];
/// siginterrupt() has been called for it: signal() installs without SA_RESTART.
std::atomic<bool> g_interrupting[NSIG];

/// The handler that runs on the scheduler's thread. It may be left by longjmp(), which nothing tells: so
/// nothing here points to its stack for more than to compare.
struct RunningHandler {
  const void* frame = nullptr;  ///< of run_handler(); nullptr: none runs
  const sched::Proclet* rank = nullptr;
  bool on_stack_of_rank = false;
};
RunningHandler g_running;

bool on_stack_of(const sched::Proclet* rank, const void* address) {
  return rank && static_cast<size_t>(static_cast<const char*>(address) - rank->stack_low) <
                     rank->stack_size;
}

void run_handler(int number, siginfo_t* info, void* context) {
  const Handler handler = g_installed[number].handler;
  if (!on_scheduler_thread()) return handler(number, info, context);
  const RunningHandler outer = g_running;
  const sched::Proclet* rank = sched::running();
  g_running = {&outer, rank, on_stack_of(rank, &outer)};
  sched::count_interruption(g_installed[number].flags & SA_RESTART);
  handler(number, info, context);
  g_running = outer;
}

bool is_function(const struct sigaction& a) {
  return a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN;
}

int set_action(int number, const struct sigaction* now, struct sigaction* before) {
  if (number <= 0 || number >= NSIG) return g_sigaction(number, now, before);
  Installed& installed = g_installed[number];
  const Handler handler_before = installed.handler;
  const int flags_before = installed.flags;
  struct sigaction ours;
  if (now && is_function(*now)) {
    ours = *now;
    ours.sa_sigaction = run_handler;
    ours.sa_flags |= SA_SIGINFO;
    // Before the kernel has it: a signal may come at once.
    installed.handler = now->sa_sigaction;
    installed.flags = now->sa_flags;
    now = &ours;
  }
  struct sigaction kept {};
  const int result = g_sigaction(number, now, &kept);
  if (result != 0) {
    installed.handler = handler_before;
    installed.flags = flags_before;
    return result;
  }
  if (kept.sa_sigaction == run_handler) {
    kept.sa_sigaction = handler_before;
    if (!(flags_before & SA_SIGINFO)) kept.sa_flags &= ~SA_SIGINFO;
  }
  if (before) *before = kept;
  return 0;
}

/// A process of several ranks: handlers are installed through run_handler().
bool wraps_handlers(const void* caller) {
  return (g_mode == Mode::kImages || g_mode == Mode::kShared || g_has_guests) &&
         !in_this_library(caller) && in_own_process();
}

sighandler_t set_handler(int number, sighandler_t handler, int flags) {
  struct sigaction now {
  }, before;
  now.sa_handler = handler;
  now.sa_flags = flags;
  if (!(flags & SA_NODEFER) && number > 0 && number < NSIG) sigaddset(&now.sa_mask, number);
  if (handler == SIG_ERR) return errno = EINVAL, SIG_ERR;
  return set_action(number, &now, &before) == 0 ? before.sa_handler : SIG_ERR;
}

}  // namespace

bool in_handler() {
  if (__builtin_expect(!g_running.frame, 1)) return false;
  const sched::Proclet* rank = sched::running();
  const void* here = __builtin_frame_address(0);
  const bool on_stack = on_stack_of(rank, here);
  // Another rank, or frames further out than the handler's, run only when longjmp() has left it.
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
  return set_action(number, now, before);
}

FGMPI_INTERPOSE sighandler_t bsd_signal(int number, sighandler_t handler) noexcept {
  return signal_of_program(number, handler, __builtin_return_address(0));
}

// What signal() means in programs that ask for nothing but ISO C.
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
