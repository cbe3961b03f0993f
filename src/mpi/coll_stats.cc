// MPIX_Stats: the process's counters (fgmpi.h).
#include "coll/team.h"
#include "fgmpi.h"
#include "mpi/errors.h"
#include "mpi/own.h"
#include "pt2pt/pt2pt.h"

using namespace fgmpi;

FGMPI_EXTENSION int MPIX_Stats(MPIX_Stats_values* values) {
  if (!values)
    return mpi::fail(
        "MPIX_Stats", nullptr,
        error(MPI_ERR_ARG, "values is a null pointer; allowed is a MPIX_Stats_values"));
  const coll::Counters& collectives = coll::g_counters;
  const pt2pt::Counters& messages = pt2pt::counters();
  auto count = [](uint64_t n) { return static_cast<MPI_Count>(n); };
  *values = {count(collectives.collectives), count(collectives.messages),
             count(collectives.bytes),       count(messages.sent_local),
             count(messages.sent_frames),    count(messages.sent_bytes_frames)};
  return MPI_SUCCESS;
}
