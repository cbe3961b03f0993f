// Lost processes: which one watches which, how they are named, and the end of the job.
//
// The process that finds another one lost names it by its number, process id, host and ranks, and
// aborts the job. On one host that is the lost process's watcher (watch.h), at once. The transports
// find losses too: of processes on other hosts, which no process here watches, and, later, of those
// of this host.
//
// Thread rule: host stack or a transport's poll; blocks the process, which is about to end.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "bootstrap/bootstrap.h"
#include "liveness/card.h"

namespace fgmpi::liveness {

/// The ring of the processes of one host, from the position of one of them: it watches the next
/// one, and the one before it watches it.
class WatchRing {
 public:
  WatchRing(const Card& own, uint32_t me, uint32_t processes)
      : own_(own), me_(me), processes_(processes) {}
  /// Adds a process of the job. Processes may be added in any order, also more than once.
  void add(uint32_t process, const Card& card);

  bool is_alone() const { return !found_; }
  /// REQUIRES: not alone.
  uint32_t next() const { return next_; }
  uint32_t watcher() const { return watcher_; }

  /// Lets the watcher of this process attach to it. All processes do this before any of them
  /// calls start().
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

/// Reports that process `process` is lost, which a transport has found, and aborts the job. First
/// waits for the time in which its watcher or the launcher would report the loss. Never returns.
/// `find_card` finds what the process has published.
[[noreturn]] void abort_for_lost_peer(bootstrap::Bootstrap& boot, uint32_t process,
                                      const std::string& why, Status (*find_card)(uint32_t, Card*));

}  // namespace fgmpi::liveness
