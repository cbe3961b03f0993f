// Barrier and broadcast: blocking, nonblocking, persistent, each with int and with large counts
// (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Barrier);
int PMPI_Barrier(MPI_Comm comm) {
  FGMPI_ENTER("MPI_Barrier", c, comm);
  return done("MPI_Barrier", c, fgmpi::coll::barrier(c, "MPI_Barrier"));
}

FGMPI_EXPORT(MPI_Ibarrier);
int PMPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Ibarrier", comm, request, What::kBarrier, NoArguments{});
}

FGMPI_EXPORT(MPI_Barrier_init);
int PMPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Barrier_init", comm, info, request, What::kBarrier, NoArguments{});
}

FGMPI_EXPORT(MPI_Bcast);
int PMPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return broadcasting("MPI_Bcast", comm, BcastArguments{buffer, count, datatype, root});
}

FGMPI_EXPORT(MPI_Bcast_c);
int PMPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return broadcasting("MPI_Bcast_c", comm, BcastArguments{buffer, count, datatype, root});
}

FGMPI_EXPORT(MPI_Ibcast);
int PMPI_Ibcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                MPI_Request* request) {
  return nonblocking("MPI_Ibcast", comm, request, What::kBcast,
                     BcastArguments{buffer, count, datatype, root});
}

FGMPI_EXPORT(MPI_Ibcast_c);
int PMPI_Ibcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Request* request) {
  return nonblocking("MPI_Ibcast_c", comm, request, What::kBcast,
                     BcastArguments{buffer, count, datatype, root});
}

FGMPI_EXPORT(MPI_Bcast_init);
int PMPI_Bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Bcast_init", comm, info, request, What::kBcast,
                    BcastArguments{buffer, count, datatype, root});
}

FGMPI_EXPORT(MPI_Bcast_init_c);
int PMPI_Bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Bcast_init_c", comm, info, request, What::kBcast,
                    BcastArguments{buffer, count, datatype, root});
}
