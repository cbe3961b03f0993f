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

#include <cstdint>
#include <map>

namespace fgmpi::launcher {

class Ends {
 public:
  /// Called before SIGKILL is sent to the process `child` and its group.
  void before_kill(pid_t child);
  /// Called when waitpid() has returned this status for `child`. Returns the status for the proxy.
  /// May wait for a process that is just ending.
  int status(pid_t child, int status);
  /// True while the proxy should not learn yet that `child` has ended badly: until it has read the
  /// end of a connection, for at most 2 s from the first call for this child on. A proxy of hydra
  /// 5.0 that learns the status before the end of the connection ends no other process. The process
  /// that watches this one holds the connection open for a moment (liveness/watch.h). `now`: ns.
  bool hold_back(pid_t child, int64_t now);
  /// Called when the proxy has read the end of a connection.
  void connection_ended() { connection_ended_ = true; }

 private:
  bool any_ended_badly_before() const;
  std::map<pid_t, bool> was_alive_;  ///< at its first SIGKILL
  std::map<pid_t, int> statuses_;    ///< of the processes that waitpid() has returned
  std::map<pid_t, int64_t> held_back_since_;
  bool connection_ended_ = false;
};

}  // namespace fgmpi::launcher
