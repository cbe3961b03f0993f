// State that all files of this folder read: how the program was started, and whether a rank is
// calling.
#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "proclet-sched/coroutine/visitors.h"

// The linker defines these names: this library lies between them.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[], _end[];

namespace fgmpi::privatize {

ImageMode g_mode = ImageMode::kForeign;
Main* g_main = nullptr;
Program g_program;

namespace {

/// True on the scheduler's thread. Static TLS makes a read cost one load.
[[gnu::tls_model("initial-exec")]] thread_local bool t_scheduler = false;
pid_t g_pid = 0;
bool g_forked_by_rank = false;
uint32_t g_first_world_rank = 0;

}  // namespace

bool in_this_library(uintptr_t address) {
  return address - reinterpret_cast<uintptr_t>(__ehdr_start) <
         reinterpret_cast<uintptr_t>(_end) - reinterpret_cast<uintptr_t>(__ehdr_start);
}

void become_scheduler_thread() {
  g_pid = getpid();
  t_scheduler = true;
  pthread_atfork(nullptr, nullptr, [] {
    move_rank_values_to_thread();
    g_forked_by_rank = on_proclet();
    t_scheduler = false;
  });
}

void restore_after_fork() {
  g_pid = getpid();
  t_scheduler = true;
}

bool started_through_us() { return g_mode != ImageMode::kForeign; }
bool on_proclet() { return t_scheduler && !sched::thread_on_host_stack(); }
void set_first_world_rank(uint32_t first) {
  fgmpi_debug_table.first_world_rank = g_first_world_rank = first;
}
uint32_t first_world_rank() { return g_first_world_rank; }

uint32_t world_rank(const sched::Proclet* p) {
  if (sched::is_visitor(p)) return p->slot;
  bool of_image = p->kind == sched::ProcletKind::kHelper && p->image;
  return g_first_world_rank + (of_image ? static_cast<const Image*>(p->image)->index : p->index);
}

bool on_scheduler_thread() { return t_scheduler; }
bool in_own_process() { return getpid() == g_pid; }
void set_forked_by_rank() { g_forked_by_rank = true; }
bool first_exit_of_forked_rank() { return std::exchange(g_forked_by_rank, false); }

}  // namespace fgmpi::privatize
