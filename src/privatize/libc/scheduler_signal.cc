// The handler of the signal that interrupts the scheduler's thread.

#include "privatize/libc/scheduler_signal.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/processor/machine_code.h"

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
  const Cause cause = info->si_code == SI_TIMER                   ? kTimer
                      : info->si_value.sival_int == kOtherProcess ? kOtherProcess
                                                                  : kSent;
  auto* function = g_functions[cause].load();
  if (function) function(static_cast<const ucontext_t*>(data));
}

}  // namespace

void call(Cause cause, void (*function)(const ucontext_t*)) {
  g_functions[cause].store(function);
  KernelAction ours{on_signal, SA_SIGINFO | SA_NODEFER | SA_RESTART | machine::kEndOfHandlerFlag,
                    machine::kEndOfHandler, 0};
  KernelAction former{};
  raw_call(SYS_rt_sigaction, kSignal, reinterpret_cast<long>(&ours),
           reinterpret_cast<long>(&former), 8);
  if (former.handler != on_signal) g_former = former;
}

namespace {

void send_to(int process, int thread, Cause cause) {
  siginfo_t info{};
  info.si_signo = kSignal;
  info.si_code = SI_QUEUE;
  info.si_pid = static_cast<int>(raw_call(SYS_getpid));
  info.si_value.sival_int = cause;
  raw_call(SYS_rt_tgsigqueueinfo, process, thread, kSignal, reinterpret_cast<long>(&info));
}

}  // namespace

void begin_threads() {
  static auto* create =
      next_symbol<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
          "pthread_create");
  static auto* join = next_symbol<int(pthread_t, void**)>("pthread_join");
  pthread_t thread;
  if (create(
          &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) == 0)
    join(thread, nullptr);
}

void send(int thread) { send_to(static_cast<int>(raw_call(SYS_getpid)), thread, kSent); }
void send_to_process(int process) { send_to(process, process, kOtherProcess); }

sigevent notify_by(int thread) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event._sigev_un._tid = thread;
  return event;
}

}  // namespace fgmpi::privatize::scheduler_signal
