// MPIX_Stats: the process's counters (fgmpi.h).
#include "base/counters.h"
#include "fgmpi.h"
#include "mpi/entry.h"
#include "mpi/errors/errors.h"
#include "mpi/own.h"

using namespace fgmpi;

FGMPI_EXTENSION int MPIX_Stats(MPIX_Stats_values* values) {
  FGMPI_TAKE_TURN("MPIX_Stats", MPIX_Stats(values));
  if (!values)
    return mpi::fail(
        "MPIX_Stats", nullptr,
        error(MPI_ERR_ARG, "values is a null pointer; allowed is a MPIX_Stats_values"));
  using namespace counters;
  auto count = [](CounterId id) { return static_cast<MPI_Count>(read(id)); };
  *values = {count(kCollectives),     count(kCollectiveMessages),
             count(kCollectiveBytes), count(kLocalMessages),
             count(kFrames),          count(kFrameBytes),
             count(kRmaHere),         count(kRmaMapped),
             count(kRmaAttached),     count(kRmaMessages),
             count(kRmaProvider),     count(kMulticastTransfers),
             count(kMulticastBytes),  count(kMulticastRepairs),
             count(kMulticastDropped)};
  return MPI_SUCCESS;
}
