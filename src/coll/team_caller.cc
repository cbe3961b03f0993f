// Which teams may send to all others at once.

#include "coll/team_caller.h"

#include "ch4-av-rankmap/hosts.h"
#include "multicast/comm_groups.h"

namespace fgmpi::coll {

bool may_multicast(const Team& team, bool forced) {
  const uint32_t least_hosts = multicast::least_hosts();
  const comm::SharedComm* shared = team.open().shared;
  if (least_hosts == 0 || !shared || shared->inter || shared->tree || shared->id.is_drawn() ||
      team.count() < 2)
    return false;
  return forced || g_hosts.count() >= least_hosts;
}

uint32_t count_hosts(const Team& team) {
  return g_hosts.count_of([&](uint32_t p) { return team.process(p); }, team.count());
}

}  // namespace fgmpi::coll
