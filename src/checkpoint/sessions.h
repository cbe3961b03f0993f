// Sessions: what the layer knows of them. Thread rule: a rank's.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

namespace fgmpi::checkpoint {

struct LayerRank;

struct VirtualSession {
  int real = MPI_SESSION_NULL;
  // While described:
  std::vector<std::pair<std::string, std::string>> info;
  MPI_Errhandler errhandler = MPI_ERRORS_ARE_FATAL;  ///< virtual
};

void describe_sessions(LayerRank& rank);
void discard_sessions(LayerRank& rank);
void remake_sessions(LayerRank& rank);

}  // namespace fgmpi::checkpoint
