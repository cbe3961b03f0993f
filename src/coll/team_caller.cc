// Which collectives go by multicast.

#include "coll/team_caller.h"

#include "ch4-av-rankmap/hosts.h"
#include "coll/selector.h"
#include "multicast/comm_groups.h"

namespace fgmpi::coll {

bool wants_multicast(const Team& team, settings::SettingId setting, const Shape& shape) {
  const uint32_t least_hosts = multicast::least_hosts();
  const comm::SharedComm* shared = team.open().shared;
  if (least_hosts == 0 || !shared || shared->inter || shared->tree || shared->id.is_drawn() ||
      team.count() < 2)
    return false;
  if (settings::is_set(setting)) return settings::text(setting) == "multicast";
  return g_hosts.count() >= least_hosts && picks_multicast(setting, shape) &&
         g_hosts.count_of([&](uint32_t p) { return team.process(p); }, team.count()) >= least_hosts;
}

}  // namespace fgmpi::coll
