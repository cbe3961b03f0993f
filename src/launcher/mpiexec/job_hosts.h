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

/// A host that was lost: its name, or the number of its proxy or of a process on it.
struct LostHost {
  int64_t proxy = -1;  ///< hydra numbers its proxies by hosts
  std::string name = {};
  int64_t process = -1;
};
/// Reads the file in which hydra's guard records them; empty where there is none.
std::vector<LostHost> read_lost_hosts(const std::string& file);

class JobHosts {
 public:
  /// Finds the hosts that options of a command line name, or else the environment. There are none
  /// where neither names any. Errors: MPI_ERR_ARG: a file or variable that is not understood.
  static Status find(const Words& options, JobHosts* hosts);

  bool empty() const { return hosts_.empty(); }
  /// The names, separated by commas.
  std::string names() const;
  /// Takes hosts out, and returns their names.
  Words leave_out(const std::vector<LostHost>& lost);
  /// How many of a job's processes go on behind leave_out(): all that had a slot each and have one
  /// now; of those that shared slots, the part of the slots that are left; at least one.
  int64_t processes_left(int64_t before) const;
  /// On which hosts hydra starts so many processes: "2 on node1, 1 on node2".
  std::string describe(int64_t processes) const;
  /// Replaces the options that name hosts. Writes a file in the folder where a file named them.
  /// Errors: MPI_ERR_IO.
  Status rewrite(const std::string& folder, Words* options) const;

 private:
  struct NamedHost {
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
  /// "": it has no such host.
  std::string name_of(const LostHost& lost) const;

  std::vector<NamedHost> hosts_;
  bool by_file_ = false;
  int64_t slots_before_ = 0;
};

}  // namespace fgmpi::launcher
