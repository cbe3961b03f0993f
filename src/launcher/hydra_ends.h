// How the processes of a proxy of hydra ended: of one's own accord, or because the proxy ended it
// after another had ended badly.
//
// The proxy sends SIGKILL to the groups of all its processes when one ends badly. A process that
// was still there then, and ends by SIGKILL, says nothing about the job: of it the proxy is told
// the status 0. This holds only where one that was gone before has a status other than 0: if the
// proxy ends all for another reason (a signal, a time limit), their statuses stay.
//
// Thread rule: one thread, the proxy's. Runs in a library that is loaded into it: nothing but the C
// library is needed.
#pragma once

#include <sys/types.h>

#include <map>

namespace fgmpi::launcher {

class Ends {
 public:
  /// Call before SIGKILL is sent to the process `child` and its group.
  void before_kill(pid_t child);
  /// `child` was waited for, with this status of waitpid(). Returns the one to tell. May wait for a
  /// process that is just ending.
  int status(pid_t child, int status);

 private:
  bool any_ended_badly_before() const;
  std::map<pid_t, bool> was_alive_;  ///< when it was first sent SIGKILL
  std::map<pid_t, int> statuses_;    ///< of those waited for
};

}  // namespace fgmpi::launcher
