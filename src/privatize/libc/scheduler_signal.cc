// The handler of the signal that interrupts the scheduler's thread.

#include "privatize/libc/scheduler_signal.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/raw_call.h"

namespace fgmpi::privatize::scheduler_signal {
namespace {

constexpr int kSignal = 33;

/// The argument of the system call rt_sigaction, which differs from the C library's
/// `struct sigaction`.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};
KernelAction g_former{};
std::atomic<void (*)(const ucontext_t*)> g_functions[kCauses];

void on_signal(int number, siginfo_t* info, void* data) {
  if (info->si_code != SI_QUEUE && info->si_code != SI_TIMER) {
    auto chosen = reinterpret_cast<uintptr_t>(g_former.handler);
    if (chosen > 1) g_former.handler(number, info, data);
    return;
  }
  auto* function = g_functions[info->si_code == SI_TIMER ? kTimer : kSent].load();
  if (function) function(static_cast<const ucontext_t*>(data));
}

#if defined(__x86_64__)
/// A handler returns to this code. The C library usually passes such code to the kernel; this file
/// sets its handler without the C library.
asm(".pushsection .text\n"
    ".type fgmpi_end_of_handler, @function\n"
    ".hidden fgmpi_end_of_handler\n"
    "nop\n"  // a walk along the stack searches the function of the preceding address
    "fgmpi_end_of_handler:\n"
    "  mov $15, %rax\n"
    "  syscall\n"
    ".size fgmpi_end_of_handler, . - fgmpi_end_of_handler\n"
    ".popsection\n");
extern "C" [[gnu::visibility("hidden")]] void fgmpi_end_of_handler();
constexpr unsigned long kRestorerFlag = 0x04000000;
#else
constexpr void (*fgmpi_end_of_handler)() = nullptr;  // the kernel has code of its own
constexpr unsigned long kRestorerFlag = 0;
#endif

}  // namespace

void call(Cause cause, void (*function)(const ucontext_t*)) {
  g_functions[cause].store(function);
  KernelAction ours{on_signal, SA_SIGINFO | SA_NODEFER | SA_RESTART | kRestorerFlag,
                    fgmpi_end_of_handler, 0};
  KernelAction former{};
  raw_call(SYS_rt_sigaction, kSignal, reinterpret_cast<long>(&ours),
           reinterpret_cast<long>(&former), 8);
  if (former.handler != on_signal) g_former = former;
}

void send(int thread) {
  siginfo_t info{};
  info.si_signo = kSignal;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  raw_call(SYS_rt_tgsigqueueinfo, getpid(), thread, kSignal, reinterpret_cast<long>(&info));
}

sigevent notify_by(int thread) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event._sigev_un._tid = thread;
  return event;
}

}  // namespace fgmpi::privatize::scheduler_signal
