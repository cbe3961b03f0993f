// Start and end of ranks, and of the layer in a process.
#include <dlfcn.h>

#include <utility>

#include "base/environment.h"
#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/here.h"
#include "checkpoint/moves.h"
#include "checkpoint/save.h"
#include "checkpoint/stop.h"
#include "checkpoint/wrappers.h"
#include "fgmpi.h"
#include "watch/places.h"

#pragma weak MPIX_Comm_keys_unique

namespace fgmpi::checkpoint {

Next g_next;
Extensions g_extensions;

namespace {

InternalFunctions g_internal;

template <class Function>
void find(Function** function, const char* name) {
  *function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void find_internal() {
  find(&g_internal.keyval_set_proxy, "MPII_Keyval_set_proxy");
  find(&g_internal.errhandler_set_cxx, "MPII_Errhandler_set_cxx");
  find(&g_internal.grequest_set_lang_f77, "MPII_Grequest_set_lang_f77");
  find(&g_internal.comm_get_attr, "MPII_Comm_get_attr");
  find(&g_internal.comm_set_attr, "MPII_Comm_set_attr");
  find(&g_internal.type_get_attr, "MPII_Type_get_attr");
  find(&g_internal.type_set_attr, "MPII_Type_set_attr");
  find(&g_internal.win_get_attr, "MPII_Win_get_attr");
  find(&g_internal.win_set_attr, "MPII_Win_set_attr");
  g_internal.unweighted_at = static_cast<int**>(dlsym(RTLD_NEXT, "MPI_UNWEIGHTED"));
}

[[gnu::constructor]] void loaded() {
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) return;  // not an MPI program, or one that loads MPI later
  fill_next(&g_next, [](const char* name) { return dlsym(RTLD_NEXT, name); });
  fill_extensions(&g_extensions, [](const char* name) { return dlsym(RTLD_NEXT, name); });
  find_internal();
  g_mpi = g_home = g_next;
  g_mpi_extensions = g_extensions;
  g_await = MPIX_Tool_await;
  findings::find_bindings();
  follow_stops();
  read_mode(environment::text(environment::kCheckpoint));
  let_ranks_move();
}

void rank_begins(int thread_level) {
  LayerRank* rank = current_rank();
  if (!rank) return;
  rank->thread_level = thread_level;
  if (MPIX_Comm_keys_unique) MPIX_Comm_keys_unique(1);
  int size = 1;
  g_next.MPI_Comm_rank(MPI_COMM_WORLD, &rank->world_rank);
  g_next.MPI_Comm_size(MPI_COMM_WORLD, &size);
  rank->world_weight = weight_of(rank->world_rank == 0, size);
  rank->initialised = true;
  rank->has_deputy = g_deputies && !g_moves;
  if (rank->world_rank == 0) begin_to_listen();
  add_rank(*rank);
  note_home(*rank);
  start_asking(*rank);
}

int init(int* argc, char*** argv) {
  const int code = g_next.MPI_Init(argc, argv);
  if (code == MPI_SUCCESS) rank_begins(MPI_THREAD_SINGLE);
  return code;
}

/// A rank gets at most MPI_THREAD_SERIALIZED: its tables are not locked.
int init_thread(int* argc, char*** argv, int required, int* provided) {
  if (required > MPI_THREAD_SERIALIZED) required = MPI_THREAD_SERIALIZED;
  const int code = g_next.MPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) rank_begins(required);
  return code;
}

/// The handles of MPI_T belong to the process, and keep the rank at home.
int init_tool_interface(int required, int* provided) {
  LayerRank* rank = current_rank();
  if (rank && rank->initialised) move_home(*rank);
  return g_next.MPI_T_init_thread(required, provided);
}

int finalize() {
  LayerRank* rank = current_rank();
  if (rank && rank->initialised) {
    stop_point(*rank, "MPI_Finalize");
    forget_requests_here(*rank);
    move_home(*rank);
    remove_rank(*rank);
    report_remade(*rank);
    free_requests_left(*rank);
    drop_objects_here(*rank);
    free_own_comms(*rank);
    finish_saving();
  }
  return g_next.MPI_Finalize();
}

}  // namespace

const InternalFunctions& next_internal() { return g_internal; }
InternalFunctions* internal_functions() { return &g_internal; }

void make_own_comms(LayerRank& rank) {
  // The program's attributes are not copied.
  const bool quiet = std::exchange(rank.quiet, true);
  g_next.MPI_Comm_dup(MPI_COMM_WORLD, &rank.layer);
  g_next.MPI_Comm_dup(MPI_COMM_SELF, &rank.self);
  rank.quiet = quiet;
  g_next.MPI_Comm_set_errhandler(rank.layer, MPI_ERRORS_RETURN);
  g_next.MPI_Comm_set_errhandler(rank.self, MPI_ERRORS_RETURN);
}

void begin_again(LayerRank& rank) {
  int provided = 0;
  rank.place = LayerRank::Place::kRuns;
  rank.wait = nullptr;
  rank.released = false;

  ++rank.restarts;
  rank.begins_again = true;
  g_next.MPI_Init_thread(nullptr, nullptr, rank.thread_level, &provided);
  rank_begins(rank.thread_level);
  rank.layer = rank.self = MPI_COMM_NULL;
}

void free_own_comms(LayerRank& rank) {
  if (rank.layer == MPI_COMM_NULL) return;
  g_next.MPI_Comm_free(&rank.layer);
  g_next.MPI_Comm_free(&rank.self);
}

}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

EXPORT int MPI_Init(int* argc, char*** argv) { return init(argc, argv); }
EXPORT int PMPI_Init(int* argc, char*** argv) { return init(argc, argv); }
EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init_thread(argc, argv, required, provided);
}
EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init_thread(argc, argv, required, provided);
}
EXPORT int MPI_Finalize() { return finalize(); }
EXPORT int PMPI_Finalize() { return finalize(); }
FGMPI_BOTH(MPI_T_init_thread, (int required, int* provided),
           init_tool_interface(required, provided))
