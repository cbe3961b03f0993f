// Allgather and allgatherv: blocking, nonblocking, persistent, each with int and with large counts
// (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Allgather);
int PMPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Allgather", comm, What::kAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Allgather_c);
int PMPI_Allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Allgather_c", comm, What::kAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Iallgather);
int PMPI_Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Iallgather", comm, request, What::kAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Iallgather_c);
int PMPI_Iallgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                      MPI_Request* request) {
  return nonblocking(
      "MPI_Iallgather_c", comm, request, What::kAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Allgather_init);
int PMPI_Allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
  return persistent(
      "MPI_Allgather_init", comm, info, request, What::kAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Allgather_init_c);
int PMPI_Allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                          void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                          MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Allgather_init_c", comm, info, request, What::kAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Allgatherv);
int PMPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                    MPI_Comm comm) {
  return blocking(
      "MPI_Allgatherv", comm, What::kAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Allgatherv_c);
int PMPI_Allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                      MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Allgatherv_c", comm, What::kAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Iallgatherv);
int PMPI_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                     MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Iallgatherv", comm, request, What::kAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Iallgatherv_c);
int PMPI_Iallgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                       MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Iallgatherv_c", comm, request, What::kAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Allgatherv_init);
int PMPI_Allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                         MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Allgatherv_init", comm, info, request, What::kAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Allgatherv_init_c);
int PMPI_Allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                           MPI_Request* request) {
  return persistent(
      "MPI_Allgatherv_init_c", comm, info, request, What::kAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}
