// Processes that are gone: who they were, and how the job ends.
//
// A killed process is seen first by the next one of its host (src/liveness/watch.h) and by the launcher; a host that
// cannot be reached by the transports. Whoever speaks names the process, its id, its host and its ranks, and aborts the
// job; mpiexec passes on the first such line only (src/launcher/hydra_guard.cc).
// Thread rule: host stack or a transport's poll; blocks the process, which is about to end.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "bootstrap/bootstrap.h"
#include "liveness/watch.h"

namespace fgmpi::liveness {

/// Chooses, out of the cards of all other processes, whom this one watches over: the next of its host, in a ring.
class Neighbour {
 public:
  Neighbour(const Card& own, uint32_t me, uint32_t processes)
      : own_(own), me_(me), processes_(processes) {}
  void consider(uint32_t process, const Card& card);
  /// Lets the one that watches over this process attach to it. To be called by all before any calls watch().
  void allow_watch() const;
  /// Starts the watch. REQUIRES: the address vector is set up.
  void watch() const;

 private:
  Card own_;
  uint32_t me_, processes_;
  bool found_ = false;
  uint32_t process_ = 0;
  uint32_t watcher_ = 0;
  int watcher_pid_ = 0;
  Card card_;
  bool first_of_host_ = true;
};

/// "process 3 of the job (process id 4711 on host vm, world ranks 300 to 399)".
std::string words_of_process(uint32_t process, const Card& card);

/// For pt2pt::set_peer_failed_handler: gives who is nearer to the fault time to speak, then speaks
/// and aborts the job: never returns. `card` finds what the process published.
void end_for_lost_peer(bootstrap::Bootstrap& boot, uint32_t process, const std::string& why,
                       Status (*card)(uint32_t, Card*));

}  // namespace fgmpi::liveness
