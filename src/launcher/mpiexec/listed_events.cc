// The lines of events, with lines of the program.

#include "launcher/mpiexec/listed_events.h"

#include <mpi.h>
#include <sys/socket.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "base/strings.h"
#include "readers/findings/report.h"
#include "rewind/control.h"
#include "rewind/hooks.h"

namespace fgmpi::launcher {
namespace {

using rewind::ListedEvent;

/// The program's line of each place, found in the mappings of the process.
class PlaceNames {
 public:
  explicit PlaceNames(pid_t process) : process_(process) {}

  const std::string& name(uint64_t place) {
    const auto [at, fresh] = names_.try_emplace(place);
    if (fresh) at->second = find(place);
    return at->second;
  }

 private:
  std::string find(uint64_t place) const {
    std::ifstream maps("/proc/" + std::to_string(process_) + "/maps");
    std::map<std::string, uint64_t> bases;  // where each file begins, most recently
    for (std::string line; std::getline(maps, line);) {
      uint64_t low = 0, high = 0, offset = 0;
      int path = 0;
      if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &low,
                      &high, &offset, &path) < 3)
        continue;
      const std::string file = line.substr(static_cast<size_t>(path));
      if (offset == 0) bases[file] = low;
      if (place < low || place >= high || !file.starts_with('/')) continue;
      const findings::SourceLine found = findings::find_line({file, place - 1 - bases[file]});
      if (found.line <= 0) return file.substr(file.rfind('/') + 1);
      return found.file.substr(found.file.rfind('/') + 1) + ":" + std::to_string(found.line) +
             (found.function.empty() ? "" : " (" + found.function + ")");
    }
    return "?";
  }

  const pid_t process_;
  std::map<uint64_t, std::string> names_;
};

bool is_wanted(const ListedEvent& event, const LaunchPlan::Rewind& wishes) {
  return (wishes.rank < 0 || event.rank == wishes.rank) &&
         (wishes.call.empty() || wishes.call == event.call);
}

void print(const ListedEvent& event, const std::string& place) {
  std::string partner, count;
  if (event.partner == MPI_ANY_SOURCE)
    partner = " any rank";
  else if (event.partner == MPI_PROC_NULL)
    partner = " no rank";
  else if (event.partner != rewind::kNoPartner)
    partner = " rank " + std::to_string(event.partner);
  if (event.count) count = ", count " + std::to_string(event.count);
  std::printf("%" PRIu64 " rank %d %s%s%s at %s\n", event.number, event.rank, event.call,
              partner.c_str(), count.c_str(), place.c_str());
}

}  // namespace

void print_events(int control, pid_t process, const LaunchPlan::Rewind& wishes) {
  PlaceNames places(process);
  ListedEvent event;
  while (recv(control, &event, sizeof event, MSG_WAITALL) == sizeof event) {
    event.call[sizeof event.call - 1] = 0;
    if (is_wanted(event, wishes)) print(event, places.name(event.place));
  }
}

}  // namespace fgmpi::launcher
