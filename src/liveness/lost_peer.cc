// Which process watches which, and the line that reports a loss.

#include "liveness/lost_peer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/attach.h"
#include "base/environment.h"
#include "base/stand_still.h"
#include "base/strings.h"
#include "ch4-av-rankmap/av.h"
#include "liveness/report_line.h"
#include "liveness/watch.h"

namespace fgmpi::liveness {
namespace {

/// A watcher reports within 0.1 s, and the launcher then ends the job soon. If neither has happened
/// within this time (ns), no process nearer to the lost one has seen its end.
constexpr int64_t kOthersReportWithin = 1'500'000'000;
/// After that the processes report one after the other, in the order of their numbers, so many ns
/// apart: the first one ends the job.
constexpr int64_t kBetweenReports = 20'000'000;
constexpr uint32_t kMostTurns = 50;

}  // namespace

void WatchRing::add(uint32_t process, const Card& card) {
  if (process == me_ || card.host_id != own_.host_id) return;
  first_of_host_ &= process > me_;
  if (!found_ || distance(process) > distance(watcher_)) {
    watcher_ = process;
    watcher_pid_ = card.pid;
  }
  if (!found_ || distance(process) <= distance(next_)) {
    next_ = process;
    next_card_ = card;
  }
  found_ = true;
}

void WatchRing::allow_watch() const {
  if (found_ && watch_wanted()) attach_permission().allow(watcher_pid_);
}

void WatchRing::start() const {
  // In a job that goes on, every process finds an end itself, and the launcher must see it at once.
  const bool watches = found_ && !environment::text(environment::kFt);
  start_watch(own_.launcher_fd, watches ? &next_card_ : nullptr,
              found_ ? describe_process(next_, next_card_) : "", first_of_host_);
}

std::string describe_process(uint32_t process, const Card& card) {
  const uint32_t first = g_av.first(process), count = g_av.count(process);
  const std::string ranks = count == 1 ? format("world rank %u", first)
                                       : format("world ranks %u to %u", first, first + count - 1);
  return format("process %u of the job (process id %d on host %s, %s)", process, card.pid,
                card.host_name.c_str(), ranks.c_str());
}

void abort_for_lost_peer(bootstrap::Bootstrap& boot, uint32_t process, const std::string& why,
                         Status (*find_card)(uint32_t, Card*)) {
  stand_still(kOthersReportWithin + std::min(g_av.me(), kMostTurns) * kBetweenReports);
  Card card;
  const Status found = find_card(process, &card);
  const std::string description =
      found.ok() ? describe_process(process, card) : format("process %u of the job", process);
  // This process has no free descriptors: the fault is here.
  const char* hint = why.ends_with(std::strerror(EMFILE)) ? " (here: raise ulimit -n)" : "";
  const std::string line = begin_of_loss(description) + why + hint + "\n";
  std::fputs(line.c_str(), stderr);
  boot.abort(1, line);
  std::abort();  // never reached: some compilers ignore [[noreturn]] of virtual functions
}

}  // namespace fgmpi::liveness
