// Neighbourhood all-to-all in its three forms: blocking, nonblocking, persistent, each with int and
// with large counts (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Neighbor_alltoall);
int PMPI_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Neighbor_alltoall", comm, What::kNeighborAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoall_c);
int PMPI_Neighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                             MPI_Comm comm) {
  return blocking(
      "MPI_Neighbor_alltoall_c", comm, What::kNeighborAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Ineighbor_alltoall);
int PMPI_Ineighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                            void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                            MPI_Request* request) {
  return nonblocking(
      "MPI_Ineighbor_alltoall", comm, request, What::kNeighborAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Ineighbor_alltoall_c);
int PMPI_Ineighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Ineighbor_alltoall_c", comm, request, What::kNeighborAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoall_init);
int PMPI_Neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Neighbor_alltoall_init", comm, info, request, What::kNeighborAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoall_init_c);
int PMPI_Neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                  MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Neighbor_alltoall_init_c", comm, info, request, What::kNeighborAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoallv);
int PMPI_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                            const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking("MPI_Neighbor_alltoallv", comm, What::kNeighborAlltoallv,
                  SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                     {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoallv_c);
int PMPI_Neighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                              const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                              const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                              MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking("MPI_Neighbor_alltoallv_c", comm, What::kNeighborAlltoallv,
                  SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                     {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Ineighbor_alltoallv);
int PMPI_Ineighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                             MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                             const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                             MPI_Request* request) {
  return nonblocking("MPI_Ineighbor_alltoallv", comm, request, What::kNeighborAlltoallv,
                     SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                        {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Ineighbor_alltoallv_c);
int PMPI_Ineighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                               const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                               const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Ineighbor_alltoallv_c", comm, request, What::kNeighborAlltoallv,
                     SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                        {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoallv_init);
int PMPI_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                 MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Neighbor_alltoallv_init", comm, info, request, What::kNeighborAlltoallv,
                    SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                       {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoallv_init_c);
int PMPI_Neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                   const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                   const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                   MPI_Request* request) {
  return persistent("MPI_Neighbor_alltoallv_init_c", comm, info, request, What::kNeighborAlltoallv,
                    SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                       {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoallw);
int PMPI_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                            MPI_Comm comm) {
  return blocking("MPI_Neighbor_alltoallw", comm, What::kNeighborAlltoallw,
                  SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                     {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoallw_c);
int PMPI_Neighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[],
                              const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                              void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                              const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return blocking("MPI_Neighbor_alltoallw_c", comm, What::kNeighborAlltoallw,
                  SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                     {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Ineighbor_alltoallw);
int PMPI_Ineighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                             const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                             const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                             MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Ineighbor_alltoallw", comm, request, What::kNeighborAlltoallw,
                     SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                        {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Ineighbor_alltoallw_c);
int PMPI_Ineighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[],
                               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                               void* recvbuf, const MPI_Count recvcounts[],
                               const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                               MPI_Comm comm, MPI_Request* request) {
  return nonblocking("MPI_Ineighbor_alltoallw_c", comm, request, What::kNeighborAlltoallw,
                     SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                        {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoallw_init);
int PMPI_Neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[],
                                 const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                 void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                 const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                 MPI_Request* request) {
  return persistent("MPI_Neighbor_alltoallw_init", comm, info, request, What::kNeighborAlltoallw,
                    SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                       {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Neighbor_alltoallw_init_c);
int PMPI_Neighbor_alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                   const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                   void* recvbuf, const MPI_Count recvcounts[],
                                   const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Neighbor_alltoallw_init_c", comm, info, request, What::kNeighborAlltoallw,
                    SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                       {recvbuf, recvcounts, rdispls, recvtypes}});
}
