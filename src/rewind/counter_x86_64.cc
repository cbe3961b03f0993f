// x86-64: rdtsc and rdtscp as faults.

#include "rewind/counter.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <x86intrin.h>

#include <cstring>

#include "rewind/inputs.h"
#include "rewind/kernel_action_x86_64.h"
#include "rewind/recording.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {
namespace {

/// The program's own action.
KernelSignalAction g_action{};

/// The bytes of the instruction at this address, if it reads the counter; else 0.
unsigned counter_instruction(const uint8_t* at) {
  if (at[0] != 0x0f) return 0;
  if (at[1] == 0x31) return 2;                    // rdtsc
  return at[1] == 0x01 && at[2] == 0xf9 ? 3 : 0;  // rdtscp
}

uint64_t read_counter_of_run() {
  static int64_t last = 0;
  int64_t passed = 0;
  if (is_recorded()) {
    direct_call(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
    passed = static_cast<int64_t>(__rdtsc()) - last;
    direct_call(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
  }
  begin_input(kCounterTag);
  pass(&passed);
  end_input();
  return static_cast<uint64_t>(last += passed);
}

/// Lets the signal end the process, as without a handler.
void end_by_fault(const siginfo_t* info) {
  const KernelSignalAction by_default{};
  direct_call(SYS_rt_sigaction, SIGSEGV, &by_default, nullptr, sizeof by_default.mask);
  // A fault happens again behind this handler; a signal that was sent does not.
  if (info->si_code <= 0)
    direct_call(SYS_tgkill, direct_call(SYS_getpid), direct_call(SYS_gettid), SIGSEGV);
}

void on_fault(int number, siginfo_t* info, void* data) {
  greg_t* const r = static_cast<ucontext_t*>(data)->uc_mcontext.gregs;
  // The kernel names no address for an instruction that it forbids.
  const bool forbidden = info->si_code == SI_KERNEL && !info->si_addr;
  const unsigned bytes =
      forbidden ? counter_instruction(reinterpret_cast<const uint8_t*>(r[REG_RIP])) : 0;
  if (bytes > 0) {
    const uint64_t counter = read_counter_of_run();
    r[REG_RAX] = static_cast<greg_t>(counter & 0xffffffff);
    r[REG_RDX] = static_cast<greg_t>(counter >> 32);
    if (bytes == 3) r[REG_RCX] = 0;  // the number of the processor
    r[REG_RIP] += bytes;
    return;
  }
  // 0 and 1 stand for SIG_DFL and SIG_IGN.
  if (reinterpret_cast<uintptr_t>(g_action.handler) <= 1) return end_by_fault(info);
  g_action.handler(number, info, data);
}

}  // namespace

void start_counter_trap() {
  if (direct_call(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return;
  const KernelSignalAction ours{on_fault, SA_SIGINFO | SA_NODEFER | SA_ONSTACK | kHasRestorer,
                                fgmpi_rewind_sigaction_return, 0};
  direct_call(SYS_rt_sigaction, SIGSEGV, &ours, &g_action, sizeof ours.mask);
}

void continue_counter_trap() { direct_call(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV); }

long set_fault_action(const void* action, void* before) {
  const KernelSignalAction old = g_action;
  if (action) std::memcpy(&g_action, action, sizeof g_action);
  if (before) std::memcpy(before, &old, sizeof old);
  return 0;
}

}  // namespace fgmpi::rewind
