// Creation of a job's folder, and its removal with all files in it.

#include "launcher/mpiexec/job_folder.h"

#include <mpi.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/environment.h"

namespace fgmpi::launcher {

Status make_job_folder(const std::string& option, bool elsewhere, std::string* folder) {
  const char* temporary = environment::text(environment::kTemporary);
  std::error_code failed;
  std::string name = (elsewhere ? std::filesystem::current_path(failed).string()
                                : std::string(temporary ? temporary : "/tmp")) +
                     "/fgmpi" + option + "-XXXXXX";
  if (!mkdtemp(name.data()))
    return error(MPI_ERR_ARG, "%s: no folder for its files at %s: %s", option.c_str(), name.c_str(),
                 std::strerror(errno));
  *folder = name;
  return {};
}

void remove_job_folder(const std::string& folder) {
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
}

}  // namespace fgmpi::launcher
