// mpiexec -checkpoint and -restart: the environment of a job whose ranks are saved, the program of
// a checkpoint, and the names of checkpoints when all their files are complete.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "launcher/mpiexec/command_line.h"
#include "launcher/mpiexec/job_hosts.h"
#include "launcher/mpiexec/resize_requests.h"

namespace fgmpi::launcher {

/// The library that saves ranks; see kChecker for why it has no folder.
inline constexpr const char* kCheckpointer = "libfgmpi-checkpoint.so";

/// Sets what all processes inherit whose ranks are saved or move: that library, and memory of each
/// rank at the same addresses. `option`: asks for it. Errors: MPI_ERR_ARG: it is not installed.
Status set_up_checkpointer(const char* option, const std::string& library_folder);

class CheckpointedJob {
 public:
  /// The environment is still that of the user.
  CheckpointedJob();
  /// Makes the folder, and sets what all processes inherit. Called before programs are examined.
  Status set_up(const LaunchPlan::Checkpoint& wishes, const std::string& library_folder);
  /// Reads the latest complete checkpoint of -restart: the program, its folder and environment,
  /// the numbers of ranks and processes.
  Status read(const LaunchPlan::Checkpoint& wishes, RestartedProgram* program);
  bool wanted() const { return !folder_.empty(); }
  /// Runs hydra and waits for its end. Returns its exit status; with -restart-on-failure, where a
  /// process was killed, mpiexec starts itself again for the latest checkpoint.
  int run(const LaunchPlan::Checkpoint& wishes, const std::string& hydra, char* const* arguments);

 private:
  void name_complete_checkpoints() const;
  /// Asks the job for a checkpoint where SIGUSR2 has come, or -checkpoint-every has passed.
  void ask_if_due(const LaunchPlan::Checkpoint& wishes);
  /// Asks the job for a checkpoint. `wish`: the file's first word (checkpoint/file/folder.h).
  void ask(const char* wish);
  /// Takes a request for other processes, where there is one: says in next_ how the job goes on,
  /// or answers why it cannot.
  void take_request(const LaunchPlan::Checkpoint& wishes);
  Status leave_host(const LaunchPlan::Checkpoint& wishes, const std::string& host);
  void refuse_request(const std::string& reason);
  /// Has the job ended since it has left its processes to others?
  bool has_left() const;
  /// Goes on from the latest checkpoint, with a process less where one was killed, and without the
  /// hosts that are lost. Returns where there is nothing to go back to, or no host.
  void go_back(const LaunchPlan::Checkpoint& wishes, int killed_by,
               const std::vector<LostHost>& lost) const;
  /// Takes lost hosts out of the options. Returns what happened, in words, and how many processes
  /// go on, in words and as a number.
  Status leave_hosts_out(const std::vector<LostHost>& lost, Words* options, int64_t* processes,
                         std::string* cause, std::string* places) const;
  /// Executes mpiexec -restart. `options`: of its command line. Returns only with an error.
  void start_again(const Words& options, int64_t processes, const std::string& restarts) const;

  std::string folder_;
  Words environment_;
  int64_t asked_at_ = 0;     ///< ns; at first, when the job began
  int asked_by_signal_ = 0;  ///< signals that were answered
  uint64_t asked_ = 0;       ///< times
  ResizeRequests resizes_;
  /// How the job goes on once it has left its processes, as somebody has asked for.
  struct NextStart {
    int64_t processes = 0;  ///< 0: nobody has
    Words options;          ///< of the command line
  } next_;
};

}  // namespace fgmpi::launcher
