// Crash reports: which rank, why, and its call stack with the names of its image's functions.
//
// The handler runs on a stack of its own (the rank's may be used up) and only for signals that the
// program leaves alone. It says the cause before anything that needs memory, and each frame under an
// alarm, since the heap may be what is broken, or a lock is held that never comes free. Then, or
// after the alarm, the signal takes its usual course: the process dies of it, the launcher ends the job.
#include <cxxabi.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "base/end_hooks.h"
#include "base/settings.h"
#include "privatize/elf_file.h"
#include "privatize/handlers.h"
#include "privatize/images.h"
#include "privatize/internal.h"
#include "privatize/output.h"
#include "privatize/plugins.h"
#include "privatize/source_lines.h"

namespace fgmpi::privatize {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr size_t kHandlerStack = 256 * 1024;
constexpr int kMostFrames = 64;
constexpr unsigned kFrameSeconds = 10;  ///< for each frame

bool is_crash_signal(int signal_number) {
  for (int s : kSignals)
    if (s == signal_number) return true;
  return false;
}

[[gnu::format(printf, 1, 2)]] void report(const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  static auto* real = next_symbol<ssize_t(int, const void*, size_t)>("write");
  if (n > 0) (void)!real(STDERR_FILENO, text, strnlen(text, sizeof text));
}

/// The readable name. Allocates; where the heap is broken and this hangs, the alarm ends the report.
const char* demangled(const char* name) {
  int failed = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &failed);
  return text ? text : name;
}

void report_frame(int number, uintptr_t pc) {
  Images::Location where;
  Dl_info info{};
  const char* path = nullptr;
  uintptr_t offset = 0, loaded = pc;
  if (g_images.locate(pc, &where)) {
    path = g_images.modules()[where.module].path().c_str();
    offset = where.offset;
    loaded = g_images.base_of(where.module, 0) + offset;
  } else if (plugins::Location plugin; plugins::locate(pc, &plugin)) {
    path = plugin.module->path().c_str();
    offset = plugin.offset;
    loaded = plugin.module->base() + offset;
  } else if (dladdr(reinterpret_cast<void*>(pc), &info) && info.dli_fname) {
    path = info.dli_fname;
    offset = pc - reinterpret_cast<uintptr_t>(info.dli_fbase);
  } else {
    return report("  #%-2d 0x%lx\n", number, pc);
  }
  ElfFile file;
  uintptr_t start = 0;
  const char* function = file.open(path) ? file.function_at(offset, &start) : nullptr;
  const char* name = strcmp(path, "/proc/self/exe") == 0 ? "program" : file_name(path).data();
  char line[512] = " at ";
  if (!find_source_line(loaded, line + 4, sizeof line - 4)) line[0] = '\0';
  if (function)
    report("  #%-2d %s+0x%lx  (%s+0x%lx)%s\n", number, demangled(function), offset - start, name,
           offset, line);
  else
    report("  #%-2d ?  (%s+0x%lx)%s\n", number, name, offset, line);
}

struct StackWalk {
  uintptr_t fault_pc;
  bool inside =
      false;  ///< the walk has left the handler's frames and reached the interrupted function
  int count = 0;
};

/// Reports each frame at once, because a damaged stack may end the walk at any frame.
_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<StackWalk*>(data);
  int before_instruction = 0;
  uintptr_t pc = _Unwind_GetIPInfo(context, &before_instruction);
  if (pc == 0) return _URC_END_OF_STACK;
  walk->inside |= pc == walk->fault_pc;
  alarm(kFrameSeconds);
  if (walk->inside)
    report_frame(walk->count++, before_instruction ? pc : pc - 1);  // within the call, not after it
  return walk->count < kMostFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

bool is_code(uintptr_t pc) {
  Images::Location where;
  Dl_info info{};
  plugins::Location plugin;
  return g_images.locate(pc, &where) || plugins::locate(pc, &plugin) ||
         dladdr(reinterpret_cast<void*>(pc), &info);
}

/// After a call through a bad pointer (mostly the null pointer) the program counter is not in any code. Then the walk
/// begins at the caller, as if the call had returned. The context is restored afterwards, for core files.
void report_stack(ucontext_t* context) {
  auto& pc = context->uc_mcontext.gregs[REG_RIP];
  auto& sp = context->uc_mcontext.gregs[REG_RSP];
  const auto pc_before = pc, sp_before = sp;
  StackWalk walk{};
  if (!is_code(static_cast<uintptr_t>(pc))) {
    report_frame(walk.count++, static_cast<uintptr_t>(pc));
    pc = *reinterpret_cast<greg_t*>(sp);
    sp += sizeof(greg_t);
  }
  walk.fault_pc = static_cast<uintptr_t>(pc);
  _Unwind_Backtrace(visit_frame, &walk);
  pc = pc_before;
  sp = sp_before;
}

