// Maps over several process groups: making them, looking ranks up, merging.

#include "ch4-av-rankmap/mlut.h"

#include <algorithm>

#include "groupmap/codec.h"

namespace fgmpi {

MlutMap::MlutMap(std::vector<GroupRank> pairs)
    : GroupMap(kEncoding, static_cast<int32_t>(pairs.size()),
               std::is_sorted(pairs.begin(), pairs.end(),
                              [](GroupRank a, GroupRank b) {
                                return a.pgid != b.pgid ? a.pgid < b.pgid : a.lpid < b.lpid;
                              })),
      pairs_(std::move(pairs)) {}

int32_t MlutMap::rank(int32_t global) const {
  if (global < 0) return -1;
  auto at = std::find(pairs_.begin(), pairs_.end(), g_process_groups.find_rank(global));
  return at == pairs_.end() ? -1 : static_cast<int32_t>(at - pairs_.begin());
}

bool MlutMap::validate(std::string* reason) const {
  std::vector<int32_t> globals;
  globals.reserve(pairs_.size());
  for (GroupRank g : pairs_) {
    if (!g_process_groups.known(g.pgid))
      return groupmap::invalid(reason, "process group %u is not known; %u other ones are", g.pgid,
                               g_process_groups.others());
    uint32_t size = g_process_groups.ranks(g.pgid);
    if (g.lpid >= size)
      return groupmap::invalid(reason, "rank %u is not in process group %u; allowed is 0 to %u",
                               g.lpid, g.pgid, size - 1);
    globals.push_back(g_process_groups.global_of(g));
  }
  return groupmap::all_distinct(globals) || groupmap::invalid(reason, "a member occurs twice");
}

void MlutMap::write(groupmap::ByteWriter& out) const {
  for (GroupRank g : pairs_) {
    out.varint(g.pgid);
    out.varint(g.lpid);
  }
}

Status merged_map(std::vector<GroupRank> members, RankMap* out) {
  auto* map = new MlutMap(std::move(members));
  RankMap merged{groupmap::MapRef(map)};
  std::string why;
  if (!map->validate(&why))
    return error(groupmap::kErrOther, "a merged group is refused: %s", why.c_str());
  auto own = [](GroupRank g) { return g.pgid == 0; };
  bool ordinary = std::all_of(map->pairs().begin(), map->pairs().end(), own);
  *out = ordinary ? RankMap::from_ranks(merged.encoded().expand()) : std::move(merged);
  return {};
}

RankMap merged_map_of(std::span<const int32_t> globals) {
  std::vector<GroupRank> members;
  members.reserve(globals.size());
  for (int32_t global : globals) members.push_back(g_process_groups.find_rank(global));
  RankMap map;
  Status status = merged_map(std::move(members), &map);
  FGMPI_CHECK(status.ok());
  return map;
}

bool has_foreign(const RankMap& map) {
  if (g_process_groups.others() == 0) return false;
  return map.count_within(0, static_cast<int32_t>(g_av.world_size())) < map.size();
}

bool spans_groups(const RankMap& map) {
  if (g_process_groups.others() == 0 || map.size() == 0) return false;
  const uint32_t pgid = g_process_groups.find_rank(map.world_of(0)).pgid;
  const auto first = static_cast<int32_t>(g_process_groups.first_rank(pgid));
  const auto past = first + static_cast<int32_t>(g_process_groups.ranks(pgid));
  return map.count_within(first, past) < map.size();
}

RankMap map_of_globals(std::span<const int32_t> globals) {
  uint32_t pgid = ProcessGroups::kNone;
  bool one = true;
  for (size_t i = 0; g_process_groups.others() > 0 && i < globals.size() && one; ++i) {
    const uint32_t of = g_process_groups.find_rank(globals[i]).pgid;
    one = i == 0 || of == pgid;
    pgid = of;
  }
  return one ? RankMap::from_ranks(globals) : merged_map_of(globals);
}

}  // namespace fgmpi
