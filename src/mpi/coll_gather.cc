// Gather and gatherv: blocking, nonblocking, persistent, each with int and with large counts
// (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Gather);
int PMPI_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return rooted<fgmpi::coll::rooted_gather>(
      "MPI_Gather", comm, What::kGather, sendbuf, sendcount, sendtype, root, [&] {
        return RootedArguments{
            {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root};
      });
}

FGMPI_EXPORT(MPI_Gather_c);
int PMPI_Gather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return rooted<fgmpi::coll::rooted_gather>(
      "MPI_Gather_c", comm, What::kGather, sendbuf, sendcount, sendtype, root, [&] {
        return RootedArguments{
            {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root};
      });
}

FGMPI_EXPORT(MPI_Igather);
int PMPI_Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                 MPI_Request* request) {
  return nonblocking(
      "MPI_Igather", comm, request, What::kGather,
      RootedArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Igather_c);
int PMPI_Igather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                   MPI_Request* request) {
  return nonblocking(
      "MPI_Igather_c", comm, request, What::kGather,
      RootedArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Gather_init);
int PMPI_Gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request* request) {
  return persistent(
      "MPI_Gather_init", comm, info, request, What::kGather,
      RootedArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Gather_init_c);
int PMPI_Gather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                       MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Gather_init_c", comm, info, request, What::kGather,
      RootedArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Gatherv);
int PMPI_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                 MPI_Comm comm) {
  return rooted<fgmpi::coll::rooted_gather>(
      "MPI_Gatherv", comm, What::kGatherv, sendbuf, sendcount, sendtype, root, [&] {
        return RootedArguments{
            {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root};
      });
}

FGMPI_EXPORT(MPI_Gatherv_c);
int PMPI_Gatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                   int root, MPI_Comm comm) {
  return rooted<fgmpi::coll::rooted_gather>(
      "MPI_Gatherv_c", comm, What::kGatherv, sendbuf, sendcount, sendtype, root, [&] {
        return RootedArguments{
            {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root};
      });
}

FGMPI_EXPORT(MPI_Igatherv);
int PMPI_Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Igatherv", comm, request, What::kGatherv,
      RootedArguments{
          {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root});
}

FGMPI_EXPORT(MPI_Igatherv_c);
int PMPI_Igatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                    int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Igatherv_c", comm, request, What::kGatherv,
      RootedArguments{
          {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root});
}

FGMPI_EXPORT(MPI_Gatherv_init);
int PMPI_Gatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                      const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Gatherv_init", comm, info, request, What::kGatherv,
      RootedArguments{
          {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root});
}

FGMPI_EXPORT(MPI_Gatherv_init_c);
int PMPI_Gatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                        MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
  return persistent(
      "MPI_Gatherv_init_c", comm, info, request, What::kGatherv,
      RootedArguments{
          {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root});
}
