// Start and end of the ranks of a predicted process; MPI_Wtime.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>

#include "fgmpi.h"
#include "meter/meter.h"

#pragma weak fgmpi_prediction_hooks
#pragma weak MPIX_Get_collocated_size

namespace fgmpi::predict {

Next g_next;
const PredictionHooks* g_hooks = nullptr;
bool g_needs_places = false;

namespace {

int g_finalized = 0;  ///< ranks that have returned from MPI_Finalize

[[gnu::constructor]] void loaded() {
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) return;  // not an MPI program, or one that loads MPI later
  fill_next(&g_next, [](const char* name) { return dlsym(RTLD_NEXT, name); });
  findings::find_bindings();
  // A child that the program forks is no rank: its clocks are the real ones.
  pthread_atfork(nullptr, nullptr, [] { g_hooks = nullptr; });
}

/// A rank has returned from MPI_Init: from now on it has a clock.
int begun(int result) {
  if (result != MPI_SUCCESS || !fgmpi_prediction_hooks) return result;
  g_hooks = fgmpi_prediction_hooks();
  if (!g_hooks) return result;
  g_needs_places = g_hooks->needs_places();
  g_hooks->enter(CallGroup::kOther, 0);
  g_hooks->leave();
  return result;
}
int init(int* argc, char*** argv, const void*) { return begun(g_next.MPI_Init(argc, argv)); }
int init_thread(int* argc, char*** argv, int required, int* provided, const void*) {
  // The threads of a rank have no clocks of their own: one of them calls MPI.
  return begun(
      g_next.MPI_Init_thread(argc, argv, std::min(required, MPI_THREAD_FUNNELED), provided));
}

int finalize(const void*) {
  const PredictionHooks* const hooks = g_hooks;
  int ranks = 0;
  if (hooks) {
    hooks->enter(CallGroup::kCollective, 0);
    g_next.MPI_Barrier(MPI_COMM_WORLD);  // MPI_Finalize waits for all ranks
    hooks->leave();
    MPIX_Get_collocated_size(&ranks);
    if (++g_finalized >= ranks) hooks->write_outcome();  // spawned ranks may end later
  }
  return g_next.MPI_Finalize();
}

}  // namespace
}  // namespace fgmpi::predict

using namespace fgmpi::predict;

#define FGMPI_WATCHES_TOOLS true
#include "watch/world_calls.inc"

EXPORT double PMPI_Wtime() {
  const int64_t ns = g_hooks ? g_hooks->now_ns() : -1;
  static auto* const real = reinterpret_cast<double (*)()>(dlsym(RTLD_NEXT, "PMPI_Wtime"));
  return ns < 0 ? real() : 1e-9 * static_cast<double>(ns);
}
EXPORT double MPI_Wtime() { return PMPI_Wtime(); }
