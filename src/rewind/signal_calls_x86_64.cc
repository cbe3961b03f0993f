// Signals: the program may neither block nor take over SIGSYS, and sends itself signals by the
// number that its process had when it was recorded.

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "rewind/counter.h"
#include "rewind/ends.h"
#include "rewind/inputs.h"
#include "rewind/recording.h"
#include "rewind/special_calls.h"

namespace fgmpi::rewind {

long g_recorded_pid = 0;

namespace {

constexpr uint64_t kTrapSignal = uint64_t{1} << (SIGSYS - 1);

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
  }
  if (call.arguments[2]) *reinterpret_cast<uint64_t*>(call.arguments[2]) = before;
  return 0;
}

long set_action(const TrappedCall& call) {
  if (call.arguments[0] == SIGSYS) return 0;
  if (call.arguments[0] == SIGSEGV)
    return set_fault_action(reinterpret_cast<const void*>(call.arguments[1]),
                            reinterpret_cast<void*>(call.arguments[2]));
  TrappedCall changed = call;
  if (call.arguments[1])
    changed.arguments[1] = reinterpret_cast<long>(
        without_trap_signal(reinterpret_cast<const void*>(call.arguments[1])));
  return make_call(changed);
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
    return direct_call(SYS_tgkill, own, direct_call(SYS_gettid), signal);
  }
  const int64_t result = begin_with_result(call);
  end_input();
  return result;
}

}  // namespace

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
