// The messages by which processes agree, so that they stay within 32 rounds of a
// persistent collective.

#include "coll/rounds.h"

#include <algorithm>

#include "comm/broken.h"
#include "comm/hierarchy.h"
#include "system-ranked/group_tree.h"

namespace fgmpi::coll {
namespace {

/// Returns when all processes have called this; *any is whether any of them has set it. In step k =
/// 0, 1, ... each process sends what it knows to the one 2^k further on. The messages do not use
/// the collective's own team, as they must go on whatever fails. When the communicator breaks,
/// other processes leave without sending, and only receives that are posted then are ended: so
/// before each step it is made sure that it is not broken yet.
Status any_of_all(const comm::SharedComm& shared, const Team& team, bool* any) {
  const uint32_t n = team.count();
  for (uint32_t distance = 1; distance < n; distance *= 2) {
    const uint32_t to = (team.me() + distance) % n, from = (team.me() + n - distance) % n;
    const char mine = *any;
    char theirs = 0;
    FGMPI_TRY(comm::broken_status(shared));
    FGMPI_TRY(team.exchange(to, &mine, 1, from, &theirs, 1));
    *any |= theirs != 0;
  }
  return {};
}

/// As any_of_all(), up and down the tree of a system-ranked communicator. The team is this process,
/// then its parent if it has one, then its children.
Status any_of_tree(const comm::SharedComm& shared, const Team& team, bool has_parent, bool* any) {
  char said = *any, other = 0;
  const uint32_t first_child = has_parent ? 2 : 1;
  for (uint32_t child = first_child; child < team.count(); ++child) {
    FGMPI_TRY(comm::broken_status(shared));
    FGMPI_TRY(team.recv(child, &other, 1));
    said |= other;
  }
  if (has_parent) {
    FGMPI_TRY(team.send(1, &said, 1));
    FGMPI_TRY(comm::broken_status(shared));
    FGMPI_TRY(team.recv(1, &said, 1));
  }
  for (uint32_t child = first_child; child < team.count(); ++child)
    FGMPI_TRY(team.send(child, &said, 1));
  *any = said != 0;
  return {};
}

}  // namespace

std::vector<uint32_t> processes_that_agree(comm::SharedComm* shared, uint32_t* me) {
  *me = 0;
  if (shared->tree) {
    const system_ranked::TreePosition& place = system_ranked::tree_of(*shared)->place();
    std::vector<uint32_t> out{g_av.me()};
    if (place.parent != system_ranked::kNobody) out.push_back(place.parent);
    out.insert(out.end(), place.children.begin(), place.children.end());
    return out;
  }
  const comm::Hierarchy& own = comm::hierarchy(shared);
  const comm::Hierarchy& remote = shared->inter ? comm::remote_hierarchy(shared) : own;
  const comm::Hierarchy& first = shared->side == 0 ? own : remote;
  const comm::Hierarchy& second = shared->side == 0 ? remote : own;
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < first.count(); ++i) out.push_back(first.processes[i]);
  for (uint32_t i = 0; i < second.count(); ++i)
    if (first.index_of_process(second.processes[i]) == ~0u) out.push_back(second.processes[i]);
  *me = static_cast<uint32_t>(std::find(out.begin(), out.end(), g_av.me()) - out.begin());
  return out;
}

Status any_of_processes(comm::SharedComm* shared, const Team& team, bool* any) {
  if (!shared->tree) return any_of_all(*shared, team, any);
  return any_of_tree(*shared, team,
                     system_ranked::tree_of(*shared)->place().parent != system_ranked::kNobody,
                     any);
}

}  // namespace fgmpi::coll
