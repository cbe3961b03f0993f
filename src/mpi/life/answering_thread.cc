// The start, the loop and the end of the thread that answers one-sided operations.

#include "mpi/life/answering_thread.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/raw_call.h"
#include "base/settings.h"
#include "ch4-av-rankmap/av.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::mpi {
namespace {

/// FGMPI_RMA_PROGRESS, in the order of the table of settings.
enum class ProgressSetting : uint8_t { kCalls, kThread };
static_assert(settings::has_choices(settings::kRmaProgress, "calls|thread"));

struct Answering {
  pthread_t handle{};
  bool started = false;
  bool stopping = false;              ///< changed inside
  sched::Proclet* proclet = nullptr;  ///< the thread's, while it waits; changed inside
  std::atomic<bool> gone{false};
};
constinit Answering g;

void* answer(void*) {
  {
    // The thread may get here after the end of the rank that started it.
    sched::EngineEntry inside(sched::ThreadLife::kOfProcess);
    const sched::WaitSite site{"the thread of FGMPI_RMA_PROGRESS", nullptr, true};
    while (inside && !g.stopping) {
      g.proclet = sched::current();
      sched::park(&site);
    }
    g.proclet = nullptr;
  }
  g.gone.store(true, std::memory_order_release);  // pairs with stop_answering_thread()
  return nullptr;
}

}  // namespace

bool is_answering_thread_needed() {
  return g_av.processes() > 1 &&
         settings::choice<ProgressSetting>(settings::kRmaProgress) == ProgressSetting::kThread;
}

void start_answering_thread() {
  if (g.started) return;
  const int code = pthread_create(&g.handle, nullptr, answer, nullptr);
  g.started = code == 0;
  if (g.started) return;
  std::fprintf(stderr, "fgmpi: FGMPI_RMA_PROGRESS: the thread cannot be started: %s\n",
               std::strerror(code));
}

void stop_answering_thread() {
  if (!g.started) return;
  g.started = false;
  g.stopping = true;
  if (g.proclet && g.proclet->state == sched::ProcletState::kParked) sched::ready(g.proclet);
  while (!g.gone.load(std::memory_order_acquire)) {
    sched::release_engine();
    raw_call(SYS_sched_yield);
    sched::reacquire_engine();
  }
  sched::wait_for_end_of(g.handle);
  pthread_detach(g.handle);
}

}  // namespace fgmpi::mpi