/// True if the stack pointer is outside of the running proclet's stack: a function with local variables larger than the
/// guard has moved it past the guard.
bool beyond_stack(const sched::Proclet* running, const ucontext_t* context) {
  if (!running || sched::on_host_stack()) return false;
  auto low = reinterpret_cast<uintptr_t>(running->stack_low);
  return static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RSP]) - low >= running->stack_size;
}

void report_cause(int signal_number, const siginfo_t* info, const ucontext_t* context,
                  const sched::Proclet* running) {
  bool in_guard = false;
  const sched::Proclet* at = sched::proclet_of_address(info->si_addr, &in_guard);
  bool overflow = running && ((at && in_guard) || beyond_stack(running, context));
  bool memory = signal_number == SIGSEGV || signal_number == SIGBUS;
  char who[64] = "outside of any rank";
  if (running)
    snprintf(who, sizeof who, "%srank %u",
             running->kind == sched::Kind::kHelper ? "a helper of " : "", world_rank(running));
  if (memory && overflow) {
    report("fgmpi: stack overflow of %s (%zu KiB): raise FGMPI_STACK_SIZE\n", who,
           running->stack_size / 1024);
  } else if (memory) {
    report("fgmpi: %s: %s at address %p\n", who, strsignal(signal_number), info->si_addr);
  } else {
    report("fgmpi: %s: %s\n", who, strsignal(signal_number));
  }
}

volatile sig_atomic_t g_crash = 0;  ///< the signal that is reported

void unblock(int signal_number) {
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, signal_number);
  sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
}

/// The process dies of the signal that is reported.
void take_course() {
  unblock(g_crash);
  raise(g_crash);
}

/// The alarm: the report hangs.
void on_alarm(int) {
  report("fgmpi: the call stack is not complete: looking at it took longer than %u s\n",
         kFrameSeconds);
  leave_end_mark();
  take_course();
}

void limit_report() {
  struct sigaction limit {};
  limit.sa_handler = on_alarm;
  limit.sa_flags = SA_ONSTACK;
  sigaction(SIGALRM, &limit, nullptr);
  unblock(SIGALRM);
  alarm(kFrameSeconds);
}

void on_crash(int signal_number, siginfo_t* info, void* context) {
  signal(signal_number, SIG_DFL);
  g_crash = signal_number;
  limit_report();
  if (on_scheduler_thread()) {
    write_output_in_crash();
    auto* interrupted = static_cast<ucontext_t*>(context);
    report_cause(signal_number, info, interrupted, sched::running());
    report_stack(interrupted);
    leave_end_mark();
  }
  alarm(0);
  take_course();
}

bool g_reports = false;  ///< the crash signals are ours

/// Is it code of the Fortran runtime or of an image of it?
bool of_fortran_runtime(void* code) {
  Images::Location where;
  Dl_info info{};
  if (g_images.locate(reinterpret_cast<uintptr_t>(code), &where) && where.module > 0)
    return g_images.modules()[where.module].name().starts_with("libgfortran.");
  return dladdr(code, &info) && info.dli_fname &&
         file_name(info.dli_fname).starts_with("libgfortran.");
}

}  // namespace

void install_crash_reports() {
  if (!settings::on(settings::kCrashReport)) return;
  void* stack = mmap(nullptr, kHandlerStack, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stack_t old{};
  if (stack == MAP_FAILED || sigaltstack(nullptr, &old) != 0) return;
  stack_t mine{};
  mine.ss_sp = stack;
  mine.ss_size = kHandlerStack;
  if ((old.ss_flags & SS_DISABLE) && sigaltstack(&mine, nullptr) != 0) return;
  for (int s : kSignals) {
    struct sigaction now {};
    if (sigaction(s, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_sigaction = on_crash;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(s, &ours, nullptr);
    g_reports = true;
  }
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

// The Fortran runtime installs a handler of its own in each main. It runs on the rank's stack, so not after a stack
// overflow, and it cannot name the rank. Calls from the Fortran runtime and its images are therefore ignored.
FGMPI_INTERPOSE sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (g_reports && is_crash_signal(number) && of_fortran_runtime(__builtin_return_address(0)))
    return SIG_DFL;
  return signal_of_program(number, handler, __builtin_return_address(0));
}
