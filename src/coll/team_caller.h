// A team that multicasts: what the layer of multicast knows of it, and whether it wants to.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include "base/settings.h"
#include "coll/team.h"
#include "multicast/caller.h"

namespace fgmpi::coll {

struct Shape;

/// True if this collective must go by multicast, as far as settings, hosts and shape
/// (picks_multicast()) decide. The result is the same at all its processes. No message is sent to
/// find out.
bool wants_multicast(const Team& team, settings::SettingId setting, const Shape& shape);

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
