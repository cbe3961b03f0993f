// PMI-1, the text protocol of process managers: one request line, one answer line ("cmd=get_result
// rc=0 value=..."). Hydra speaks it on an inherited socket (PMI_FD) or over TCP (PMI_PORT, PMI_ID).
// Source: the protocol's description in "PMI: A Scalable Parallel Process-Management Interface for
// Extreme-Scale Systems" (EuroMPI 2010), and what mpiexec.hydra 4.0 answers.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.h"

namespace fgmpi::bootstrap {

/// True when the environment names a PMI-1 server.
bool pmi1_offered();

/// Connects to the server that the environment names. An error (a bad variable, a server that
/// refuses) says what was wrong.
Status open_pmi1(std::unique_ptr<Bootstrap>* out);

/// Opens a session on a connected descriptor, which the session owns from now on. `id`: the
/// server's name for this process (PMI_ID); nullptr where rank and size are in the environment
/// (PMI_RANK, PMI_SIZE).
Status start_pmi1(int fd, const char* id, std::unique_ptr<Bootstrap>* out);

}  // namespace fgmpi::bootstrap
