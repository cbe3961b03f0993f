// The table of process groups: adding, finding, naming and releasing them.

#include "ch4-av-rankmap/process_groups.h"

#include <mpi.h>

#include "base/hash.h"

namespace fgmpi {

ProcessGroups g_process_groups;

namespace {
constexpr uint64_t kMostRanks = uint64_t{1} << 31;
}  // namespace

Status ProcessGroups::add(const GroupUid& uid, std::span<const uint32_t> counts, uint32_t* pgid) {
  FGMPI_TRY(add_range(uid, counts, pgid));
  if (watcher_.added) watcher_.added(*pgid);
  return {};
}

Status ProcessGroups::add_hosted(const GroupUid& uid, std::span<const uint32_t> counts,
                                 std::vector<AddressVector::Host> hosts, uint32_t* pgid) {
  FGMPI_CHECK(hosts.size() == counts.size() && !hosts.empty());
  const uint32_t host = group_of_process(hosts[0].process);
  FGMPI_TRY(add_range(uid, counts, pgid));
  g_av.set_hosts(firsts_[*pgid].process, std::move(hosts));
  groups_[*pgid].host = host;
  retain(host);
  return {};
}

uint32_t ProcessGroups::short_name(uint32_t pgid) const {
  const GroupUid& u = uid(pgid);
  const auto name = static_cast<uint32_t>(mix(u.high, u.low));
  return name == 0 || name == kNone ? 1 : name;
}

uint32_t ProcessGroups::find_short_name(uint32_t name) const {
  for (uint32_t pgid = 0; pgid < count(); ++pgid)
    if (known(pgid) && short_name(pgid) == name) return pgid;
  return kNone;
}

Status ProcessGroups::add_range(const GroupUid& uid, std::span<const uint32_t> counts,
                                uint32_t* pgid) {
  uint64_t ranks = 0;
  bool empty = counts.empty();
  for (uint32_t count : counts) {
    ranks += count;
    empty |= count == 0;
  }
  if (empty || ranks >= kMostRanks || uid == own_ || by_uid_.count(uid))
    return error(MPI_ERR_OTHER,
                 "a job of %zu processes and %llu ranks is refused: allowed are 1 to 2^31 ranks, "
                 "at least one a process, of a job that is not known yet",
                 counts.size(), static_cast<unsigned long long>(ranks));
  const uint32_t process = g_av.add_range(counts);
  if (process == AddressVector::kNoRange)
    return error(MPI_ERR_OTHER,
                 "a job of %llu ranks is refused: with the %u ranks that are known already there "
                 "would be more than 2^31",
                 static_cast<unsigned long long>(ranks), g_av.all_ranks());
  uint32_t id = 1;
  while (id < count() && groups_[id].known) ++id;
  if (id == count()) {
    groups_.emplace_back();
    firsts_.emplace_back();
  }
  SpawnedGroup& group = groups_[id];
  group = SpawnedGroup{};
  group.uid = uid;
  group.processes = static_cast<uint32_t>(counts.size());
  group.ranks = static_cast<uint32_t>(ranks);
  group.known = true;
  group.cards.resize(counts.size());
  firsts_[id] = {g_av.first(process), process};
  find_elements();
  by_rank_[firsts_[id].rank] = id;
  by_process_[process] = id;
  by_uid_[uid] = id;
  *pgid = id;
  return {};
}

uint32_t ProcessGroups::find(const GroupUid& uid) const {
  if (uid == own_) return 0;
  auto it = by_uid_.find(uid);
  return it == by_uid_.end() ? kNone : it->second;
}

GroupRank ProcessGroups::find_rank(int32_t global) const {
  const auto rank = static_cast<uint32_t>(global);
  if (rank < g_av.world_size()) return {0, rank};
  auto it = by_rank_.upper_bound(rank);
  FGMPI_CHECK(it != by_rank_.begin());
  --it;
  FGMPI_CHECK(rank - it->first < groups_[it->second].ranks);
  return {it->second, rank - it->first};
}

uint32_t ProcessGroups::group_of_process(uint32_t process) const {
  if (process < g_av.processes()) return 0;
  auto it = by_process_.upper_bound(process);
  if (it == by_process_.begin()) return kNone;
  --it;
  return process - it->first < groups_[it->second].processes ? it->second : kNone;
}

bool ProcessGroups::before(int32_t global, int32_t other) const {
  const GroupRank a = find_rank(global), b = find_rank(other);
  return a.pgid == b.pgid ? a.lpid < b.lpid : uid(a.pgid) < uid(b.pgid);
}

uint32_t ProcessGroups::name_of(int32_t global) const {
  const GroupRank g = find_rank(global);
  const GroupUid& u = uid(g.pgid);
  return static_cast<uint32_t>(mix(mix(u.high, u.low), g.lpid));
}

const std::string& ProcessGroups::card(uint32_t pgid, uint32_t index) const {
  static const std::string none;
  const std::vector<std::string>& cards = pgid == 0 ? own_cards_ : groups_[pgid].cards;
  return index < cards.size() ? cards[index] : none;
}

void ProcessGroups::set_card(uint32_t pgid, uint32_t index, std::string_view card) {
  std::vector<std::string>& cards = pgid == 0 ? own_cards_ : groups_[pgid].cards;
  if (pgid == 0) cards.resize(g_av.processes());
  FGMPI_CHECK(index < cards.size());
  if (cards[index].empty()) cards[index] = card;
}

void ProcessGroups::release(uint32_t pgid) {
  if (pgid == 0) return;
  FGMPI_CHECK(groups_[pgid].references > 0);
  if (--groups_[pgid].references == 0) remove(pgid);
}

void ProcessGroups::remove_unused() {
  for (uint32_t pgid = 1; pgid < count(); ++pgid)
    if (groups_[pgid].known && groups_[pgid].references == 0) remove(pgid);
}

void ProcessGroups::remove(uint32_t pgid) {
  const uint32_t host = groups_[pgid].host;
  const bool hosted = host != kNone;
  if (watcher_.removing && !hosted) watcher_.removing(pgid);
  g_av.remove_range(firsts_[pgid].process, groups_[pgid].processes);
  by_rank_.erase(firsts_[pgid].rank);
  by_process_.erase(firsts_[pgid].process);
  by_uid_.erase(groups_[pgid].uid);
  groups_[pgid] = SpawnedGroup{};
  while (count() > 1 && !groups_.back().known) {
    groups_.pop_back();
    firsts_.pop_back();
  }
  find_elements();
  if (watcher_.removed && !hosted) watcher_.removed();
  if (hosted) release(host);
}

void ProcessGroups::find_elements() {
  elements_.resize(count());
  for (uint32_t pgid = 0; pgid < count(); ++pgid)
    elements_[pgid] = g_av.elements() + firsts_[pgid].process;
}

}  // namespace fgmpi
