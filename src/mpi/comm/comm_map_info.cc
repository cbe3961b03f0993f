// MPIX_Comm_map_info: how this process stores a communicator.

#include <cstdio>
#include <cstring>
#include <string>

#include "fgmpi.h"
#include "mpi/binding.h"

using namespace fgmpi;

FGMPI_EXTENSION int MPIX_Comm_map_info(MPI_Comm comm, MPIX_Map_info* info) {
  FGMPI_TAKE_TURN("MPIX_Comm_map_info", MPIX_Comm_map_info(comm, info));
  constexpr const char* kCall = "MPIX_Comm_map_info";
  FGMPI_ENTER(kCall, c, comm);
  if (!info)
    return mpi::fail(kCall, c,
                     error(MPI_ERR_ARG, "info is a null pointer; allowed is where to store it"));
  const comm::SharedComm& shared = *c->shared;
  *info = MPIX_Map_info{};
  std::snprintf(info->model, sizeof info->model, "%s", shared.map.model_name());
  if (!shared.map.regular())
    std::snprintf(info->encoding, sizeof info->encoding, "%s",
                  shared.map.encoded().describe().c_str());
  info->map_bytes = static_cast<MPI_Count>(shared.map.bytes() - sizeof(RankMap));
  info->process_bytes = static_cast<MPI_Count>(comm::bytes_of(shared));
  info->sharing = comm::sharing_of(shared);
  info->members = static_cast<int>(shared.members);
  return MPI_SUCCESS;
}
