// Scatter and scatterv: blocking, nonblocking, persistent, each with int and with large counts
// (MPI-4.0 chapter 6).
#include "mpi/coll_args.h"

using namespace fgmpi::mpi;

FGMPI_EXPORT(MPI_Scatter);
int PMPI_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return rooted<fgmpi::coll::rooted_scatter>(
      "MPI_Scatter", comm, What::kScatter, recvbuf, recvcount, recvtype, root, [&] {
        return RootedArguments{
            {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root};
      });
}

FGMPI_EXPORT(MPI_Scatter_c);
int PMPI_Scatter_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return rooted<fgmpi::coll::rooted_scatter>(
      "MPI_Scatter_c", comm, What::kScatter, recvbuf, recvcount, recvtype, root, [&] {
        return RootedArguments{
            {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root};
      });
}

FGMPI_EXPORT(MPI_Iscatter);
int PMPI_Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request) {
  return nonblocking(
      "MPI_Iscatter", comm, request, What::kScatter,
      RootedArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Iscatter_c);
int PMPI_Iscatter_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                    MPI_Request* request) {
  return nonblocking(
      "MPI_Iscatter_c", comm, request, What::kScatter,
      RootedArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Scatter_init);
int PMPI_Scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                      int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request) {
  return persistent(
      "MPI_Scatter_init", comm, info, request, What::kScatter,
      RootedArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Scatter_init_c);
int PMPI_Scatter_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                        MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Scatter_init_c", comm, info, request, What::kScatter,
      RootedArguments{{sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Scatterv);
int PMPI_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm) {
  return rooted<fgmpi::coll::rooted_scatter>(
      "MPI_Scatterv", comm, What::kScatterv, recvbuf, recvcount, recvtype, root, [&] {
        return RootedArguments{
            {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root};
      });
}

FGMPI_EXPORT(MPI_Scatterv_c);
int PMPI_Scatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                    MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return rooted<fgmpi::coll::rooted_scatter>(
      "MPI_Scatterv_c", comm, What::kScatterv, recvbuf, recvcount, recvtype, root, [&] {
        return RootedArguments{
            {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root};
      });
}

FGMPI_EXPORT(MPI_Iscatterv);
int PMPI_Iscatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                   MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                   int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Iscatterv", comm, request, What::kScatterv,
      RootedArguments{
          {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Iscatterv_c);
int PMPI_Iscatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                     MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      "MPI_Iscatterv_c", comm, request, What::kScatterv,
      RootedArguments{
          {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Scatterv_init);
int PMPI_Scatterv_init(const void* sendbuf, const int sendcounts[], const int displs[],
                       MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                       int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent(
      "MPI_Scatterv_init", comm, info, request, What::kScatterv,
      RootedArguments{
          {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

FGMPI_EXPORT(MPI_Scatterv_init_c);
int PMPI_Scatterv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                         MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                         MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                         MPI_Request* request) {
  return persistent(
      "MPI_Scatterv_init_c", comm, info, request, What::kScatterv,
      RootedArguments{
          {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root});
}
