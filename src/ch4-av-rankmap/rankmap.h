// RankMap: communicator rank -> world rank in constant size wherever the shape is regular.
//
// Models (IPDPS'17 section III): direct (r), offset (r + o), stride (r * s + o, s may be negative),
// blockstride (blocks of b ranks every s), md-blockstride (sub-grids of grids), lut (anything else: an
// encoded map of src/groupmap, shared by all users), mlut (<process group, rank> pairs of merged groups).
// compose() is the state machine that finds the model of a communicator made from a parent's map and a
// child's map over parent ranks (Table II); from_ranks() finds the smallest model of a list.
//
// A RankMap is a small value; an irregular one holds a counted reference. Lookup is in line for the
// regular models and one indirect call for the rest.
// Thread rule: one thread. Invariant: world ranks are distinct.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/assert.h"
#include "base/status.h"
#include "groupmap/groupmap.h"

namespace fgmpi {

class RankMap {
 public:
  enum class Model : uint8_t { kEmpty, kDirect, kOffset, kStride, kBlockStride, kMdBlockStride, kLut, kMlut };

  RankMap() = default;
  static RankMap direct(int32_t size) { return regular(size, Model::kDirect, 0, 1, 1); }
  static RankMap strided(int32_t size, int32_t offset, int32_t stride);
  /// The smallest model for this list of distinct world ranks.
  static RankMap from_ranks(std::span<const int32_t> world_ranks);
  /// child maps new ranks to ranks of parent; the result maps new ranks to world ranks.
  static RankMap compose(const RankMap& parent, const RankMap& child);

  int32_t size() const { return size_; }
  Model model() const { return model_; }
  const char* model_name() const;
  bool regular() const { return model_ < Model::kLut; }

  /// REQUIRES: 0 <= rank < size().
  int32_t world_of(int32_t rank) const {
    if (__builtin_expect(model_ <= Model::kStride, 1)) return offset_ + rank * stride_;
    return world_of_slow(rank);
  }
  /// The rank of a world rank, or -1 when it is not a member.
  int32_t rank_of(int32_t world) const;
  /// world_of() of ranks first..first+count-1 into out.
  void world_range(int32_t first, int32_t count, int32_t* out) const;
  /// Ranks of the members in [low, high) of world ranks, in ascending order of rank, without visiting others
  /// where the model allows.
  void ranks_within(int32_t low, int32_t high, std::vector<int32_t>* ranks) const;
  /// How many members have their world rank in [low, high).
  int32_t count_within(int32_t low, int32_t high) const;

  /// Bytes that this process keeps for the map (shared parts once each).
  size_t bytes() const;
  /// Same members in the same order / same members.
  bool identical(const RankMap& other) const;
  bool similar(const RankMap& other) const;

  /// Wire form: encoded maps travel as they are. deserialize refuses corrupt input with a reason.
  void serialize(std::vector<uint8_t>* out) const;
  static Status deserialize(std::span<const uint8_t> in, size_t* used, RankMap* out);
  bool validate(std::string* reason) const;

 private:
  static RankMap regular(int32_t size, Model model, int32_t offset, int32_t stride, int32_t block);
  int32_t world_of_slow(int32_t rank) const;

  Model model_ = Model::kEmpty;
  int32_t size_ = 0;
  int32_t offset_ = 0;
  int32_t stride_ = 1;
  int32_t block_ = 1;  ///< blockstride: ranks a block
  std::shared_ptr<const groupmap::GroupMap> map_;  ///< lut; md-blockstride's dimensions and mlut live behind it too
};
static_assert(sizeof(RankMap) <= 48);

}  // namespace fgmpi
