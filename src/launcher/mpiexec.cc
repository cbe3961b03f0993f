// mpiexec: turns its command line into one for mpiexec.hydra and becomes that program. There is no shell and no
// process of ours in between, so signals and the exit status are hydra's.

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "launcher/command_line.h"

namespace {

using fgmpi::launcher::Plan;
using fgmpi::launcher::Setting;
using fgmpi::launcher::Words;

constexpr const char* kHelp =
    R"(Usage: mpiexec [options] program [arguments] [: [options] program [arguments] ...]

Starts P processes that host C ranks each: P x C ranks in all.

  -n P, -np P       number of processes
  -nfg C            number of ranks in each process (default 1, or FGMPI_NFG)
  -ranks N          number of ranks in all, over P processes (default: one a core) as evenly as possible
  -help, -version   this text; the version

Each program behind a ':' may have a -n and -nfg (or -ranks) of its own. All other options are those of
mpiexec.hydra, which starts the processes: 'mpiexec.hydra -help' lists them (-f hosts.txt, -ppn 1, -genv NAME VALUE,
-bind-to core, ...). Open MPI's --oversubscribe and --allow-run-as-root are understood and change nothing;
-x NAME=VALUE sets a variable.

Variables: FGMPI_HYDRA names another mpiexec.hydra.
)";

[[noreturn]] void refuse(const std::string& line) {
  std::fprintf(stderr, "mpiexec: %s\n", line.c_str());
  std::exit(1);
}

/// The lib folder of the prefix that this program lies in.
std::string library_folder() {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  if (length <= 0) refuse(std::string("/proc/self/exe cannot be read: ") + std::strerror(errno));
  std::string path(self, length);
  path.resize(path.rfind('/'));      // .../bin
  path.resize(path.rfind('/') + 1);  // .../
  return path + "lib";
}

/// The absolute path of hydra's mpiexec.
std::string find_hydra() {
  const char* wanted = std::getenv("FGMPI_HYDRA");
  if (wanted && *wanted) {
    if (access(wanted, X_OK) != 0)
      refuse(std::string("FGMPI_HYDRA=") + wanted + ": " + std::strerror(errno) +
             "; allowed is the path of an mpiexec.hydra");
    return wanted;
  }
  const char* variable = std::getenv("PATH");
  std::string path = std::string(variable ? variable : "") + ":/usr/bin:/usr/local/bin";
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    std::string candidate = path.substr(begin, end - begin) + "/mpiexec.hydra";
    if (end > begin && access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  refuse("mpiexec.hydra is not in PATH: install mpich, or set FGMPI_HYDRA to its path");
}

/// What all processes inherit.
void set_environment(const Plan& plan, const std::string& library_folder) {
  if (plan.counted) {
    unsetenv("FGMPI_NFG");
    unsetenv("FGMPI_RANKS");
  }
  const char* present = std::getenv("LD_LIBRARY_PATH");
  std::string path = library_folder;
  if (present && *present) path += std::string(":") + present;
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  setting.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  setting.library_folder = library_folder();
  Plan plan;
  fgmpi::Status status = make_plan(Words(argv + 1, argv + argc), setting, &plan);
  if (!status.ok()) refuse(status.what());
  if (plan.action == Plan::kHelp) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (plan.action == Plan::kVersion) {
    std::printf("mpiexec (Finegrain MPI) %s\n", FGMPI_VERSION);
    return 0;
  }
  std::string hydra = find_hydra();
  set_environment(plan, setting.library_folder);
  std::vector<char*> arguments = {hydra.data()};
  for (auto& word : plan.hydra) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(hydra.c_str(), arguments.data());
  refuse(hydra + ": " + std::strerror(errno));
}
