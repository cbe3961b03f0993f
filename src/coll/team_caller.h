// A team that multicasts: what the layer of multicast knows of it, and whether it may.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include "coll/team.h"
#include "multicast/caller.h"

namespace fgmpi::coll {

/// True if this team may use multicast, as far as settings and hosts decide. The result is the same
/// at all its processes. No message is sent to find out. `forced`: the user names the algorithm, so
/// the number of hosts does not count.
bool may_multicast(const Team& team, bool forced);
/// On how many hosts the team's processes are.
uint32_t count_hosts(const Team& team);

class TeamCaller final : public multicast::MulticastCaller {
 public:
  explicit TeamCaller(const Team& team)
      : MulticastCaller(team.processes(), team.me(), team.open().ctx, team.open().tag,
                        team.open().signature, team.call()),
        open_(team.open()) {}
  bool failed() const override { return open_.failed(); }
  Status failure() const override { return open_.failure(); }

 private:
  const OpenTeam& open_;
};

}  // namespace fgmpi::coll
