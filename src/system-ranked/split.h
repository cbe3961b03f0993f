// MPIX_Comm_split with MPIX_SYSTEM_RANKED: communicators whose ranks the system picks.
// Thread rule: one thread. split() may switch, isplit() never does.
#pragma once

#include <optional>

#include "comm/hints.h"
#include "pt2pt/pt2pt.h"
#include "system-ranked/vertex.h"

namespace fgmpi::comm {
struct Comm;
}

namespace fgmpi::system_ranked {

/// The options that the settings choose (FGMPI_SYSTEM_RANKED_ALGORITHM, ...).
const SplitOptions& options_of_environment();
/// The options that hints choose (fgmpi_system_ranked_algorithm, fgmpi_system_ranked_k,
/// fgmpi_system_ranked_filler); the settings where there is no hint. Errors: MPI_ERR_INFO_VALUE
/// with the value and what is allowed.
Status options_from(const comm::Hints& hints, SplitOptions* out);

/// Splits a communicator. *out is nullptr for MPI_UNDEFINED; a member that gives that does not wait
/// for the others, unless it is the last of its process. All members give the same options.
Status split(comm::Comm* comm, int32_t color, const SplitOptions& options, const char* call,
             comm::Comm** out);
/// As split() without blocking: the request completes when *out is set.
Status isplit(comm::Comm* comm, int32_t color, const SplitOptions& options, const char* call,
              MPI_Comm* out, pt2pt::Request** request);

}  // namespace fgmpi::system_ranked
