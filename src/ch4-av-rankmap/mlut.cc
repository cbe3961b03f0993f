#include "ch4-av-rankmap/mlut.h"

#include <algorithm>

#include "groupmap/codec.h"

namespace fgmpi {

ProcessGroups g_process_groups;

uint32_t ProcessGroups::add(const AddressVector* av) {
  uint64_t first = uint64_t{firsts_.back()} + avs_.back()->world_size();
  FGMPI_CHECK(first + av->world_size() <= uint64_t{1} << 31);
  elements_[0] = g_av.elements();
  elements_.push_back(av->elements());
  avs_.push_back(av);
  firsts_.push_back(static_cast<uint32_t>(first));
  return count() - 1;
}

GroupRank ProcessGroups::find(int32_t global) const {
  auto rank = static_cast<uint32_t>(global);
  uint32_t pgid = count() - 1;
  while (firsts_[pgid] > rank) --pgid;
  return {pgid, rank - firsts_[pgid]};
}

MlutMap::MlutMap(std::vector<GroupRank> pairs)
    : GroupMap(kEncoding, static_cast<int32_t>(pairs.size()),
               std::is_sorted(pairs.begin(), pairs.end(),
                              [](GroupRank a, GroupRank b) {
                                return a.pgid != b.pgid ? a.pgid < b.pgid : a.lpid < b.lpid;
                              })),
      pairs_(std::move(pairs)) {}

int32_t MlutMap::rank(int32_t global) const {
  if (global < 0) return -1;
  auto at = std::find(pairs_.begin(), pairs_.end(), g_process_groups.find(global));
  return at == pairs_.end() ? -1 : static_cast<int32_t>(at - pairs_.begin());
}

bool MlutMap::validate(std::string* reason) const {
  std::vector<int32_t> globals;
  globals.reserve(pairs_.size());
  for (GroupRank g : pairs_) {
    if (g.pgid >= g_process_groups.count())
      return groupmap::invalid(reason, "process group %u is not known; allowed is 0 to %u", g.pgid,
                               g_process_groups.count() - 1);
    uint32_t size = g_process_groups.av(g.pgid).world_size();
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
  for (int32_t global : globals) members.push_back(g_process_groups.find(global));
  RankMap map;
  Status status = merged_map(std::move(members), &map);
  FGMPI_CHECK(status.ok());
  return map;
}

}  // namespace fgmpi
