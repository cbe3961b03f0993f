// Prefix reductions: blocking, nonblocking, persistent, each with int and with large counts
// (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Scan);
int PMPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
              MPI_Comm comm) {
  return blocking("MPI_Scan", comm, What::kScan,
                  ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Scan_c);
int PMPI_Scan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                MPI_Op op, MPI_Comm comm) {
  return blocking("MPI_Scan_c", comm, What::kScan,
                  ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Iscan);
int PMPI_Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
               MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Iscan", comm, request, What::kScan,
                     ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Iscan_c);
int PMPI_Iscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                 MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Iscan_c", comm, request, What::kScan,
                     ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Scan_init);
int PMPI_Scan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Scan_init", comm, info, request, What::kScan,
                    ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Scan_init_c);
int PMPI_Scan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Scan_init_c", comm, info, request, What::kScan,
                    ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Exscan);
int PMPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm) {
  return blocking("MPI_Exscan", comm, What::kExscan,
                  ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Exscan_c);
int PMPI_Exscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm) {
  return blocking("MPI_Exscan_c", comm, What::kExscan,
                  ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Iexscan);
int PMPI_Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                 MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Iexscan", comm, request, What::kExscan,
                     ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Iexscan_c);
int PMPI_Iexscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                   MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Iexscan_c", comm, request, What::kExscan,
                     ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Exscan_init);
int PMPI_Exscan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                     MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Exscan_init", comm, info, request, What::kExscan,
                    ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}

FGMPI_EXPORT(MPI_Exscan_init_c);
int PMPI_Exscan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Exscan_init_c", comm, info, request, What::kExscan,
                    ReduceArguments{sendbuf, recvbuf, count, datatype, op});
}
