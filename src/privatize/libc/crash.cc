// Crash reports: which rank, why, and its call stack with the names of its image's functions.
//
// The handler runs on a stack of its own (the rank's may be used up) and only for signals that the
// program leaves at their default. A report has steps: output of ranks, the cause, the call stack.
// Each step may crash or hang, since the heap may be broken, or a lock may be held that is never
// released. A fault within a step, or an alarm, goes on to the next step. Then the signal has its
// usual effect: the process dies of it, and the launcher ends the job. Numbers that only possibly
// overwritten memory holds are not printed (identity.h).
#include <cxxabi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <iterator>

#include "base/assert.h"
#include "base/elf_file.h"
#include "base/end_hooks.h"
#include "base/modules.h"
#include "base/raw_call.h"
#include "base/settings.h"
#include "privatize/image/images.h"
#include "privatize/internal.h"
#include "privatize/libc/handlers.h"
#include "privatize/libc/output.h"
#include "privatize/libc/source_lines.h"
#include "privatize/load/plugins.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/processor/machine_code.h"
#include "proclet-sched/coroutine/identity.h"
#include "proclet-sched/coroutine/packing.h"

namespace fgmpi::privatize {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr size_t kHandlerStack = 256 * 1024;
constexpr int kMostFrames = 64;
constexpr unsigned kFrameSeconds = 10;  ///< limit of a step, and of each frame of the call stack

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
  if (n > 0)
    raw_call(SYS_write, STDERR_FILENO, reinterpret_cast<long>(text),
             static_cast<long>(strnlen(text, sizeof text)));
}

/// The readable form of a C++ name. Allocates: where the heap is broken and this hangs, the alarm
/// ends the step.
const char* demangled_in_handler(const char* name) {
  int failed = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &failed);
  return text ? text : name;
}

