// Reduce and allreduce: blocking, nonblocking, persistent, each with int and with large counts
// (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Reduce);
int PMPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                int root, MPI_Comm comm) {
  return reducing("MPI_Reduce", comm, What::kReduce,
                  ReduceArguments{sendbuf, recvbuf, count, datatype, op, root});
}

FGMPI_EXPORT(MPI_Reduce_c);
int PMPI_Reduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm) {
  return reducing("MPI_Reduce_c", comm, What::kReduce,
                  ReduceArguments{sendbuf, recvbuf, count, datatype, op, root});
}

FGMPI_EXPORT(MPI_Ireduce);
int PMPI_Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                 int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Ireduce", comm, request, What::kReduce,
                     ReduceArguments{sendbuf, recvbuf, count, datatype, op, root});
}

FGMPI_EXPORT(MPI_Ireduce_c);
int PMPI_Ireduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                   MPI_Op op, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Ireduce_c", comm, request, What::kReduce,
                     ReduceArguments{sendbuf, recvbuf, count, datatype, op, root});
}

FGMPI_EXPORT(MPI_Reduce_init);
int PMPI_Reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                     MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Reduce_init", comm, info, request, What::kReduce,
                    ReduceArguments{sendbuf, recvbuf, count, datatype, op, root});
}

FGMPI_EXPORT(MPI_Reduce_init_c);
int PMPI_Reduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                       MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Reduce_init_c", comm, info, request, What::kReduce,
                    ReduceArguments{sendbuf, recvbuf, count, datatype, op, root});
}

FGMPI_EXPORT(MPI_Allreduce);
int PMPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm) {
  return reducing("MPI_Allreduce", comm, What::kAllreduce,
                  ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Allreduce_c);
int PMPI_Allreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Op op, MPI_Comm comm) {
  return reducing("MPI_Allreduce_c", comm, What::kAllreduce,
                  ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Iallreduce);
int PMPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Iallreduce", comm, request, What::kAllreduce,
                     ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Iallreduce_c);
int PMPI_Iallreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                      MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Iallreduce_c", comm, request, What::kAllreduce,
                     ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Allreduce_init);
int PMPI_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Allreduce_init", comm, info, request, What::kAllreduce,
                    ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Allreduce_init_c);
int PMPI_Allreduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                          MPI_Request* request) {
  return persistent("MPI_Allreduce_init_c", comm, info, request, What::kAllreduce,
                    ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}
