// All-to-all in its three forms: blocking, nonblocking, persistent, each with int and with large
// counts (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Alltoall);
int PMPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Alltoall", comm, What::kAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Alltoall_c);
int PMPI_Alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(
      "MPI_Alltoall_c", comm, What::kAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Ialltoall);
int PMPI_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Ialltoall", comm, request, What::kAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Ialltoall_c);
int PMPI_Ialltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                     MPI_Request* request) {
  return nonblocking(
      "MPI_Ialltoall_c", comm, request, What::kAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Alltoall_init);
int PMPI_Alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                       MPI_Request* request) {
  return persistent(
      "MPI_Alltoall_init", comm, info, request, What::kAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Alltoall_init_c);
int PMPI_Alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                         MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Alltoall_init_c", comm, info, request, What::kAlltoall,
      SymmetricArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

FGMPI_EXPORT(MPI_Alltoallv);
int PMPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking("MPI_Alltoallv", comm, What::kAlltoallv,
                  SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                     {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Alltoallv_c);
int PMPI_Alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                     MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                     const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking("MPI_Alltoallv_c", comm, What::kAlltoallv,
                  SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                     {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Ialltoallv);
int PMPI_Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Request* request) {
  return nonblocking("MPI_Ialltoallv", comm, request, What::kAlltoallv,
                     SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                        {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Ialltoallv_c);
int PMPI_Ialltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                      MPI_Request* request) {
  return nonblocking("MPI_Ialltoallv_c", comm, request, What::kAlltoallv,
                     SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                        {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Alltoallv_init);
int PMPI_Alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                        MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                        const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
  return persistent("MPI_Alltoallv_init", comm, info, request, What::kAlltoallv,
                    SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                       {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Alltoallv_init_c);
int PMPI_Alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                          const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                          MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                          MPI_Request* request) {
  return persistent("MPI_Alltoallv_init_c", comm, info, request, What::kAlltoallv,
                    SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtype},
                                       {recvbuf, recvcounts, rdispls, recvtype}});
}

FGMPI_EXPORT(MPI_Alltoallw);
int PMPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                   const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return blocking("MPI_Alltoallw", comm, What::kAlltoallw,
                  SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                     {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Alltoallw_c);
int PMPI_Alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                     const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return blocking("MPI_Alltoallw_c", comm, What::kAlltoallw,
                  SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                     {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Ialltoallw);
int PMPI_Ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                    const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                    const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                    MPI_Request* request) {
  return nonblocking("MPI_Ialltoallw", comm, request, What::kAlltoallw,
                     SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                        {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Ialltoallw_c);
int PMPI_Ialltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                      MPI_Request* request) {
  return nonblocking("MPI_Ialltoallw_c", comm, request, What::kAlltoallw,
                     SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                        {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Alltoallw_init);
int PMPI_Alltoallw_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                        const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                        const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                        MPI_Info info, MPI_Request* request) {
  return persistent("MPI_Alltoallw_init", comm, info, request, What::kAlltoallw,
                    SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                       {recvbuf, recvcounts, rdispls, recvtypes}});
}

FGMPI_EXPORT(MPI_Alltoallw_init_c);
int PMPI_Alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                          const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                          const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                          MPI_Request* request) {
  return persistent("MPI_Alltoallw_init_c", comm, info, request, What::kAlltoallw,
                    SymmetricArguments{{sendbuf, sendcounts, sdispls, sendtypes},
                                       {recvbuf, recvcounts, rdispls, recvtypes}});
}
