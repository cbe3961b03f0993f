// Extensions on communicators (include/fgmpi.h): groups as sets (HPDC'10 section 7).

#include "comm/create.h"
#include "comm/extras.h"
#include "fgmpi.h"
#include "mpi/comm/comm_common.h"
#include "mpi/tools/events.h"
#include "system-ranked/split.h"

using namespace fgmpi;

namespace {

/// Hints of the argument come before those of the communicator, and these before the environment.
Status system_ranked_options(comm::Comm* c, MPI_Info info, system_ranked::SplitOptions* out) {
  comm::Hints hints;
  if (c->extras) hints = c->extras->info;
  if (info != MPI_INFO_NULL) FGMPI_TRY(comm::read_hints(info, &hints));
  return system_ranked::options_from(hints, out);
}

int split_system_ranked(const char* call, comm::Comm* c, int color, MPI_Info info,
                        MPI_Comm* newcomm) {
  *newcomm = MPI_COMM_NULL;
  comm::Comm* made = nullptr;
  if (!c->extras && info == MPI_INFO_NULL) {
    Status status =
        system_ranked::split(c, color, system_ranked::options_of_environment(), call, &made);
    return mpi::give(call, c, status, made, newcomm);
  }
  system_ranked::SplitOptions options;
  Status status = system_ranked_options(c, info, &options);
  if (status.ok()) status = system_ranked::split(c, color, options, call, &made);
  return mpi::give(call, c, status, made, newcomm);
}

}  // namespace

FGMPI_EXTENSION int MPIX_Comm_translate_ranks(MPI_Comm comm1, int n, const int ranks1[],
                                              MPI_Comm comm2, int ranks2[]) {
  FGMPI_TAKE_TURN("MPIX_Comm_translate_ranks",
                  MPIX_Comm_translate_ranks(comm1, n, ranks1, comm2, ranks2));
  constexpr const char* kCall = "MPIX_Comm_translate_ranks";
  FGMPI_ENTER(kCall, a, comm1);
  comm::Comm* b = comm::find(comm2);
  if (!b) return mpi::bad_comm(kCall, comm2);
  if (n < 0) return mpi::fail(kCall, a, error(MPI_ERR_ARG, "n is %d; allowed is 0 or more", n));
  mpi::load_group_map(a);
  mpi::load_group_map(b);
  return mpi::done(
      kCall, a,
      comm::translate(a->shared->map, {ranks1, static_cast<size_t>(n)}, b->shared->map, ranks2));
}

/// Without libfgmpi-checkpoint in front.
FGMPI_EXTENSION int MPIX_Checkpoint(MPI_Comm comm, int* flag) {
  FGMPI_TAKE_TURN("MPIX_Checkpoint", MPIX_Checkpoint(comm, flag));
  constexpr const char* kCall = "MPIX_Checkpoint";
  FGMPI_ENTER(kCall, c, comm);
  if (comm != MPI_COMM_WORLD)
    return mpi::fail(kCall, c, error(MPI_ERR_COMM, "comm is %#x; allowed is MPI_COMM_WORLD", comm));
  if (!flag) return mpi::fail(kCall, c, error(MPI_ERR_ARG, "flag is a null pointer"));
  *flag = MPIX_CHECKPOINT_NONE;
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
  FGMPI_TAKE_TURN("MPIX_Comm_compare", MPIX_Comm_compare(comm1, comm2, result));
  constexpr const char* kCall = "MPIX_Comm_compare";
  FGMPI_ENTER(kCall, a, comm1);
  comm::Comm* b = comm::find(comm2);
  if (!b) return mpi::bad_comm(kCall, comm2);
  mpi::load_group_map(a);
  mpi::load_group_map(b);
  *result = comm::compare(a->shared->map, b->shared->map);
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  FGMPI_TAKE_TURN("MPIX_Comm_split", MPIX_Comm_split(comm, color, key, newcomm));
  if (newcomm) *newcomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPIX_Comm_split";
  FGMPI_ENTER(kCall, c, comm);
  if (color < 0 && color != MPI_UNDEFINED && color != MPIX_PERMUTE)
    return mpi::fail(
        kCall, c,
        error(MPI_ERR_ARG, "color is %d; allowed is 0 or more, MPI_UNDEFINED or MPIX_PERMUTE",
              color));
  if (key == MPIX_SYSTEM_RANKED && color != MPIX_PERMUTE)
    return split_system_ranked(kCall, c, color, MPI_INFO_NULL, newcomm);
  comm::Comm* made = nullptr;
  Status status =
      color == MPIX_PERMUTE ? comm::permute(c, key, &made) : comm::split(c, color, key, &made);
  return mpi::give(kCall, c, status, made, newcomm);
}

FGMPI_EXTENSION int MPIX_Comm_split_system_ranked(MPI_Comm comm, int color, MPI_Info info,
                                                  MPI_Comm* newcomm) {
  FGMPI_TAKE_TURN("MPIX_Comm_split_system_ranked",
                  MPIX_Comm_split_system_ranked(comm, color, info, newcomm));
  constexpr const char* kCall = "MPIX_Comm_split_system_ranked";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_color(color));
  return split_system_ranked(kCall, c, color, info, newcomm);
}

FGMPI_EXTENSION int MPIX_Comm_isplit_system_ranked(MPI_Comm comm, int color, MPI_Info info,
                                                   MPI_Comm* newcomm, MPI_Request* request) {
  FGMPI_TAKE_TURN("MPIX_Comm_isplit_system_ranked",
                  MPIX_Comm_isplit_system_ranked(comm, color, info, newcomm, request));
  constexpr const char* kCall = "MPIX_Comm_isplit_system_ranked";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(request, "request"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_color(color));
  *newcomm = MPI_COMM_NULL;
  system_ranked::SplitOptions options;
  FGMPI_RETURN_IF(kCall, c, system_ranked_options(c, info, &options));
  pt2pt::Request* r = nullptr;
  FGMPI_RETURN_IF(kCall, c, system_ranked::isplit(c, color, options, kCall, newcomm, &r));
  mpi::events::watch(r, mpi::events::kCommMade);
  *request = pt2pt::handle_of(r);
  return MPI_SUCCESS;
}
