// The first run, snapshots, and runs to an event.

#include "launcher/mpiexec/rewound_run.h"

#include <mpi.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>

namespace fgmpi::launcher {
namespace {

using rewind::ControlOrder;
using rewind::ControlReport;

/// With so many, an event of a run of ten seconds is a sixth of a second from a snapshot.
constexpr size_t kMostSnapshots = 64;
/// Snapshots so many events before the last stop stay: the next way probably goes back from there.
constexpr uint64_t kNear = 1 << 20;

/// Memory that only this process has (bytes), and its part of what it shares with others.
uint64_t memory_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/smaps_rollup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("Pss:")) return std::strtoull(line.c_str() + 4, nullptr, 10) * 1024;
  return 0;
}

}  // namespace

RewoundRun::RewoundRun(pid_t process, int control, uint64_t most_bytes)
    : first_{process, control},
      first_reports_(control),
      events_(process, &first_reports_),
      most_bytes_(most_bytes) {}

RewoundRun::~RewoundRun() {
  for (const auto& [event, snapshot] : snapshots_) end(snapshot);
  end(runner_);
  end(first_);
}

void RewoundRun::end(const ServedProcess& process) {
  if (process.control < 0) return;
  kill(process.process, SIGKILL);
  close(process.control);
}

void RewoundRun::add_snapshot(const ControlReport& report, int control) {
  const ServedProcess snapshot{report.process, control};
  if (const auto [at, fresh] = snapshots_.try_emplace(report.number, snapshot); !fresh)
    return end(snapshot);
  thin_out();
}

uint64_t RewoundRun::snapshot_bytes() const {
  uint64_t sum = 0;
  for (const auto& [event, snapshot] : snapshots_) sum += memory_of(snapshot.process);
  return sum;
}

void RewoundRun::thin_out() {
  // Reading the memory of all snapshots takes some ten milliseconds.
  constexpr uint64_t kSnapshotsPerLook = 16;
  const bool looks = ++since_thinned_ % kSnapshotsPerLook == 0;
  while (snapshots_.size() > 2 &&
         (snapshots_.size() > kMostSnapshots || (looks && snapshot_bytes() > most_bytes_))) {
    // The first one stays, since all events are behind it.
    auto best = std::next(snapshots_.begin());
    uint64_t shortest = std::numeric_limits<uint64_t>::max();
    for (auto at = best; std::next(at) != snapshots_.end(); ++at) {
      const uint64_t way = std::next(at)->first - std::prev(at)->first;
      const bool is_near = at->first <= target_ && target_ - at->first <= kNear;
      if (way < shortest && !is_near) shortest = way, best = at;
    }
    end(best->second);
    snapshots_.erase(best);
  }
}

void RewoundRun::run_through() {
  ControlReport report;
  for (int fd; first_reports_.receive(&report, &fd);) {
    if (report.kind == ControlReport::kEvents) events_.add_received();
    if (report.kind == ControlReport::kSnapshot && fd >= 0) add_snapshot(report, fd);
  }
  end(first_);
  first_.control = -1;
}

Status RewoundRun::go_to(uint64_t event, pid_t* process) {
  auto snapshot = snapshots_.upper_bound(event);
  if (event == 0 || event > events_.count() || snapshot == snapshots_.begin())
    return error(MPI_ERR_ARG, "goto %llu: allowed is an event from 1 to %llu",
                 static_cast<unsigned long long>(event),
                 static_cast<unsigned long long>(events_.count()));
  --snapshot;
  target_ = event;
  end(runner_);
  runner_.control = -1;
  const ControlOrder order{event, 0, 1, 0, 0};
  const auto lost = [=] {
    return error(MPI_ERR_OTHER, "goto %llu: the process has ended",
                 static_cast<unsigned long long>(event));
  };
  ControlReport report{};
  int fd = -1;
  if (send(snapshot->second.control, &order, sizeof order, MSG_NOSIGNAL) != sizeof order ||
      !ReportReader(snapshot->second.control).receive(&report, &fd) || fd < 0)
    return lost();
  runner_ = {report.process, fd};
  for (ReportReader reports(fd);;) {
    if (!reports.receive(&report, &fd)) return lost();
    if (report.kind == ControlReport::kSnapshot && fd >= 0) add_snapshot(report, fd);
    if (report.kind == ControlReport::kStopped) break;
  }
  *process = report.process;
  return {};
}

}  // namespace fgmpi::launcher