void report_frame(int number, uintptr_t pc) {
  Images::ImageLocation where;
  const char* path = nullptr;
  uintptr_t offset = 0, loaded = pc;
  if (g_images.locate(pc, &where)) {
    path = g_images.modules()[where.module].path().c_str();
    offset = where.offset;
    loaded = g_images.modules()[where.module].base() + offset;
  } else if (plugins::PluginLocation plugin; plugins::locate(pc, &plugin)) {
    path = plugin.module->path().c_str();
    offset = plugin.offset;
    loaded = plugin.module->base() + offset;
  } else if (const auto module = module_at(reinterpret_cast<void*>(pc))) {
    path = module->path;
    offset = pc - module->start;
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
    report("  #%-2d %s+0x%lx  (%s+0x%lx)%s\n", number, demangled_in_handler(function),
           offset - start, name, offset, line);
  else
    report("  #%-2d ?  (%s+0x%lx)%s\n", number, name, offset, line);
}

struct CrashWalk {
  uintptr_t fault_pc;
  /// The walk has left the handler's frames and reached the interrupted function.
  bool inside = false;
  int count = 0;
};

/// Reports each frame at once, because a damaged stack may end the walk at any frame.
_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<CrashWalk*>(data);
  int before_instruction = 0;
  uintptr_t pc = _Unwind_GetIPInfo(context, &before_instruction);
  if (pc == 0) return _URC_END_OF_STACK;
  walk->inside |= pc == walk->fault_pc;
  alarm(kFrameSeconds);
  // pc - 1 lies within the instruction of the call; pc is the address behind that instruction.
  if (walk->inside) report_frame(walk->count++, before_instruction ? pc : pc - 1);
  return walk->count < kMostFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

bool is_code(uintptr_t pc) {
  Images::ImageLocation where;
  plugins::PluginLocation plugin;
  return g_images.locate(pc, &where) || plugins::locate(pc, &plugin) ||
         module_at(reinterpret_cast<void*>(pc)).has_value();
}

/// Reports the call stack of the interrupted code. After a call through a bad pointer (mostly the
/// null pointer) the program counter is not in any code. Then the walk begins at the caller, as if
/// the call had returned. The context is restored afterwards, for core files.
void report_stack(ucontext_t* context) {
  const mcontext_t before = context->uc_mcontext;
  CrashWalk walk{};
  if (!is_code(machine::program_counter(*context))) {
    report_frame(walk.count++, machine::program_counter(*context));
    machine::return_from_call(context);
  }
  walk.fault_pc = machine::program_counter(*context);
  _Unwind_Backtrace(visit_frame, &walk);
  context->uc_mcontext = before;
}

/// How far above the lowest byte of its stack a function's stack pointer may be when the function
/// touches the guard below.
constexpr uintptr_t kNearGuard = 4096;

/// The distance of the stack pointer from the lowest byte of the running proclet's stack. It wraps
/// where a function with local variables larger than the guard has moved the pointer past the
/// guard.
uintptr_t height_on_stack(const sched::Proclet* running, const ucontext_t* context) {
  return machine::stack_pointer(*context) - reinterpret_cast<uintptr_t>(running->stack_low);
}

/// The crash that is being reported.
struct Crash {
  int signal = 0;
  const siginfo_t* info = nullptr;
  ucontext_t* context = nullptr;
};
Crash g_crash;

/// Returns "Segmentation fault" and the like without allocating, as strsignal() does where it
/// translates: the heap may be broken.
const char* words_of_signal() {
  const char* words = sigdescr_np(g_crash.signal);
  return words ? words : "unknown signal";
}

/// False for a signal that raise() has sent: it has no address, and may come from a handler of the
/// fault, which has the stack of signals.
bool is_memory_fault() {
  return (g_crash.signal == SIGSEGV || g_crash.signal == SIGBUS) && g_crash.info->si_code > 0;
}

bool is_stack_overflow(const sched::Proclet* running) {
  bool in_guard = false;
  const sched::Proclet* at = sched::proclet_of_address(g_crash.info->si_addr, &in_guard);
  if (!is_memory_fault() || !running || sched::on_host_stack()) return false;
  const uintptr_t height = height_on_stack(running, g_crash.context);
  if (height >= running->stack_size) return true;
  // A fault in the guard of another proclet's stack is no overflow of the running proclet's stack,
  // nor is one by a pointer into the guard while the stack pointer is far above it: that is a
  // buffer at the end of the stack that lies below.
  return at == running && in_guard && height < kNearGuard;
}

/// Writes words such as "; rank 3 ran last, its last call was MPI_Recv".
void describe_last_run(const sched::Identity& identity, const char* who, char* words, size_t size) {
  const char* call = sched::last_call();
  const int length = identity.has_rank
                         ? snprintf(words, size, "; %s ran last", who)
                         : snprintf(words, size, "; it is not known which rank ran last");
  if (call)
    snprintf(words + length, size - static_cast<size_t>(length),
             identity.has_rank ? ", its last call was %s" : ", the last call was %s", call);
}

void report_cause() {
  const sched::Identity identity = sched::identify_caller(
      reinterpret_cast<const void*>(machine::stack_pointer(*g_crash.context)));
  char who[sched::kMostIdentityWords], what[128], last[256];
  sched::name_identity(identity, who, sizeof who);
  const char* words = words_of_signal();
  if (is_memory_fault())
    snprintf(what, sizeof what, "%s at address %p", words, g_crash.info->si_addr);
  else
    snprintf(what, sizeof what, "%s", words);
  describe_last_run(identity, who, last, sizeof last);
  if (identity.damaged)
    return report(
        "fgmpi: %s: memory of the library has been overwritten (by a buffer that is too small for "
        "what it receives, or through a wild pointer)%s\n",
        what, last);
  if (is_stack_overflow(sched::running()))
    return report("fgmpi: stack overflow of %s (%zu KiB): raise FGMPI_STACK_SIZE\n", who,
                  sched::running()->stack_size / 1024);
  const char* at = identity.who == sched::Identity::kNobody ? "outside of any rank" : who;
  if (const int64_t owner = is_memory_fault() ? rank_of_heap_end(g_crash.info->si_addr) : -1;
      owner >= 0)
    return report(
        "fgmpi: %s: %s, at the end of the heap of rank %u: a buffer there is too small for what is "
        "read or written%s\n",
        at, what, first_world_rank() + static_cast<uint32_t>(owner), last);
  bool in_guard = false;
  sched::proclet_of_address(g_crash.info->si_addr, &in_guard);
  if (is_memory_fault() && in_guard)
    return report(
        "fgmpi: %s: %s, at the edge of a rank's stack: a buffer there is too small for what is "
        "read "
        "or written%s\n",
        at, what, last);
  if (is_memory_fault() && sched::is_guard_of_descriptors(g_crash.info->si_addr))
    return report(
        "fgmpi: %s: %s, at the edge of memory of the library: what lies beside it is too small for "
        "what was written there%s\n",
        at, what, last);
  if (is_memory_fault() && in_this_library(machine::program_counter(*g_crash.context)))
    return report(
        "fgmpi: %s: %s, inside the library: what the program gave to the call is not there, or "
        "memory of the library has been overwritten%s\n",
        at, what, last);
  report("fgmpi: %s: %s\n", at, what);
}

bool g_cause_reported = false;

void report_cause_once() {
  report_cause();
  g_cause_reported = true;
}

/// Reports the signal alone, where the step that finds the cause has crashed.
void report_signal_only() {
  if (g_cause_reported) return;
  report(
      "fgmpi: %s: memory of the library has been overwritten (by a buffer that is too small for "
      "what it receives, or through a wild pointer), also what says which rank ran last\n",
      words_of_signal());
}

void (*g_tool_crashed)(int signal_number, const void* address) = nullptr;

void call_tool() {
  if (g_tool_crashed)
    g_tool_crashed(g_crash.signal, is_memory_fault() ? g_crash.info->si_addr : nullptr);
}

void report_interrupted_stack() { report_stack(g_crash.context); }

/// The steps of a report, in their order. A step that ends by a fault or an alarm is not resumed.
constexpr void (*kSteps[])() = {write_output_in_crash,    report_cause_once, report_signal_only,
                                report_interrupted_stack, call_tool,         leave_end_mark};
constexpr int kStackStep = 3;
volatile sig_atomic_t g_step = -1;  ///< index of the current step; -1: no crash is reported

// What follows calls the kernel: the interposed functions look up those of the C library at their
// first call, in data of the dynamic linker that may be overwritten.
void unblock(int signal_number) {
  const uint64_t unblocked = uint64_t{1} << (signal_number - 1);
  raw_call(SYS_rt_sigprocmask, SIG_UNBLOCK, reinterpret_cast<long>(&unblocked), 0,
           sizeof unblocked);
}

/// Makes the process die of the signal that is reported.
void die_of_signal(int signal_number) {
  const uint64_t default_action[4] = {};  // the kernel's struct sigaction: SIG_DFL
  raw_call(SYS_rt_sigaction, signal_number, reinterpret_cast<long>(default_action), 0,
           sizeof(uint64_t));
  unblock(signal_number);
  raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), signal_number);
}

