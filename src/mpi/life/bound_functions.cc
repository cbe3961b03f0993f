// FGmpiexec: each rank runs a function of the program in place of main.

#include "mpi/life/bound_functions.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "fgmpi.h"
#include "mpi/binding.h"
#include "mpi/life/runtime.h"
#include "privatize/privatize.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::mpi {
namespace {

/// What the main of this process has passed to FGmpiexec. Ranks that share globals share one
/// object, on the host's side.
struct BoundFunctions {
  FG_MapPtr_t map = nullptr;
  int argc = 0;
  char** argv = nullptr;                        ///< a copy, with the null pointer at its end
  std::vector<std::unique_ptr<char[]>> copies;  ///< of argument vectors
  std::vector<sched::Proclet*> waiting;         ///< ranks that wait for main to call FGmpiexec
  sched::Proclet* main = nullptr;               ///< waits for the other ranks' functions to return
  uint32_t running = 0;  ///< ranks whose functions have not returned, but for main's
  bool main_ended = false;
};
BoundFunctions g_bound;

/// Parks the running proclet, which has stored itself where the proclet that wakes it will find it.
void wait(const char* what) {
  std::optional<sched::EngineEntry> inside;
  if (sched::outside()) inside.emplace();
  sched::WaitSite site;
  site.call = what;
  sched::park(&site);
}

/// A copy of an argument vector, which functions may change: one block, strings behind pointers.
/// Never freed: a program may keep pointers to its arguments until it ends.
char** copy_of(int argc, char** argv) {
  const size_t words = static_cast<size_t>(argc) + 1;
  size_t bytes = words * sizeof(char*);
  for (int i = 0; i < argc; ++i) bytes += std::strlen(argv[i]) + 1;
  g_bound.copies.push_back(std::make_unique<char[]>(bytes));
  auto** copy = reinterpret_cast<char**>(g_bound.copies.back().get());
  char* to = reinterpret_cast<char*>(copy + words);
  for (int i = 0; i < argc; ++i) {
    copy[i] = to;
    to = stpcpy(to, argv[i]) + 1;
  }
  copy[argc] = nullptr;
  return copy;
}

void call_function_of_rank(FG_MapPtr_t map, int argc, char** argv, uint32_t rank) {
  char** own = copy_of(argc, argv);
  FG_ProcessPtr_t function = map(argc, own, static_cast<int>(rank));
  if (!function) {
    std::fprintf(
        stderr,
        "fgmpi: FGmpiexec: the map has no function for rank %u (null pointer); allowed is a "
        "function for every rank\n",
        rank);
    std::exit(1);
  }
  // The function's result is ignored, as in FG-MPI: functions of its programs often end without a
  // return statement.
  function(argc, own);
}

uint32_t world_rank() { return g_av.global_of_local(sched::current()->index); }

/// Lets the other ranks of the process run their functions.
void release_ranks() {
  const std::vector<sched::Proclet*> ranks = std::move(g_bound.waiting);
  g_bound.waiting.clear();
  for (sched::Proclet* p : ranks) sched::ready(p);
}

}  // namespace

void run_bound_function() {
  if (!g_bound.map && !g_bound.main_ended) {
    g_bound.waiting.push_back(sched::current());
    wait("main, before it calls FGmpiexec");
  }
  if (!g_bound.map) return;
  call_function_of_rank(g_bound.map, g_bound.argc, g_bound.argv, world_rank());
}

void record_bound_function_end(uint32_t local_index) {
  if (local_index == 0) {
    g_bound.main_ended = true;
    release_ranks();
  } else if (g_bound.map && --g_bound.running == 0 && g_bound.main) {
    sched::ready(std::exchange(g_bound.main, nullptr));
  }
}

}  // namespace fgmpi::mpi

using namespace fgmpi;
using namespace fgmpi::mpi;

FGMPI_EXTENSION int FGmpiexec(int* argc, char*** argv, LookupMapPtr_t lookup) {
  constexpr const char* kCall = "FGmpiexec";
  if (!argc || !argv || !lookup)
    return fail(kCall, nullptr,
                error(MPI_ERR_ARG, "%s is a null pointer",
                      !argc   ? "argc"
                      : !argv ? "argv"
                              : "the function that looks up the map"));
  const sched::Proclet* p = sched::current();
  if (!p || p->mpi_phase != kBefore || g_bound.map)
    return fail(
        kCall, nullptr,
        error(
            MPI_ERR_OTHER,
            "called after MPI_Init or for the second time; allowed is one call, before MPI_Init"));
  FGMPI_RETURN_IF(kCall, nullptr, connect_from_rank());  // the map is asked for world ranks
  FG_MapPtr_t map =
      lookup(*argc, *argv, const_cast<char*>(environment::text(environment::kBindingMap)));
  if (!map)
    return fail(kCall, nullptr,
                error(MPI_ERR_ARG, "the function that looks up the map returned a null pointer"));
  map(*argc, *argv, MAP_INIT_ACTION);
  const bool one_main = !privatize::ranks_have_globals();
  if (one_main) {
    g_bound.argc = *argc;
    g_bound.argv = copy_of(*argc, *argv);
    g_bound.running = sched::rank_count() - 1;
    g_bound.map = map;
    release_ranks();
  }
  call_function_of_rank(map, *argc, *argv, world_rank());
  if (one_main && g_bound.running > 0) {
    g_bound.main = sched::current();
    wait("the other ranks' functions in FGmpiexec");
  }
  map(*argc, *argv, MAP_FINALIZE_ACTION);
  return MPI_SUCCESS;
}
