// Lost processes: which one watches which, how they are named, and the end of the job.
//
// Who finds a process lost names it by its number, process id, host and ranks, and aborts the job.
// On one host that is the process's watcher (watch.h), at once. The transports find losses too: of
// processes on other hosts, which nobody here watches, and of those of this host, later.
//
// Thread rule: host stack or a transport's poll; blocks the process, which is about to end.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "bootstrap/bootstrap.h"
#include "liveness/card.h"

namespace fgmpi::liveness {

/// The ring of the processes of one host, as one of them sees it: it watches the next one, the one
/// before watches it.
class WatchRing {
 public:
  WatchRing(const Card& own, uint32_t me, uint32_t processes)
      : own_(own), me_(me), processes_(processes) {}
  /// Any process of the job, in any order, also more than once.
  void add(uint32_t process, const Card& card);

  bool is_alone() const { return !found_; }
  /// REQUIRES: not alone.
  uint32_t next() const { return next_; }
  uint32_t watcher() const { return watcher_; }

  /// Lets this process's watcher attach to it. All processes do that before any of them calls
  /// start().
  void allow_watch() const;
  /// Starts the watcher of this process. REQUIRES: the address vector is set up.
  void start() const;

 private:
  uint32_t distance(uint32_t process) const {
    return process > me_ ? process - me_ : process + processes_ - me_;
  }

  Card own_;
  uint32_t me_, processes_;
  bool found_ = false;
  uint32_t next_ = 0, watcher_ = 0;
  Card next_card_;
  int watcher_pid_ = 0;
  bool first_of_host_ = true;
};

/// "process 3 of the job (process id 4711 on host vm, world ranks 300 to 399)".
std::string describe_process(uint32_t process, const Card& card);

/// Process `process` is lost, as a transport has found. Waits until those who know better have had
/// the time to report it, then reports it and aborts the job. Never returns. `find_card` gives what
/// the process has published.
[[noreturn]] void abort_for_lost_peer(bootstrap::Bootstrap& boot, uint32_t process,
                                      const std::string& why, Status (*find_card)(uint32_t, Card*));

}  // namespace fgmpi::liveness
