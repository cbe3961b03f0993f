// Neighbourhood allgather and allgatherv: blocking, nonblocking, persistent, each with int and with
// large counts (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Neighbor_allgather);
int PMPI_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                            void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Neighbor_allgather", comm, What::kNeighborAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_allgather_c);
int PMPI_Neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm) {
  return blocking(
      "MPI_Neighbor_allgather_c", comm, What::kNeighborAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Ineighbor_allgather);
int PMPI_Ineighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                             void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                             MPI_Request* request) {
  return nonblocking(
      "MPI_Ineighbor_allgather", comm, request, What::kNeighborAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Ineighbor_allgather_c);
int PMPI_Ineighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                               MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Ineighbor_allgather_c", comm, request, What::kNeighborAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_allgather_init);
int PMPI_Neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                 MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Neighbor_allgather_init", comm, info, request, What::kNeighborAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_allgather_init_c);
int PMPI_Neighbor_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Neighbor_allgather_init_c", comm, info, request, What::kNeighborAllgather,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_allgatherv);
int PMPI_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                             void* recvbuf, const int recvcounts[], const int displs[],
                             MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Neighbor_allgatherv", comm, What::kNeighborAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_allgatherv_c);
int PMPI_Neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                               MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Neighbor_allgatherv_c", comm, What::kNeighborAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Ineighbor_allgatherv);
int PMPI_Ineighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                              void* recvbuf, const int recvcounts[], const int displs[],
                              MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Ineighbor_allgatherv", comm, request, What::kNeighborAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Ineighbor_allgatherv_c);
int PMPI_Ineighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                void* recvbuf, const MPI_Count recvcounts[],
                                const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                MPI_Request* request) {
  return nonblocking(
      "MPI_Ineighbor_allgatherv_c", comm, request, What::kNeighborAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_allgatherv_init);
int PMPI_Neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const int recvcounts[], const int displs[],
                                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  MPI_Request* request) {
  return persistent(
      "MPI_Neighbor_allgatherv_init", comm, info, request, What::kNeighborAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_allgatherv_init_c);
int PMPI_Neighbor_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, const MPI_Count recvcounts[],
                                    const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                    MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Neighbor_allgatherv_init_c", comm, info, request, What::kNeighborAllgatherv,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}
