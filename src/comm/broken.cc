// Finds the communicators that have lost a member or are revoked, and ends what is under way
// in them.

#include "comm/broken.h"

#include <mpi.h>

#include <unordered_set>
#include <vector>

#include "base/strings.h"
#include "comm/context.h"
#include "comm/create.h"
#include "comm/meeting.h"
#include "pt2pt/lost.h"

namespace fgmpi::comm {
namespace {

std::vector<void (*)(SharedComm*, const Status&)> g_on_broken;
bool g_any_broken = false;
/// Ids of revoked communicators, stored for the whole run as a notice may come late. The ids are
/// not given to other communicators (retire_id()).
std::unordered_set<uint64_t> g_revoked;

/// The first lost process that hosts a member, or -1.
int64_t lost_member(const RankMap& group, const RankMap* remote) {
  for (uint32_t process : pt2pt::lost_processes())
    if (has_member_in(group, process) || (remote && has_member_in(*remote, process)))
      return process;
  return -1;
}

int64_t lost_member(const SharedComm& shared) {
  const std::vector<uint32_t>& lost = pt2pt::lost_processes();
  if (shared.tree && !shared.hierarchy) return lost.empty() ? -1 : int64_t{lost.front()};
  return lost_member(shared.map, shared.remote.get());
}

}  // namespace

bool has_member_in(const RankMap& map, uint32_t process) {
  const auto first = static_cast<int32_t>(g_av.first(process));
  return map.count_within(first, first + static_cast<int32_t>(g_av.count(process))) > 0;
}

Status broken_status(const SharedComm& shared) {
  if (shared.broken & kRevoked)
    return error(MPIX_ERR_REVOKED,
                 "the communicator has been revoked; allowed are MPIX_Comm_shrink, "
                 "MPIX_Comm_agree and local calls");
  if (!shared.broken) return {};
  const int64_t process = lost_member(shared);
  return pt2pt::process_failed(static_cast<uint32_t>(process));
}

Status group_has_failed(const RankMap& group, const RankMap* remote) {
  return pt2pt::process_failed(static_cast<uint32_t>(lost_member(group, remote)));
}

bool has_lost_member(const SharedComm& shared) { return lost_member(shared) >= 0; }

void break_comm(SharedComm* shared, Broken how) {
  if (shared->broken & how) return;
  shared->broken |= how;
  g_any_broken = true;
  const Status status = broken_status(*shared);
  fail_open_meetings(shared, status);
  for (auto* handler : g_on_broken) handler(shared, status);
}

void break_by_loss() {
  std::vector<SharedComm*> broken;
  for_each_shared([&](SharedComm& shared) {
    if (!(shared.broken & kLostMember) && has_lost_member(shared)) broken.push_back(&shared);
  });
  for (SharedComm* shared : broken) break_comm(shared, kLostMember);
  break_creations();
  wake_agreements();
}

bool revoke(ContextId id) {
  if (!g_revoked.insert(id.bits).second) return false;
  retire_id(id);
  for (uint8_t side : {0, 1})
    if (SharedComm* shared = find_shared(id, side)) break_comm(shared, kRevoked);
  break_creations();
  wake_agreements();
  return true;
}

bool is_revoked(ContextId id) { return !g_revoked.empty() && g_revoked.count(id.bits) > 0; }

void add_broken_handler(void (*handler)(SharedComm*, const Status&)) {
  g_on_broken.push_back(handler);
}
bool any_broken() { return g_any_broken; }

void mark_if_broken(SharedComm* shared) {
  if (is_revoked(shared->id)) shared->broken |= kRevoked;
  if (has_lost_member(*shared)) shared->broken |= kLostMember;
  g_any_broken |= shared->broken != 0;
}

}  // namespace fgmpi::comm
