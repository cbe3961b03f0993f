#include "liveness/lost_peer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/attach.h"
#include "base/stand_still.h"
#include "base/strings.h"
#include "ch4-av-rankmap/av.h"

namespace fgmpi::liveness {
namespace {

/// The dead process's neighbour takes a tenth of a second and the launcher less; then it was neither.
constexpr int64_t kGrace = 1'500'000'000;
/// Processes speak one after the other, the first one ends the job.
constexpr int64_t kStagger = 20'000'000;
constexpr uint32_t kMostStaggers = 50;

}  // namespace

void Neighbour::consider(uint32_t process, const Card& card) {
  if (process == me_ || card.host_id != own_.host_id) return;
  first_of_host_ &= process > me_;
  auto distance = [this](uint32_t p) { return p > me_ ? p - me_ : p + processes_ - me_; };
  // The ring goes both ways: the farthest one watches over this process.
  if (!found_ || distance(watcher_) < distance(process)) {
    watcher_ = process;
    watcher_pid_ = card.pid;
  }
  if (found_ && distance(process_) < distance(process)) return;
  found_ = true;
  process_ = process;
  card_ = card;
}

void Neighbour::allow_watch() const {
  if (!found_ || !watch_wanted()) return;
  attach_permission().allow(watcher_pid_);
}

void Neighbour::watch() const {
  start_watch(own_.launcher_fd, found_ ? &card_ : nullptr,
              found_ ? words_of_process(process_, card_) : "", first_of_host_);
}

std::string words_of_process(uint32_t process, const Card& card) {
  const uint32_t first = g_av.first(process), count = g_av.count(process);
  const std::string ranks = count == 1 ? format("world rank %u", first)
                                       : format("world ranks %u to %u", first, first + count - 1);
  return format("process %u of the job (process id %d on host %s, %s)", process, card.pid,
                card.host_name.c_str(), ranks.c_str());
}

void end_for_lost_peer(bootstrap::Bootstrap& boot, uint32_t process, const std::string& why,
                       Status (*find)(uint32_t, Card*)) {
  stand_still(kGrace + std::min(g_av.me(), kMostStaggers) * kStagger);
  Card card;
  const Status known = find(process, &card);
  const std::string who =
      known.ok() ? words_of_process(process, card) : format("process %u of the job", process);
  // The fault may be at this end.
  const char* hint = why.ends_with(std::strerror(EMFILE)) ? " (here: raise ulimit -n)" : "";
  const std::string line = format("fgmpi: %s is gone: %s%s\n", who.c_str(), why.c_str(), hint);
  std::fputs(line.c_str(), stderr);
  boot.abort(1, line);
}

}  // namespace fgmpi::liveness
