// PMI-2, the text protocol of Slurm (srun --mpi=pmi2) and others: messages as in pmi2_message.h
// over an inherited socket (PMI_FD). The first exchange has the form of PMI-1 and agrees on the
// version; a server that answers with version 1 is spoken to in PMI-1.
// Source: the protocol's description in "PMI: A Scalable Parallel Process-Management Interface for
// Extreme-Scale Systems" (EuroMPI 2010), and what Slurm 22.05 answers.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.h"

namespace fgmpi::bootstrap {

/// True when the environment names a server that speaks PMI-2 as well: PMI_FD, and PMI_JOBID, which
/// PMI-1 servers do not set.
bool pmi2_offered();

/// Connects to the server that the environment names.
Status open_pmi2(std::unique_ptr<Bootstrap>* out);

/// Opens a session on a connected descriptor, which the session owns from now on, for the job that
/// the server calls `job`.
Status start_pmi2(int fd, int rank, const char* job, std::unique_ptr<Bootstrap>* out);

}  // namespace fgmpi::bootstrap
