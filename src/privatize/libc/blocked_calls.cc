// Interposed calls that wait in the kernel, so that a rank in one of them can be ended.

#include "privatize/libc/blocked_calls.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/libc/scheduler_signal.h"
#include "privatize/libc/waits.h"

namespace fgmpi::privatize {
namespace {

std::atomic<sched::Proclet*> g_in_kernel{nullptr};  ///< written on the scheduler's thread
std::atomic<sched::Proclet*> g_ending{nullptr};     ///< a rank whose exit was called in a thread
std::atomic<int> g_scheduler_thread{0};             ///< its number in the kernel; 0: not asked yet

/// Parks the running rank for ever, on its own stack, if it is in a marked call and one of its
/// threads has called exit(). Runs in the handler of the signal.
void end_if_in_kernel(const ucontext_t* context) {
  sched::Proclet* rank = g_in_kernel.load(std::memory_order_relaxed);
  if (!rank || rank != g_ending.load(std::memory_order_relaxed) || !on_proclet() ||
      rank != sched::running())
    return;
  g_in_kernel.store(nullptr, std::memory_order_relaxed);
  // The end of the handler, which never comes, would restore this mask: sigsuspend() and others
  // have set one of their own.
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&context->uc_sigmask), 0, 8);
  sched::SwitchingCall inside;
  for (;;) sched::sleep_for(3600 * kSecond);
}

}  // namespace

InKernel::InKernel(const void* caller) {
  if (!on_proclet_among_others() || in_this_library(reinterpret_cast<uintptr_t>(caller))) return;
  sched::Proclet* p = sched::running();
  if (p->kind != sched::ProcletKind::kRank) return;
  if (g_scheduler_thread.load(std::memory_order_relaxed) == 0)
    g_scheduler_thread.store(static_cast<int>(raw_call(SYS_gettid)), std::memory_order_relaxed);
  before_ = g_in_kernel.exchange(p);
  marked_ = true;
}

InKernel::~InKernel() {
  if (marked_) g_in_kernel.store(before_, std::memory_order_relaxed);
}

void interrupt(sched::Proclet* rank) {
  if (g_in_kernel.load() != rank) return;
  g_ending.store(rank);
  scheduler_signal::call(scheduler_signal::kSent, end_if_in_kernel);
  scheduler_signal::send(g_scheduler_thread);
}

}  // namespace fgmpi::privatize
