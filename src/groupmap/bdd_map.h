// The BDD encoding's class, which set algebra works on path by path; described in bdd_map.cc.
#pragma once

#include "groupmap/buddy.h"
#include "groupmap/groupmap.h"
#include "groupmap/packed_vector.h"

namespace fgmpi::groupmap {

/// The most paths of a map whose encoding the caller names, and of one that a strategy chooses (the
/// paper's limit on their number).
inline constexpr size_t kMaxBddPaths = 1 << 20, kMaxStrategyPaths = 1 << 15;

class BddMap final : public GroupMap {
 public:
  /// REQUIRES: sound(cubes, bits).
  BddMap(std::span<const Cube> cubes, int bits);
  int32_t select(int32_t i) const override;
  int32_t rank(int32_t w) const override;
  void select_range(int32_t first, int32_t count, int32_t* out) const override;
  size_t bytes() const override;
  bool validate(std::string* reason) const override;
  void write(ByteWriter& out) const override;
  /// False where BuDDy fails: at its limits of nodes and paths, or because it is in use.
  bool combine(const GroupMap& other, SetOperation operation, MapRef* out) const override;

  std::vector<Cube> cubes() const;
  /// True if the cubes are the paths of a diagram, in the order of a walk that visits 0 before 1:
  /// any two neighbours differ first at a bit that is 0 in the first and 1 in the second. Then all
  /// cubes are disjoint.
  static bool sound(std::span<const Cube> cubes, int bits);

 private:
  static constexpr uint32_t kSample = 16;
  Cube cube(uint32_t k) const {
    return {static_cast<uint32_t>(fixed_[k]), static_cast<uint32_t>(free_[k])};
  }
  struct PathLeaf {
    uint32_t path;  // the path on which a rank lies
    int left;       // bits that only this path decides
  };
  int32_t select(int32_t i, PathLeaf* leaf) const;
  uint32_t members_before(uint32_t k) const;
  uint32_t split(uint32_t low, uint32_t high, int bit) const;

  int bits_;
  PackedVector fixed_;
  PackedVector free_;
  std::unique_ptr<uint32_t[]> before_;  // members of all paths before every 16th
};

}  // namespace fgmpi::groupmap
