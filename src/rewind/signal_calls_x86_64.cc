// Signals: the program may neither block nor take over SIGSYS, and sends itself signals by the
// number that its process had when it was recorded. Signals from outside wait for a boundary.

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "rewind/counter.h"
#include "rewind/ends.h"
#include "rewind/inputs.h"
#include "rewind/kernel_action_x86_64.h"
#include "rewind/recording.h"
#include "rewind/signals.h"
#include "rewind/special_calls.h"

namespace fgmpi::rewind {

long g_recorded_pid = 0;
volatile uint64_t g_waiting_signals = 0;

namespace {

constexpr uint64_t bit_of(long signal) { return uint64_t{1} << (signal - 1); }
constexpr uint64_t kTrapSignal = bit_of(SIGSYS);
constexpr int kMostSignals = 64;
/// Signals whose handlers the kernel calls: they are sent by the code that runs.
constexpr uint64_t kDirect = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE) | bit_of(SIGILL) |
                             bit_of(SIGTRAP) | bit_of(SIGABRT) | kTrapSignal;

/// The program's actions, and what came with signals that wait.
KernelSignalAction g_actions[kMostSignals + 1];
siginfo_t g_infos[kMostSignals + 1];
int64_t g_boundary = 0;           ///< so many boundaries have been
uint64_t g_running_handlers = 0;  ///< signals whose handlers run

/// 0 and 1 stand for SIG_DFL and SIG_IGN.
bool has_handler(const KernelSignalAction& action) {
  return reinterpret_cast<uintptr_t>(action.handler) > 1;
}

/// Receives the signals of the program's handlers while the run is recorded.
void on_signal(int signal, siginfo_t* info, void*) {
  g_infos[signal] = *info;
  __atomic_fetch_or(&g_waiting_signals, bit_of(signal), __ATOMIC_RELAXED);
}

/// Passes a signal as an input, and calls its handler.
void pass_signal(int64_t signal, ucontext_t* context) {
  static ucontext_t none;
  begin_input(kSignalTag);
  int64_t boundary = g_boundary;
  pass(&boundary);
  pass(&signal);
  if (signal < 1 || signal > kMostSignals) report_difference("signal %lld", (long long)signal);
  siginfo_t info = g_infos[signal];
  pass_bytes(&info, sizeof info);
  end_input();
  const KernelSignalAction action = g_actions[signal];
  if (!has_handler(action)) return;
  if (action.flags & SA_RESETHAND) g_actions[signal].handler = nullptr;
  g_running_handlers |= bit_of(signal);
  action.handler(static_cast<int>(signal), &info, context ? context : &none);
  g_running_handlers &= ~bit_of(signal);
  ++g_boundary;  // what comes now comes behind the handler, not at the last boundary in it
}

void pass_signals_here(ucontext_t* context) {
  if (is_repeated()) {
    while (is_next_input(kSignalTag, g_boundary)) pass_signal(0, context);
    return;
  }
  while (const uint64_t ready = g_waiting_signals & ~g_running_handlers) {
    const int signal = __builtin_ctzll(ready) + 1;
    __atomic_fetch_and(&g_waiting_signals, ~bit_of(signal), __ATOMIC_RELAXED);
    pass_signal(signal, context);
  }
}

/// rt_sigprocmask of the interrupted code, whose mask the kernel restores behind the handler.
long set_mask(const TrappedCall& call) {
  auto* const now = reinterpret_cast<uint64_t*>(&call.context->uc_sigmask);
  const uint64_t before = *now;
  if (const auto* wanted = reinterpret_cast<const uint64_t*>(call.arguments[1])) {
    switch (call.arguments[0]) {
      case SIG_BLOCK:
        *now |= *wanted;
        break;
      case SIG_UNBLOCK:
        *now &= ~*wanted;
        break;
      case SIG_SETMASK:
        *now = *wanted;
        break;
      default:
        return -EINVAL;
    }
    *now &= ~kTrapSignal;
    // A handler that has jumped out of itself restores the mask.
    if (call.arguments[0] != SIG_BLOCK) g_running_handlers &= *now;
  }
  if (call.arguments[2]) *reinterpret_cast<uint64_t*>(call.arguments[2]) = before;
  return 0;
}

long set_action(const TrappedCall& call) {
  if (call.arguments[0] == SIGSYS) return 0;
  if (call.arguments[0] == SIGSEGV)
    return set_fault_action(reinterpret_cast<const void*>(call.arguments[1]),
                            reinterpret_cast<void*>(call.arguments[2]));
  const long signal = call.arguments[0];
  if (signal < 1 || signal > kMostSignals || signal == SIGKILL || signal == SIGSTOP)
    return make_call(call);
  const KernelSignalAction before = g_actions[signal];
  if (const auto* wanted = reinterpret_cast<const KernelSignalAction*>(call.arguments[1])) {
    KernelSignalAction made = *wanted;
    made.mask &= ~kTrapSignal;
    const bool waits = has_handler(made) && !(kDirect & bit_of(signal));
    if (waits) {
      made.handler = on_signal;
      made.flags = (made.flags & ~static_cast<unsigned long>(SA_RESETHAND)) | SA_SIGINFO;
      made.flags |= kHasRestorer;
      made.restorer =
          fgmpi_rewind_sigaction_return;  // not trapped: the repeated run has no such return
    }
    TrappedCall changed = call;
    changed.arguments[1] = reinterpret_cast<long>(&made);
    changed.arguments[2] = 0;
    // Signals that come while the run is repeated, such as by Ctrl-C, are for it, not for the
    // program.
    if (const long failed = waits && is_repeated() ? 0 : make_call(changed); failed != 0)
      return failed;
    g_actions[signal] = *wanted;
  }
  if (call.arguments[2]) *reinterpret_cast<KernelSignalAction*>(call.arguments[2]) = before;
  return 0;
}

long set_stack(const TrappedCall& call) {
  const long result = make_call(call);
  // The kernel restores the stack of the context behind the handler.
  if (result == 0) direct_call(SYS_sigaltstack, 0, &call.context->uc_stack);
  return result;
}

/// Sends a signal to this process itself, under its own number; to others only when recorded.
long send_signal(const TrappedCall& call) {
  const bool to_thread = call.number == SYS_tkill;
  const long target = call.arguments[0];
  const bool to_itself = to_thread || target == g_recorded_pid;
  begin_call_input(call);
  end_input();  // the signal may be the end
  if (to_itself) {
    const long own = direct_call(SYS_getpid);
    const long signal = call.arguments[call.number == SYS_tgkill ? 2 : 1];
    const bool waits = signal >= 1 && signal <= kMostSignals && !(kDirect & bit_of(signal)) &&
                       has_handler(g_actions[signal]);
    if (waits && is_repeated()) return 0;
    // A signal for the process is one for the handlers of all its ranks, as si_code says.
    if (call.number == SYS_kill) return direct_call(SYS_kill, own, signal);
    return direct_call(SYS_tgkill, own, direct_call(SYS_gettid), signal);
  }
  const int64_t result = begin_with_result(call);
  end_input();
  return result;
}

}  // namespace

void record_action(int signal, const KernelSignalAction& action) {
  if (signal >= 1 && signal <= kMostSignals) g_actions[signal] = action;
}

void pass_signals(ucontext_t* context) {
  ++g_boundary;
  if (is_repeated() || g_waiting_signals != 0) pass_signals_here(context);
}

void pass_signals_at_event() { pass_signals_here(nullptr); }

long answer_signal_call(const TrappedCall& call) {
  switch (call.number) {
    case SYS_rt_sigprocmask:
      return set_mask(call);
    case SYS_rt_sigaction:
      return set_action(call);
    case SYS_sigaltstack:
      return set_stack(call);
    case SYS_rt_sigreturn:
      return_from_handler(call.context);
      return 0;
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
      return send_signal(call);
    default:
      return make_call(call);
  }
}

}  // namespace fgmpi::rewind
