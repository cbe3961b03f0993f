#include "privatize/blocked_calls.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/scheduler_signal.h"
#include "privatize/waits.h"

// Where this library lies.
extern "C" {
[[gnu::visibility("hidden")]] extern const char __ehdr_start;
[[gnu::visibility("hidden")]] extern const char _end;
}

namespace fgmpi::privatize {
namespace {

std::atomic<sched::Proclet*> g_in_kernel{nullptr};  ///< written on the scheduler's thread
std::atomic<sched::Proclet*> g_ending{nullptr};     ///< a rank whose exit was called in a thread
std::atomic<int> g_scheduler_thread{0};             ///< the kernel's number of it

bool in_this_library(const void* address) {
  auto a = reinterpret_cast<uintptr_t>(address);
  return a >= reinterpret_cast<uintptr_t>(&__ehdr_start) && a < reinterpret_cast<uintptr_t>(&_end);
}

/// On the stack of the rank, which does not come back.
void end_if_in_kernel(const ucontext_t* context) {
  sched::Proclet* rank = g_in_kernel.load(std::memory_order_relaxed);
  if (!rank || rank != g_ending.load(std::memory_order_relaxed) || !on_proclet() ||
      rank != sched::running())
    return;
  g_in_kernel.store(nullptr, std::memory_order_relaxed);
  // The mask that the end of the handler would bring back: sigsuspend() and others have set one of their own.
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&context->uc_sigmask), 0, 8);
  sched::SwitchingCall inside;
  for (;;) sched::sleep_for(3600 * kSecond);
}

}  // namespace

InKernel::InKernel(const void* caller) {
  if (!on_proclet_among_others() || in_this_library(caller)) return;
  sched::Proclet* p = sched::running();
  if (p->kind != sched::Kind::kRank) return;
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

using namespace fgmpi::privatize;

namespace {
/// The call of the C library, during which the rank may be ended.
template <class R, class... Parameters, class... Arguments>
R call(Real<R(Parameters...)>& function, const void* caller, Arguments... arguments) {
  InKernel marked(caller);
  return function(arguments...);
}
}  // namespace

#define FGMPI_CALLER __builtin_return_address(0)
#define FGMPI_BLOCKED(result, name, parameters, types, ...)     \
  FGMPI_INTERPOSE result name parameters {                      \
    static constinit Real<result types> real(#name);            \
    return call(real, FGMPI_CALLER __VA_OPT__(, ) __VA_ARGS__); \
  }

FGMPI_BLOCKED(int, pause, (void), ())
FGMPI_BLOCKED(int, sigsuspend, (const sigset_t* set), (const sigset_t*), set)
FGMPI_BLOCKED(int, sigwait, (const sigset_t* set, int* number), (const sigset_t*, int*), set,
              number)
FGMPI_BLOCKED(int, sigwaitinfo, (const sigset_t* set, siginfo_t* info),
              (const sigset_t*, siginfo_t*), set, info)
FGMPI_BLOCKED(int, sigtimedwait, (const sigset_t* set, siginfo_t* info, const timespec* time),
              (const sigset_t*, siginfo_t*, const timespec*), set, info, time)
FGMPI_BLOCKED(ssize_t, read, (int fd, void* to, size_t size), (int, void*, size_t), fd, to, size)
FGMPI_BLOCKED(ssize_t, __read_chk, (int fd, void* to, size_t size, size_t room),
              (int, void*, size_t, size_t), fd, to, size, room)
FGMPI_BLOCKED(ssize_t, readv, (int fd, const iovec* to, int count), (int, const iovec*, int), fd,
              to, count)
FGMPI_BLOCKED(ssize_t, recv, (int fd, void* to, size_t size, int flags), (int, void*, size_t, int),
              fd, to, size, flags)
FGMPI_BLOCKED(ssize_t, recvfrom,
              (int fd, void* to, size_t size, int flags, sockaddr* from, socklen_t* length),
              (int, void*, size_t, int, sockaddr*, socklen_t*), fd, to, size, flags, from, length)
FGMPI_BLOCKED(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (int, msghdr*, int), fd,
              message, flags)
FGMPI_BLOCKED(int, accept, (int fd, sockaddr* from, socklen_t* length),
              (int, sockaddr*, socklen_t*), fd, from, length)
FGMPI_BLOCKED(int, accept4, (int fd, sockaddr* from, socklen_t* length, int flags),
              (int, sockaddr*, socklen_t*, int), fd, from, length, flags)
FGMPI_BLOCKED(int, epoll_wait, (int fd, epoll_event* events, int count, int timeout),
              (int, epoll_event*, int, int), fd, events, count, timeout)
FGMPI_BLOCKED(int, epoll_pwait,
              (int fd, epoll_event* events, int count, int timeout, const sigset_t* set),
              (int, epoll_event*, int, int, const sigset_t*), fd, events, count, timeout, set)
FGMPI_BLOCKED(pid_t, wait, (int* status), (int*), status)
FGMPI_BLOCKED(pid_t, waitpid, (pid_t child, int* status, int options), (pid_t, int*, int), child,
              status, options)
FGMPI_BLOCKED(int, waitid, (idtype_t type, id_t id, siginfo_t* info, int options),
              (idtype_t, id_t, siginfo_t*, int), type, id, info, options)
