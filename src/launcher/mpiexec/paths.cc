// The search for the installation's prefix and for hydra.

#include "launcher/mpiexec/paths.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/environment.h"
#include "base/installation.h"
#include "base/settings.h"
#include "base/split.h"

namespace fgmpi::launcher {

Status find_prefix(std::string* prefix) {
  *prefix = installation_prefix();
  if (prefix->empty())
    return error(MPI_ERR_OTHER, "/proc/self/exe cannot be read: %s", std::strerror(errno));
  return {};
}

Status find_hydra(std::string* path) {
  const std::string& wanted = settings::text(settings::kHydra);
  if (!wanted.empty()) {
    if (access(wanted.c_str(), X_OK) != 0)
      return error(MPI_ERR_OTHER, "FGMPI_HYDRA=%s: %s; allowed is the path of an mpiexec.hydra",
                   wanted.c_str(), std::strerror(errno));
    *path = wanted;
    return {};
  }
  *path = installed_host_file("bin/mpiexec.hydra");
  if (!path->empty()) return {};
  const char* variable = environment::text(environment::kPath);
  const std::string folders = std::string(variable ? variable : "") + ":/usr/bin:/usr/local/bin";
  for (std::string_view folder : split(folders, ':')) {
    *path = std::string(folder) + "/mpiexec.hydra";
    if (!folder.empty() && access(path->c_str(), X_OK) == 0) return {};
  }
  return error(MPI_ERR_OTHER,
               "mpiexec.hydra is not in PATH: install mpich, or set FGMPI_HYDRA to its path");
}

}  // namespace fgmpi::launcher
