// Reduce-scatter, general and in equal blocks: blocking, nonblocking, persistent, each with int and
// with large counts (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Reduce_scatter);
int PMPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return blocking("MPI_Reduce_scatter", comm, What::kReduceScatter,
                  ReduceArguments{sendbuf, recvbuf, Counts(recvcounts), datatype, op});
}

FGMPI_EXPORT(MPI_Reduce_scatter_c);
int PMPI_Reduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return blocking("MPI_Reduce_scatter_c", comm, What::kReduceScatter,
                  ReduceArguments{sendbuf, recvbuf, Counts(recvcounts), datatype, op});
}

FGMPI_EXPORT(MPI_Ireduce_scatter);
int PMPI_Ireduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Ireduce_scatter", comm, request, What::kReduceScatter,
                     ReduceArguments{sendbuf, recvbuf, Counts(recvcounts), datatype, op});
}

FGMPI_EXPORT(MPI_Ireduce_scatter_c);
int PMPI_Ireduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                           MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Ireduce_scatter_c", comm, request, What::kReduceScatter,
                     ReduceArguments{sendbuf, recvbuf, Counts(recvcounts), datatype, op});
}

FGMPI_EXPORT(MPI_Reduce_scatter_init);
int PMPI_Reduce_scatter_init(const void* sendbuf, void* recvbuf, const int recvcounts[],
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                             MPI_Request* request) {
  return persistent("MPI_Reduce_scatter_init", comm, info, request, What::kReduceScatter,
                    ReduceArguments{sendbuf, recvbuf, Counts(recvcounts), datatype, op});
}

FGMPI_EXPORT(MPI_Reduce_scatter_init_c);
int PMPI_Reduce_scatter_init_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                               MPI_Request* request) {
  return persistent("MPI_Reduce_scatter_init_c", comm, info, request, What::kReduceScatter,
                    ReduceArguments{sendbuf, recvbuf, Counts(recvcounts), datatype, op});
}

FGMPI_EXPORT(MPI_Reduce_scatter_block);
int PMPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return blocking("MPI_Reduce_scatter_block", comm, What::kReduceScatterBlock,
                  ReduceArguments{sendbuf, recvbuf, recvcount, datatype, op});
}

FGMPI_EXPORT(MPI_Reduce_scatter_block_c);
int PMPI_Reduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return blocking("MPI_Reduce_scatter_block_c", comm, What::kReduceScatterBlock,
                  ReduceArguments{sendbuf, recvbuf, recvcount, datatype, op});
}

FGMPI_EXPORT(MPI_Ireduce_scatter_block);
int PMPI_Ireduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                               MPI_Request* request) {
  return nonblocking("MPI_Ireduce_scatter_block", comm, request, What::kReduceScatterBlock,
                     ReduceArguments{sendbuf, recvbuf, recvcount, datatype, op});
}

FGMPI_EXPORT(MPI_Ireduce_scatter_block_c);
int PMPI_Ireduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 MPI_Request* request) {
  return nonblocking("MPI_Ireduce_scatter_block_c", comm, request, What::kReduceScatterBlock,
                     ReduceArguments{sendbuf, recvbuf, recvcount, datatype, op});
}

FGMPI_EXPORT(MPI_Reduce_scatter_block_init);
int PMPI_Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int recvcount,
                                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                   MPI_Request* request) {
  return persistent("MPI_Reduce_scatter_block_init", comm, info, request, What::kReduceScatterBlock,
                    ReduceArguments{sendbuf, recvbuf, recvcount, datatype, op});
}

FGMPI_EXPORT(MPI_Reduce_scatter_block_init_c);
int PMPI_Reduce_scatter_block_init_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                     MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                     MPI_Request* request) {
  return persistent("MPI_Reduce_scatter_block_init_c", comm, info, request,
                    What::kReduceScatterBlock,
                    ReduceArguments{sendbuf, recvbuf, recvcount, datatype, op});
}
