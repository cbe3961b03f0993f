// mlut: rank maps of communicators that merge process groups, as a table of <pgid, lpid>.
//
//   rank r:  | pgid (32) | lpid (32) |      8 bytes a member
//              |             `---- rank in that group's MPI_COMM_WORLD: index of its address vector
//              `------------------ index in ProcessGroups; the job's own group is 0
//
// When it wins: it is used only for communicators with members of several process groups
// (Intercomm_merge after spawn or connect); each side of an intercommunicator is a map of one
// group. To all other code a member is one number, its global rank: the world rank in the own
// group, and after that the ranks of other groups, one group after the other. So set algebra,
// comparison and lookup work on merged groups as on any other; only translation to an address reads
// the pairs. A RankMap holds the table as a stored map (Model::kMlut): ordinary communicators pay
// nothing for it.
// Thread rule: one thread. Invariant: pairs are distinct; ProcessGroups has their groups as long as
// the map exists. Source: IPDPS'17 section III-C.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ch4-av-rankmap/process_groups.h"
#include "ch4-av-rankmap/rankmap.h"

namespace fgmpi {

class MlutMap final : public groupmap::GroupMap {
 public:
  /// An id outside groupmap's encodings. No map of groupmap's wire form has it: travel.h describes
  /// how such a map travels.
  static constexpr auto kEncoding = static_cast<groupmap::Encoding>(255);
  explicit MlutMap(std::vector<GroupRank> pairs);

  GroupRank at(int32_t i) const { return pairs_[static_cast<size_t>(i)]; }
  std::span<const GroupRank> pairs() const { return pairs_; }
  int32_t select(int32_t i) const override { return g_process_groups.global_of(at(i)); }
  int32_t rank(int32_t global) const override;
  size_t bytes() const override { return sizeof *this + pairs_.size() * sizeof(GroupRank); }
  bool validate(std::string* reason) const override;
  void write(groupmap::ByteWriter& out) const override;
  std::string describe() const override { return "mlut"; }

 private:
  std::vector<GroupRank> pairs_;
};

/// The mlut of a map, nullptr for all other models.
inline const MlutMap* mlut_of(const RankMap& map) {
  const groupmap::MapRef& m = map.encoded();
  if (m.shape() != groupmap::Shape::kStored || m.stored()->encoding() != MlutMap::kEncoding)
    return nullptr;
  return static_cast<const MlutMap*>(m.stored());
}
/// Makes a rank map of these members. Members of the own group alone give an ordinary map, the
/// smallest model. Errors: MPI_ERR_OTHER for a group that is not known, a rank that its group does
/// not have, a member that occurs twice.
Status merged_map(std::vector<GroupRank> members, RankMap* out);
/// Makes a rank map of global ranks. REQUIRES: they are distinct global ranks.
RankMap merged_map_of(std::span<const int32_t> globals);
/// The address in the element of a member of a merged communicator with one rank a process.
/// REQUIRES: 0 <= rank < size.
inline uint64_t merged_address(const MlutMap& map, int32_t rank) {
  return g_process_groups.address(map.at(rank));
}

/// The process (in the address vector) and local proclet of a member.
inline Location merged_locate(const MlutMap& map, int32_t rank) {
  return g_av.locate(static_cast<uint32_t>(g_process_groups.global_of(map.at(rank))));
}

/// True where the map has members of other jobs; true where it has members of several jobs.
bool has_foreign(const RankMap& map);
bool spans_groups(const RankMap& map);
/// Makes a map of these global ranks: an ordinary one where they are of one group, else an mlut.
/// REQUIRES: they are distinct global ranks.
RankMap map_of_globals(std::span<const int32_t> globals);
/// Calls f(pgid) for each group, other than the own, of which the map has members.
template <class F>
void for_each_other_group(const RankMap& map, F&& f) {
  if (g_process_groups.others() == 0) return;
  for (uint32_t pgid = 1; pgid < g_process_groups.count(); ++pgid) {
    if (!g_process_groups.known(pgid)) continue;
    const auto first = static_cast<int32_t>(g_process_groups.first_rank(pgid));
    const auto past = first + static_cast<int32_t>(g_process_groups.ranks(pgid));
    if (map.count_within(first, past) > 0) f(pgid);
  }
}

/// While an object of this class exists, it retains the other groups of a map: from the making of
/// the map until a communicator or another owner retains them.
class StoredGroups {
 public:
  explicit StoredGroups(const RankMap& map) {
    for_each_other_group(map, [&](uint32_t pgid) {
      g_process_groups.retain(pgid);
      kept_.push_back(pgid);
    });
  }
  ~StoredGroups() {
    for (uint32_t pgid : kept_) g_process_groups.release(pgid);
  }
  StoredGroups(const StoredGroups&) = delete;
  StoredGroups& operator=(const StoredGroups&) = delete;

 private:
  std::vector<uint32_t> kept_;
};

}  // namespace fgmpi
