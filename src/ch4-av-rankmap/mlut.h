// mlut: rank maps of communicators that merge process groups, as a table of <pgid, lpid>.
//
//   rank r:  | pgid (32) | lpid (32) |      8 bytes a member
//              |             `---- rank in that group's MPI_COMM_WORLD: index of its address vector
//              `------------------ index in ProcessGroups; the job's own group is 0 (g_av)
//
// When it wins: it is used only for communicators with members of several process groups (Intercomm_merge after spawn or
// connect); each side of an intercommunicator is a map of one group. To all other code a member is one number, its global rank: the world rank
// in the own group, and past that the ranks of other groups one group after the other. So set algebra, comparison and
// lookup work on merged groups as on any; only translation to an address reads the pairs. A RankMap holds it as a
// stored map (Model::kMlut): ordinary communicators pay nothing for it.
// Thread rule: one thread. Invariants: pairs are distinct; a group, once added, keeps its pgid and its global ranks.
// Source: IPDPS'17 section III-C.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/rankmap.h"

namespace fgmpi {

struct GroupRank {
  uint32_t pgid;
  uint32_t lpid;
  bool operator==(const GroupRank&) const = default;
};
static_assert(sizeof(GroupRank) == 8, "memory budget: 8 bytes a member of a merged communicator");

/// The process groups that this process knows, each with its own address vector.
class ProcessGroups {
 public:
  ProcessGroups() : elements_{nullptr}, avs_{&g_av}, firsts_{0} {}
  /// Adds a group; its pgid is returned. REQUIRES: g_av and `av` are set up for good, `av` outlives this, all global
  /// ranks stay under 2^31.
  uint32_t add(const AddressVector* av);
  uint32_t count() const { return static_cast<uint32_t>(avs_.size()); }
  /// REQUIRES: pgid < count().
  const AddressVector& av(uint32_t pgid) const { return *avs_[pgid]; }
  /// The element's address of process `lpid` of a group. REQUIRES: there was an add().
  uint64_t address(GroupRank g) const {
    return AddressVector::address_in(elements_[g.pgid], g.lpid);
  }
  int32_t global_of(GroupRank g) const { return static_cast<int32_t>(firsts_[g.pgid] + g.lpid); }
  /// The group and rank behind a global rank. REQUIRES: it is one.
  GroupRank find(int32_t global) const;

 private:
  std::vector<const AvElement*>
      elements_;  ///< of each group's vector: one load less on the send path
  std::vector<const AddressVector*> avs_;
  std::vector<uint32_t> firsts_;  ///< global rank of each group's rank 0
};
extern ProcessGroups g_process_groups;

class MlutMap final : public groupmap::GroupMap {
 public:
  /// Past the encodings of groupmap: never on its wire (rankmap.cc frames it).
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

/// The mlut behind a map, nullptr for all other models.
inline const MlutMap* mlut_of(const RankMap& map) {
  const groupmap::MapRef& m = map.encoded();
  if (m.shape() != groupmap::Shape::kStored || m.stored()->encoding() != MlutMap::kEncoding)
    return nullptr;
  return static_cast<const MlutMap*>(m.stored());
}
/// A rank map of these members; members of the own group only give an ordinary map, the smallest model. Errors: MPI_ERR_OTHER
/// for a group that is not known, a rank that it has not, a member that occurs twice.
Status merged_map(std::vector<GroupRank> members, RankMap* out);
/// The same for global ranks. REQUIRES: they are distinct global ranks.
RankMap merged_map_of(std::span<const int32_t> globals);
/// The element's address of a member of a merged communicator with one rank a process. REQUIRES: 0 <= rank < size.
inline uint64_t merged_address(const MlutMap& map, int32_t rank) {
  return g_process_groups.address(map.at(rank));
}
/// The location (process, local proclet) of a member within its process group.
inline Location merged_locate(const MlutMap& map, int32_t rank) {
  GroupRank g = map.at(rank);
  return g_process_groups.av(g.pgid).locate(g.lpid);
}

}  // namespace fgmpi
