// The wrappers of the calls that begin and end tracking.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "track/extensions.h"
#include "track/wrappers.h"

namespace fgmpi::track {
namespace {

/// Ends a program that calls MPI but loads its MPI library later (dlopen), because there is no
/// function to call.
void need_mpi(const char* call) {
  if (g_next.MPI_Init) return;
  std::fprintf(stderr,
               "fgmpi-track: %s: the program loads its MPI library by dlopen; preload that library "
               "behind libfgmpi-track.so (LD_PRELOAD), or run without the tracker\n",
               call);
  std::abort();
}

/// Records a call that began before its rank was known.
void record_first(Calls id, uint64_t begin, int result, bool session) {
  if (result != MPI_SUCCESS) return;
  rank_starts(session);
  TrackedRank* rank = current_rank();
  if (!rank || !rank->recording || !g_process.wanted[id]) return;
  RankLock lock(rank);
  CallEvent* e = rank->next_event_slot();
  if (e)
    *e = {begin,
          ticks(),
          static_cast<uint16_t>(id),
          static_cast<uint8_t>(EventKind::kCall),
          0,
          kNoComm,
          0,
          0,
          0,
          0};
}

int init(int* argc, char*** argv, const void*) {
  need_mpi("MPI_Init");
  const uint64_t begin = ticks();
  const int result = g_next.MPI_Init(argc, argv);
  record_first(kCall_MPI_Init, begin, result, false);
  return result;
}

int init_thread(int* argc, char*** argv, int required, int* provided, const void*) {
  need_mpi("MPI_Init_thread");
  const uint64_t begin = ticks();
  const int result = g_next.MPI_Init_thread(argc, argv, required, provided);
  record_first(kCall_MPI_Init_thread, begin, result, false);
  return result;
}

int session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  need_mpi("MPI_Session_init");
  const uint64_t begin = ticks();
  const int result = g_next.MPI_Session_init(info, errhandler, session);
  record_first(kCall_MPI_Session_init, begin, result, true);
  return result;
}

int finalize(const void* place) {
  TrackedCall call(kCall_MPI_Finalize, place);
  if (TrackedRank* rank = call.rank()) rank->finalize = &call;
  return g_next.MPI_Finalize();  // MPI_Finalize calls world_ends()
}

int session_finalize(const void* place, MPI_Session* session) {
  TrackedRank* rank = current_rank();
  const bool last = rank && --rank->sessions == 0 && !rank->initialised;
  if (last) rank_ends(rank);
  int result;
  {
    TrackedCall call(kCall_MPI_Session_finalize, place);
    result = g_next.MPI_Session_finalize(session);
    call.leave();
  }
  if (last) rank_has_ended(rank, true);
  return result;
}

int end_job(const void* place, MPI_Comm comm, int code) {
  TrackedCall call(kCall_MPI_Abort, place);
  call.advance();
  if (call.rank()) record_ticks(&g_process.spool.header());
  return g_next.MPI_Abort(comm, code);
}

/// The wrapper of MPIX_Comm_split of our library, which has no profiling name.
int extended_split(const void* place, MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  static const auto next =
      reinterpret_cast<decltype(&MPIX_Comm_split)>(dlsym(RTLD_NEXT, "MPIX_Comm_split"));
  if (!next) return MPI_ERR_UNSUPPORTED_OPERATION;
  TrackedCall call(kCall_MPI_Comm_split, place);
  const int result = next(comm, color, key, newcomm);
  call.leave();
  if (result == MPI_SUCCESS) call.created(comm, *newcomm);
  return result;
}

}  // namespace
}  // namespace fgmpi::track

using namespace fgmpi::track;

#include "watch/world_calls.inc"

EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  return session_init(info, errhandler, session);
}
EXPORT int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  return from_fortran(FROM) ? session_init(info, errhandler, session)
                            : g_next.MPI_Session_init(info, errhandler, session);
}
EXPORT int MPIX_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return extended_split(FROM, comm, color, key, newcomm);
}
EXPORT int MPI_Session_finalize(MPI_Session* session) { return session_finalize(FROM, session); }
EXPORT int PMPI_Session_finalize(MPI_Session* session) {
  return from_fortran(FROM) ? session_finalize(FROM, session)
                            : g_next.MPI_Session_finalize(session);
}
EXPORT int MPI_Abort(MPI_Comm comm, int code) { return end_job(FROM, comm, code); }
EXPORT int PMPI_Abort(MPI_Comm comm, int code) {
  return from_fortran(FROM) ? end_job(FROM, comm, code) : g_next.MPI_Abort(comm, code);
}