void on_alarm(int);

/// Runs the remaining steps, and dies of the signal. Handlers that interrupt a step call this, too:
/// that step is never returned to, so leaving it needs no function of the C library.
[[noreturn]] void run_steps() {
  struct sigaction limit {};
  limit.sa_handler = on_alarm;
  limit.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGALRM, &limit, nullptr);
  unblock(SIGALRM);
  while (g_step + 1 < static_cast<int>(std::size(kSteps))) {
    g_step = g_step + 1;
    alarm(kFrameSeconds);
    kSteps[g_step]();
  }
  alarm(0);
  die_of_signal(g_crash.signal);
  end_process(128 + g_crash.signal);
}

/// Called when a step has hung.
void on_alarm(int) {
  if (!on_scheduler_thread()) {
    leave_end_mark();
    return die_of_signal(g_crash.signal);
  }
  if (g_step == kStackStep)
    report("fgmpi: the call stack is not complete: looking at it took longer than %u s\n",
           kFrameSeconds);
  run_steps();
}

void on_crash(int signal_number, siginfo_t* info, void* context) {
  if (is_of_packed_stack(signal_number, info)) return;
  if (!on_scheduler_thread()) return die_of_signal(signal_number);
  if (g_step == kStackStep) report("fgmpi: the call stack is not complete: looking at it failed\n");
  if (g_step < 0) g_crash = {signal_number, info, static_cast<ucontext_t*>(context)};
  run_steps();
}

/// The handler where crashes are not reported.
void on_fault(int signal_number, siginfo_t* info, void*) {
  if (is_of_packed_stack(signal_number, info)) return;
  // The fault happens again, or the signal is raised again, and has its usual effect.
  signal(signal_number, SIG_DFL);
  if (info->si_code <= 0) raise(signal_number);
}

bool g_reports = false;  ///< on_crash() is installed for at least one signal

/// True for code of the Fortran runtime, in any image.
bool of_fortran_runtime(void* code) {
  Images::ImageLocation where;
  if (g_images.locate(reinterpret_cast<uintptr_t>(code), &where) && where.module > 0)
    return g_images.modules()[where.module].name().starts_with("libgfortran.");
  const auto module = module_at(code);
  return module && file_name(module->path).starts_with("libgfortran.");
}

}  // namespace

void set_tool_crashed(void (*crashed)(int, const void*)) { g_tool_crashed = crashed; }

bool is_of_packed_stack(int signal_number, const siginfo_t* info) {
  return signal_number == SIGSEGV && info->si_code > 0 && sched::unpack_at_fault(info->si_addr);
}

namespace {

/// Returns whether our handler has been installed: nothing else has been before.
bool install_handler(int signal_number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction now {};
  if (sigaction(signal_number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return false;
  struct sigaction ours {};
  ours.sa_sigaction = handler;
  // SA_NODEFER: faults of a report itself reach the handler, too.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  return sigaction(signal_number, &ours, nullptr) == 0;
}

}  // namespace

void install_crash_reports() {
  if (!settings::on(settings::kCrashReport)) {
    if (install_handler(SIGSEGV, on_fault)) sched::allow_packing();
    return;
  }
  void* stack = mmap(nullptr, kHandlerStack, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stack_t old{};
  if (stack == MAP_FAILED || sigaltstack(nullptr, &old) != 0) return;
  stack_t mine{};
  mine.ss_sp = stack;
  mine.ss_size = kHandlerStack;
  if ((old.ss_flags & SS_DISABLE) && sigaltstack(&mine, nullptr) != 0) return;
  for (int s : kSignals) {
    if (!install_handler(s, on_crash)) continue;
    if (s == SIGSEGV) sched::allow_packing();
    g_reports = true;
  }
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

// The Fortran runtime installs a handler of its own in each main. That handler runs on the rank's
// stack, so it cannot run after a stack overflow, and it cannot name the rank. Calls from the
// Fortran runtime and its images are therefore ignored.
FGMPI_INTERPOSE sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (g_reports && is_crash_signal(number) && of_fortran_runtime(__builtin_return_address(0)))
    return SIG_DFL;
  return signal_of_program(number, handler, __builtin_return_address(0));
}
