// The table of groups by handle.

#include "comm/group.h"

#include "ch4-av-rankmap/mlut.h"
#include "host/handle_bits.h"

namespace fgmpi::comm {
namespace {

constexpr uint32_t kGroupBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kGroup);

Slab<Group> g_groups;

/// The index of one of our handles, or -1.
int64_t index_of(MPI_Group handle) {
  const bool is_ours = (static_cast<uint32_t>(handle) & host::kHandleTypeMask) == kGroupBase;
  return is_ours ? static_cast<int64_t>(host::handle_index(handle)) : -1;
}

}  // namespace

Group* find_group(MPI_Group handle) {
  static Group empty{RankMap(), MPI_UNDEFINED};
  if (handle == MPI_GROUP_EMPTY) return &empty;
  int64_t index = index_of(handle);
  return index < 0 ? nullptr : g_groups.get(static_cast<uint32_t>(index));
}

Status make_group(RankMap map, MPI_Group* out, uint32_t session) {
  if (map.size() == 0) {
    *out = MPI_GROUP_EMPTY;
    return {};
  }
  int64_t index = g_groups.create();
  if (index < 0)
    return error(MPI_ERR_OTHER, "this process has %u groups in use, the most that are allowed",
                 g_groups.live());
  for_each_other_group(map, [](uint32_t pgid) { g_process_groups.retain(pgid); });
  Group* group = g_groups.get(static_cast<uint32_t>(index));
  group->map = std::move(map);
  group->session = session;
  *out = static_cast<MPI_Group>(kGroupBase | static_cast<uint32_t>(index));
  return {};
}

void free_group(MPI_Group handle) {
  int64_t index = index_of(handle);
  Group* group = index >= 0 ? g_groups.get(static_cast<uint32_t>(index)) : nullptr;
  if (!group) return;
  std::vector<uint32_t> jobs;
  for_each_other_group(group->map, [&](uint32_t pgid) { jobs.push_back(pgid); });
  g_groups.destroy(static_cast<uint32_t>(index));
  for (uint32_t pgid : jobs) g_process_groups.release(pgid);
}

int32_t group_rank(Group* group) {
  if (group->rank == Group::kUnknown) {
    RankState* r = rank_state();
    int32_t rank = r ? group->map.rank_of(static_cast<int32_t>(r->world_rank)) : -1;
    group->rank = rank < 0 ? MPI_UNDEFINED : rank;
  }
  return group->rank;
}

uint32_t group_count() { return g_groups.live(); }

}  // namespace fgmpi::comm
