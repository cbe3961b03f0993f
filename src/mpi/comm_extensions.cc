// Extensions on communicators (include/fgmpi.h): groups as sets (HPDC'10 section 7).

#include "comm/create.h"
#include "fgmpi.h"
#include "mpi/comm_common.h"

using namespace fgmpi;

FGMPI_EXTENSION int MPIX_Comm_translate_ranks(MPI_Comm comm1, int n, const int ranks1[],
                                              MPI_Comm comm2, int ranks2[]) {
  constexpr const char* kCall = "MPIX_Comm_translate_ranks";
  FGMPI_ENTER(kCall, a, comm1);
  comm::Comm* b = comm::find(comm2);
  if (!b) return mpi::bad_comm(kCall, comm2);
  if (n < 0) return mpi::fail(kCall, a, error(MPI_ERR_ARG, "n is %d; allowed is 0 or more", n));
  return mpi::done(
      kCall, a,
      comm::translate(a->shared->map, {ranks1, static_cast<size_t>(n)}, b->shared->map, ranks2));
}

FGMPI_EXTENSION int MPIX_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
  constexpr const char* kCall = "MPIX_Comm_compare";
  FGMPI_ENTER(kCall, a, comm1);
  comm::Comm* b = comm::find(comm2);
  if (!b) return mpi::bad_comm(kCall, comm2);
  *result = comm::compare(a->shared->map, b->shared->map);
  return MPI_SUCCESS;
}

FGMPI_EXTENSION int MPIX_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPIX_Comm_split";
  FGMPI_ENTER(kCall, c, comm);
  if (color < 0 && color != MPI_UNDEFINED && color != MPIX_PERMUTE)
    return mpi::fail(
        kCall, c,
        error(MPI_ERR_ARG, "color is %d; allowed is 0 or more, MPI_UNDEFINED or MPIX_PERMUTE",
              color));
  comm::Comm* made = nullptr;
  Status status =
      color == MPIX_PERMUTE ? comm::permute(c, key, &made) : comm::split(c, color, key, &made);
  return mpi::give(kCall, c, status, made, newcomm);
}
