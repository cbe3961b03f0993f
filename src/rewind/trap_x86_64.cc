// x86-64: the trap by SIGSYS, and jumps in the vDSO.

#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>

#include "base/page.h"
#include "rewind/counter.h"
#include "rewind/kernel_action_x86_64.h"
#include "rewind/signals.h"
#include "rewind/special_calls.h"
#include "rewind/trap.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

// Debuggers know the code by which a handler returns by its instructions, and by "sigaction" in its
// name.
// The kernel lets system calls pass behind which the instruction lies between the two labels.
asm(R"(
  .text
  .p2align 4
  .globl fgmpi_rewind_direct_low
  .hidden fgmpi_rewind_direct_low
fgmpi_rewind_direct_low:
  .globl fgmpi_rewind_direct_call
  .hidden fgmpi_rewind_direct_call
  .type fgmpi_rewind_direct_call, @function
fgmpi_rewind_direct_call:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  ret
  .size fgmpi_rewind_direct_call, .-fgmpi_rewind_direct_call
  .globl fgmpi_rewind_sigaction_return
  .hidden fgmpi_rewind_sigaction_return
  .type fgmpi_rewind_sigaction_return, @function
fgmpi_rewind_sigaction_return:
  mov $15, %rax
  syscall
  nop
  .globl fgmpi_rewind_direct_high
  .hidden fgmpi_rewind_direct_high
fgmpi_rewind_direct_high:
)");

extern "C" const char fgmpi_rewind_direct_low[], fgmpi_rewind_direct_high[];

namespace fgmpi::rewind {
namespace {

constexpr char kTrapped = 1;  ///< the selector: calls are trapped

void on_call(int, siginfo_t* info, void* data) {
  auto* context = static_cast<ucontext_t*>(data);
  greg_t* const r = context->uc_mcontext.gregs;
  const TrappedCall call{info->si_syscall,
                         {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]},
                         context};
  pass_signals(context);
  const long answer = answer_call(call);
  if (call.number == SYS_rt_sigreturn) return;
  r[REG_RAX] = answer;
  pass_signals(context);
}

// ---- The vDSO -----------------------------------------------------------------------------------

int clock_gettime_of_run(clockid_t clock, timespec* time) {
  return static_cast<int>(answer_clock(clock, time));
}
int gettimeofday_of_run(timeval* time, struct timezone* zone) {
  timespec now{};
  answer_clock(CLOCK_REALTIME, &now);
  if (time) *time = {now.tv_sec, now.tv_nsec / 1000};
  if (zone) *zone = {};
  return 0;
}
time_t time_of_run(time_t* time) {
  timespec now{};
  answer_clock(CLOCK_REALTIME_COARSE, &now);
  if (time) *time = now.tv_sec;
  return now.tv_sec;
}
/// Recorded runs are on one processor, as far as they can see.
int getcpu_of_run(unsigned* cpu, unsigned* node, void*) {
  if (cpu) *cpu = 0;
  if (node) *node = 0;
  return 0;
}

struct ReplacedFunction {
  const char* name;
  const void* by;
};

template <class F>
const void* code_of(F* function) {
  return reinterpret_cast<const void*>(function);
}

void write_jump(uint8_t* at, const void* to) {
  constexpr uint8_t kJump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
  std::memcpy(at, kJump, sizeof kJump);
  std::memcpy(at + sizeof kJump, &to, sizeof to);
}

/// Replaces the functions in the vDSO by those of the run.
bool replace_clocks() {
  const ReplacedFunction functions[] = {{"__vdso_clock_gettime", code_of(clock_gettime_of_run)},
                                        {"__vdso_gettimeofday", code_of(gettimeofday_of_run)},
                                        {"__vdso_time", code_of(time_of_run)},
                                        {"__vdso_getcpu", code_of(getcpu_of_run)}};
  const auto base = getauxval(AT_SYSINFO_EHDR);
  if (!base) return true;  // there is none: all clocks are system calls
  const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(base);
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(base + elf->e_phoff);
  const Elf64_Dyn* dynamic = nullptr;
  uintptr_t end = 0;
  for (int i = 0; i < elf->e_phnum; ++i) {
    if (segments[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const Elf64_Dyn*>(base + segments[i].p_offset);
    if (segments[i].p_type == PT_LOAD) end = base + segments[i].p_offset + segments[i].p_memsz;
  }
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_SYMTAB)
      symbols = reinterpret_cast<const Elf64_Sym*>(base + dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_STRTAB)
      names = reinterpret_cast<const char*>(base + dynamic->d_un.d_ptr);
  }
  if (!symbols || !names || end <= base) return false;
  const size_t size = (end - base + machine_page_bytes() - 1) & ~(machine_page_bytes() - 1);
  if (direct_call(SYS_mprotect, base, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  // The table of names follows that of symbols.
  for (const Elf64_Sym* s = symbols; reinterpret_cast<const char*>(s + 1) <= names; ++s)
    for (const ReplacedFunction& f : functions)
      if (s->st_value && std::strcmp(names + s->st_name, f.name) == 0)
        write_jump(reinterpret_cast<uint8_t*>(base + s->st_value), f.by);
  return direct_call(SYS_mprotect, base, size, PROT_READ | PROT_EXEC) == 0;
}

/// Handlers that were installed before must not block SIGSYS: their calls would end the process.
void unblock_in_handlers() {
  constexpr uint64_t kSys = uint64_t{1} << (SIGSYS - 1);
  for (int s = 1; s < NSIG; ++s) {
    KernelSignalAction action{};
    if (direct_call(SYS_rt_sigaction, s, nullptr, &action, sizeof action.mask) != 0) continue;
    record_action(s, action);
    if (!(action.mask & kSys)) continue;
    action.mask &= ~kSys;
    direct_call(SYS_rt_sigaction, s, &action, nullptr, sizeof action.mask);
  }
  direct_call(SYS_rt_sigprocmask, SIG_UNBLOCK, &kSys, nullptr, sizeof kSys);
}

}  // namespace

const char* start_trap() {
  const KernelSignalAction action{on_call, SA_SIGINFO | SA_NODEFER | kHasRestorer,
                                  fgmpi_rewind_sigaction_return, 0};
  if (direct_call(SYS_rt_sigaction, SIGSYS, &action, nullptr, sizeof action.mask) != 0)
    return "SIGSYS cannot be handled";
  unblock_in_handlers();
  if (!replace_clocks()) return "the clocks of the kernel's vDSO cannot be replaced";
  if (direct_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON,
                  fgmpi_rewind_direct_low, fgmpi_rewind_direct_high - fgmpi_rewind_direct_low,
                  &kTrapped) != 0)
    return "the kernel cannot trap system calls (Linux 5.11 can)";
  start_counter_trap();
  return nullptr;
}

void continue_trap() {
  direct_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, fgmpi_rewind_direct_low,
              fgmpi_rewind_direct_high - fgmpi_rewind_direct_low, &kTrapped);
  continue_counter_trap();
}

void stop_trap() {
  direct_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
}

void return_from_handler(ucontext_t* context) {
  context->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(fgmpi_rewind_sigaction_return);
}

}  // namespace fgmpi::rewind
