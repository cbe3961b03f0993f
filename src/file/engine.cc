#include "file/engine.h"

#include "proclet-sched/blocking.h"
#include "proclet-sched/sched.h"

namespace fgmpi::file {
namespace {

constexpr uint32_t kThreads = 4;

/// A rank that waits for one of the threads: on its stack.
struct Waiting {
  sched::Proclet* proclet;
  Waiting* next;
};
uint32_t g_running = 0;
Waiting *g_first = nullptr, **g_end = &g_first;

/// May switch.
void take_thread(const char* call) {
  if (g_running < kThreads) {
    ++g_running;
    return;
  }
  Waiting mine{sched::current(), nullptr};
  *g_end = &mine;
  g_end = &mine.next;
  sched::WaitSite site;
  site.call = call;
  site.deadlocks = false;
  sched::park(&site);
}

/// The one that waits longest takes it over.
void give_thread() {
  Waiting* next = g_first;
  if (!next) {
    --g_running;
    return;
  }
  g_first = next->next;
  if (!g_first) g_end = &g_first;
  sched::ready(next->proclet);
}

}  // namespace

bool run_on_threads(Transfer* transfer, const char* call) {
  // A thread of the program's own waits for itself alone.
  if (sched::current()->kind == sched::Kind::kForeign) return false;
  take_thread(call);
  const bool called = sched::call_on_other_thread(
      call, [](void* t) { perform(static_cast<Transfer*>(t)); }, transfer);
  give_thread();
  return called;
}

}  // namespace fgmpi::file
