// The hosts that a job's command line or environment names, without those that were lost: what a
// job needs that goes on without them.
//
// Names stand in an option (-hosts a:2,b:2), in a file (-f FILE, HYDRA_HOST_FILE, PBS_NODEFILE; a
// host a line), or in the environment (Slurm, LSF, Grid Engine). A host's slots are the processes
// that hydra starts on it before it goes on with the next host.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "launcher/mpiexec/command_line.h"

namespace fgmpi::launcher {

class JobHosts {
 public:
  /// Finds the hosts that options of a command line name, or else the environment. There are none
  /// where neither names any. Errors: MPI_ERR_ARG: a file or variable that is not understood.
  static Status find(const Words& options, JobHosts* hosts);

  bool empty() const { return hosts_.empty(); }

 private:
  struct Host {
    std::string name;
    int64_t slots = 1;
    std::string text;  ///< the word or line that names it
  };
  Status add_from_option(std::string_view name, const std::string& value);
  Status add_from_file(const std::string& path);
  Status add_from_environment();
  Status add_from_slurm(const std::string& names, const std::string& tasks);
  void add(const std::string& text);
  int64_t slots() const;

  std::vector<Host> hosts_;
  bool by_file_ = false;
  int64_t slots_before_ = 0;
};

}  // namespace fgmpi::launcher
