// Wrappers of extensions that change the meaning of other calls: the checker records their use and
// checks less from then on.
#include "check/extensions.h"

#include <dlfcn.h>

#include "check/call.h"

namespace fgmpi::check {
namespace {

/// The library's function of that name, which exists if the program calls it.
template <class Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void open_group() {
  g_process.opens_groups = true;
  g_attention.fetch_or(kOpensGroups, std::memory_order_relaxed);
}

}  // namespace
}  // namespace fgmpi::check

using namespace fgmpi::check;

EXPORT int MPIX_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  static auto* next = next_of<decltype(MPIX_Comm_split)>("MPIX_Comm_split");
  g_process.makes_others = true;
  return next(comm, color, key, newcomm);
}

EXPORT int MPIX_Comm_split_system_ranked(MPI_Comm comm, int color, MPI_Info info,
                                         MPI_Comm* newcomm) {
  static auto* next =
      next_of<decltype(MPIX_Comm_split_system_ranked)>("MPIX_Comm_split_system_ranked");
  g_process.makes_others = true;
  return next(comm, color, info, newcomm);
}

EXPORT int MPIX_Comm_isplit_system_ranked(MPI_Comm comm, int color, MPI_Info info,
                                          MPI_Comm* newcomm, MPI_Request* request) {
  static auto* next =
      next_of<decltype(MPIX_Comm_isplit_system_ranked)>("MPIX_Comm_isplit_system_ranked");
  g_process.makes_others = true;
  return next(comm, color, info, newcomm, request);
}

EXPORT int MPIX_Bcast_open_group(void* buffer, int count, MPI_Datatype datatype, int root,
                                 MPI_Comm comm) {
  static auto* next = next_of<decltype(MPIX_Bcast_open_group)>("MPIX_Bcast_open_group");
  open_group();
  return next(buffer, count, datatype, root, comm);
}

EXPORT int MPIX_Scatter_open_group(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                   MPI_Comm comm) {
  static auto* next = next_of<decltype(MPIX_Scatter_open_group)>("MPIX_Scatter_open_group");
  open_group();
  return next(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

EXPORT int MPIX_Scatterv_open_group(const void* sendbuf, const int sendcounts[], const int displs[],
                                    MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                    MPI_Datatype recvtype, int root, MPI_Comm comm) {
  static auto* next = next_of<decltype(MPIX_Scatterv_open_group)>("MPIX_Scatterv_open_group");
  open_group();
  return next(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

EXPORT int MPIX_Allgatherv_open_group(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                      void* recvbuf, const int recvcounts[], const int displs[],
                                      MPI_Datatype recvtype, MPI_Comm comm) {
  static auto* next = next_of<decltype(MPIX_Allgatherv_open_group)>("MPIX_Allgatherv_open_group");
  open_group();
  return next(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

EXPORT int MPIX_Alltoallw_open_group(const void* sendbuf, const int sendcounts[],
                                     const int sdispls[], const MPI_Datatype sendtypes[],
                                     void* recvbuf, const int recvcounts[], const int rdispls[],
                                     const MPI_Datatype recvtypes[], MPI_Comm comm) {
  static auto* next = next_of<decltype(MPIX_Alltoallw_open_group)>("MPIX_Alltoallw_open_group");
  open_group();
  return next(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
              comm);
}
