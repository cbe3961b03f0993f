// Processes that join later (MPI-4.0 chapter 11): what can be answered without them.

#include "mpi/binding.h"

using namespace fgmpi;

// No rank was started by another one, so none has a parent. Programs ask to learn how they were
// started.
FGMPI_EXPORT(MPI_Comm_get_parent);
int PMPI_Comm_get_parent(MPI_Comm* parent) {
  constexpr const char* kCall = "MPI_Comm_get_parent";
  if (!comm::rank_state()) return mpi::bad_comm(kCall, MPI_COMM_SELF);
  if (!parent)
    return mpi::fail(kCall, nullptr, error(MPI_ERR_ARG, "parent is null; allowed is an address"));
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
