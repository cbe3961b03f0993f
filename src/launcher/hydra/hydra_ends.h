// How the processes of a proxy of hydra ended: by themselves, or because the proxy ended them after
// another process had ended badly.
//
// The proxy sends SIGKILL to the groups of all its processes when one ends badly. A process that
// was still alive then, and ends by SIGKILL, is no cause for the job's exit status: for such a
// process the proxy gets the status 0. This holds only where a process that had ended before has a
// status other than 0: if the proxy ends all processes for another reason (a signal, a time limit),
// their statuses stay.
//
// Thread rule: one thread, the proxy's. This code is part of a library that is loaded into the
// proxy, and uses only the C library.
#pragma once

#include <sys/types.h>

#include <map>

namespace fgmpi::launcher {

class Ends {
 public:
  /// Called before SIGKILL is sent to the process `child` and its group.
  void before_kill(pid_t child);
  /// Called when waitpid() has returned this status for `child`. Returns the status for the proxy.
  /// May wait for a process that is just ending.
  int status(pid_t child, int status);

 private:
  bool any_ended_badly_before() const;
  std::map<pid_t, bool> was_alive_;  ///< at its first SIGKILL
  std::map<pid_t, int> statuses_;    ///< of the processes that waitpid() has returned
};

}  // namespace fgmpi::launcher
