// RankMap: communicator rank -> world rank in constant size wherever the shape is regular.
//
// Models (IPDPS'17 section III):
//   direct          r
//   offset          r + o
//   stride          r * s + o; s may be negative
//   blockstride     blocks of b ranks every s
//   md-blockstride  sub-grids of grids
//   lut             any other group: an encoded map of src/groupmap, shared by all its users
//   mlut            <process group, rank> pairs of merged groups
//
// compose() finds the model of a communicator made from a parent's map and a child's map over
// parent ranks (a state machine: Table II, compose_model()). from_ranks() finds the smallest model
// of a list.
//
// A RankMap is a small value around a groupmap::MapRef. Regular models live in it; an irregular one
// is a counted reference that duplicates share. Lookup is in line for the regular models and one
// indirect call for the others.
// Thread rule: one thread. Invariant: world ranks are distinct.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/status.h"
#include "groupmap/groupmap.h"

namespace fgmpi {

class RankMap {
 public:
  enum class Model : uint8_t {
    kEmpty,
    kDirect,
    kOffset,
    kStride,
    kBlockStride,
    kMdBlockStride,
    kLut,
    kMlut
  };

  RankMap() = default;
  explicit RankMap(groupmap::MapRef map) : map_(std::move(map)) {}
  static RankMap direct(int32_t size) { return strided(size, 0, 1); }
  /// Makes the map rank r -> offset + r * stride. REQUIRES: all results are world ranks (0 ..
  /// 2^31-1), stride != 0.
  static RankMap strided(int32_t size, int32_t offset, int32_t stride);
  /// Makes the smallest model for this list of distinct world ranks. Irregular lists are stored by
  /// the process's strategy (strategy(), or the one passed).
  static RankMap from_ranks(std::span<const int32_t> world_ranks);
  static RankMap from_ranks(std::span<const int32_t> world_ranks,
                            const groupmap::Strategy& strategy);
  /// Makes the map of new ranks to world ranks; child maps new ranks to ranks of parent. A child
  /// that is a duplicate shares the parent's stored map. REQUIRES: child is no mlut (ranks of
  /// parent are of no process group).
  static RankMap compose(const RankMap& parent, const RankMap& child);
  /// Returns a map equal to child. Where both are irregular, it shares parent's stored set, the
  /// same object, under a permutation; otherwise it is child. REQUIRES: child has the members of
  /// parent.
  static RankMap permuted(const RankMap& parent, const RankMap& child);
  /// The model that Table II has for a parent's model (row) and a child's (column), before an
  /// irregular result that happens to be regular is reduced. A direct child is the whole parent; a
  /// child that is only the first ranks of it is an offset. REQUIRES: child is not kMlut.
  static Model compose_model(Model parent, Model child);

  int32_t size() const { return map_.size(); }
  Model model() const;
  const char* model_name() const { return model_name(model()); }
  static const char* model_name(Model model);
  bool regular() const { return model() < Model::kLut; }

  /// REQUIRES: 0 <= rank < size().
  int32_t world_of(int32_t rank) const { return map_.select(rank); }
  /// True where the world ranks of the group rise by one from that of rank 0 on.
  bool is_offset() const { return map_.is_offset(); }
  /// The rank of a world rank, or -1 when it is not a member.
  int32_t rank_of(int32_t world) const { return map_.rank(world); }
  /// Writes world_of() of ranks first..first+count-1 to out.
  void world_range(int32_t first, int32_t count, int32_t* out) const {
    map_.select_range(first, count, out);
  }
  /// Appends the ranks of the members whose world ranks lie in [low, high), in ascending order of
  /// rank, without visiting others where the model allows.
  void ranks_within(int32_t low, int32_t high, std::vector<int32_t>* ranks) const;
  /// Number of members whose world rank lies in [low, high).
  int32_t count_within(int32_t low, int32_t high) const;

  /// Bytes of this process for the map, all of a stored form included that other maps share.
  size_t bytes() const { return map_.bytes(); }
  /// True where both maps have the same members in the same order; the same members in any order.
  bool identical(const RankMap& other) const;
  bool similar(const RankMap& other) const;

  /// serialize() appends the wire form: groupmap's form of the encoded map. A map with members of
  /// other jobs, and any map that goes to a process of another job (`between_groups`), travels as
  /// travel.h describes. deserialize() refuses corrupt input with a reason.
  void serialize(std::vector<uint8_t>* out, bool between_groups = false) const;
  static Status deserialize(std::span<const uint8_t> in, size_t* used, RankMap* out);
  bool validate(std::string* reason) const { return map_.validate(reason); }

  /// The encoded map itself, for set algebra and reports.
  const groupmap::MapRef& encoded() const { return map_; }

  /// How this process stores irregular maps: the value of FGMPI_GROUPMAP, else hybrid.
  static const groupmap::Strategy& strategy();
  /// Reads FGMPI_GROUPMAP; an error names the value and what is allowed.
  static Status configure();
  static void set_strategy(const groupmap::Strategy& strategy);

 private:
  groupmap::MapRef map_;
};
static_assert(sizeof(RankMap) <= 48);

}  // namespace fgmpi
