// Finds the installation from the path of the module that holds this code.

#include "base/installation.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/modules.h"

namespace fgmpi {

std::string installation_prefix() {
  const auto module = module_at(reinterpret_cast<const void*>(&installation_prefix));
  if (!module) return "";
  // The path of a program is as it was started: only the kernel knows the whole one.
  std::string path = *module->map->l_name ? module->path : program_path();
  char resolved[PATH_MAX];
  path = realpath(path.c_str(), resolved) ? resolved : "";
  for (int up = 0; up < 2; ++up) {  // removes the file's name, then lib or bin
    const size_t slash = path.rfind('/');
    path.resize(slash == path.npos ? 0 : slash);
  }
  return path;
}

std::string installed_host_file(const char* name) {
  std::string path = installation_prefix() + "/lib/fgmpi/host/" + name;
  if (access(path.c_str(), R_OK) != 0) path.clear();
  return path;
}

}  // namespace fgmpi
