// The three engines that make the system calls of a transfer.

#include "file/engine.h"

#include <unistd.h>

#include <cerrno>

#include "base/settings.h"
#include "file/transfer.h"
#include "proclet-sched/sched.h"
#include "proclet-sched/threads/blocking.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::file {
namespace {

/// More threads would only wait for each other in the kernel.
constexpr uint32_t kThreads = 4;

/// Transfers of more system calls cost less on a thread, which makes them one after the other: a
/// link of a chain in the kernel costs about 1 us more than a call, waking a thread 10 us once
/// (64-byte writes to tmpfs: 1.3 us and 0.6 us each).
constexpr size_t kMostInRing = 16;

enum class EngineSetting : uint8_t { kUring, kThreads, kDirect };
static_assert(settings::has_choices(settings::kFileEngine, "uring|threads|direct"));

/// A rank that waits for one of the threads; it lies on the rank's stack.
struct EngineWaiter {
  sched::Proclet* proclet;
  EngineWaiter* next;
};
/// The threads of the engine that transfers use now, and the ranks that wait for one.
struct EngineThreads {
  uint32_t running = 0;
  EngineWaiter *first = nullptr, **end = &first;
};
constinit EngineThreads g_threads;

/// Waits for a thread. May switch.
void reserve_thread(const char* call) {
  if (g_threads.running < kThreads) {
    ++g_threads.running;
    return;
  }
  EngineWaiter mine{sched::current(), nullptr};
  *g_threads.end = &mine;
  g_threads.end = &mine.next;
  sched::WaitSite site;
  site.call = call;
  site.deadlocks = false;
  sched::park(&site);
}

/// Hands the thread to the rank that has waited longest.
void release_thread() {
  EngineWaiter* next = g_threads.first;
  if (!next) {
    --g_threads.running;
    return;
  }
  g_threads.first = next->next;
  if (!g_threads.first) g_threads.end = &g_threads.first;
  sched::ready(next->proclet);
}

/// Returns false where nothing was done.
bool run_on_threads(Transfer* transfer, const char* call) {
  reserve_thread(call);
  const bool called = sched::call_on_other_thread(
      call, [](void* t) { perform(static_cast<Transfer*>(t), make_calls_here); }, transfer);
  release_thread();
  return called;
}

/// The best engine for a transfer of the running proclet.
EngineSetting engine_here() {
  static const auto chosen = settings::choice<EngineSetting>(settings::kFileEngine);
  if (sched::on_host_stack()) return EngineSetting::kDirect;
  const sched::ProcletKind kind = sched::current()->kind;
  if (kind == sched::ProcletKind::kForeign) return EngineSetting::kDirect;
  if (kind == sched::ProcletKind::kRank && sched::rank_count() == 1) return EngineSetting::kDirect;
  if (chosen == EngineSetting::kUring && !uring::available()) return EngineSetting::kThreads;
  return chosen;
}

}  // namespace

size_t make_calls_here(SystemCall* calls, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    SystemCall& c = calls[i];
    const int n = static_cast<int>(c.count);
    ssize_t moved;
    if (c.offset < 0)
      moved = c.write ? ::writev(c.fd, c.list, n) : ::readv(c.fd, c.list, n);
    else if (n == 1)
      moved = c.write ? ::pwrite(c.fd, c.list->iov_base, c.list->iov_len, c.offset)
                      : ::pread(c.fd, c.list->iov_base, c.list->iov_len, c.offset);
    else
      moved = c.write ? ::pwritev(c.fd, c.list, n, c.offset) : ::preadv(c.fd, c.list, n, c.offset);
    c.result = moved < 0 ? -errno : moved;
    if (c.result < c.wanted) return i + 1;
  }
  return count;
}

void run(Transfer* transfer, const char* call) {
  EngineSetting engine = engine_here();
  if (engine == EngineSetting::kUring && has_more_calls(*transfer, kMostInRing))
    engine = EngineSetting::kThreads;
  if (engine == EngineSetting::kThreads && !run_on_threads(transfer, call))
    engine = EngineSetting::kDirect;
  if (engine == EngineSetting::kUring) perform(transfer, uring::make_calls);
  if (engine == EngineSetting::kDirect) {
    // A thread of the program's own lets the other threads of its process into the library
    // meanwhile.
    const bool foreign =
        !sched::on_host_stack() && sched::current()->kind == sched::ProcletKind::kForeign;
    if (foreign) sched::release_engine();
    perform(transfer, make_calls_here);
    if (foreign) sched::reacquire_engine();
  }
}

}  // namespace fgmpi::file
