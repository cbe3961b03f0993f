// MovedRanks: where ranks of the job are whose messages are not matched at home. The table lies
// beside the address vector, which knows the home of every rank.
//
//     world rank -> process           sorted, 8 bytes for each rank that is known to have moved
//     local index here -> world rank  sorted, 8 bytes for each visitor
//
// The home of a rank is the process that the address vector names for it; its host is the process
// in which its messages are matched now. A rank whose host is not its home is a visitor there,
// with a local index behind those of the host's own ranks. The first table is what this process
// has learnt: it may be out of date, and says nothing about ranks that have never moved. So memory
// grows with what has moved, not with the ranks of the job, and the maps of communicators stay as
// they are.
//
// Thread rule: one thread. Invariants: both tables ascend; a rank is a visitor at most once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi {

class MovedRanks {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  /// Records the process in which messages of the rank are matched.
  void set_process(uint32_t world, uint32_t process);
  /// From now on nothing is known of the rank but its home.
  void forget(uint32_t world);
  /// The recorded process, or kNone.
  uint32_t process_of(uint32_t world) const;

  /// Makes the rank a visitor of this process. REQUIRES: neither the rank nor the index is one.
  void add_visitor(uint32_t world, uint32_t local);
  /// REQUIRES: the rank is a visitor.
  void remove_visitor(uint32_t world);
  /// The rank that has this local index as a visitor, or kNone.
  uint32_t visitor_at(uint32_t local) const;
  /// The local index of a visitor, or kNone. Searches all visitors.
  uint32_t index_of_visitor(uint32_t world) const;

  size_t moved() const { return processes_.size(); }
  size_t visitors() const { return visitors_.size(); }
  /// Bytes of both tables.
  size_t bytes() const {
    return (processes_.capacity() + visitors_.capacity()) * sizeof(MovedRank);
  }
  /// Are the invariants true? Otherwise *reason says which is not.
  bool validate(std::string* reason) const;

 private:
  struct MovedRank {
    uint32_t key, value;
  };
  static_assert(sizeof(MovedRank) == 8, "memory budget: a rank that has moved");
  using Table = std::vector<MovedRank>;
  static Table::iterator lower_bound(Table& table, uint32_t key);
  static uint32_t find(const Table& table, uint32_t key);

  // The debugger and fgmpi-info read both (DebugPlaces).
  Table processes_;  ///< world rank -> process
  Table visitors_;   ///< local index -> world rank
};
static_assert(sizeof(MovedRanks) == 6 * sizeof(void*), "read by the debugger script");

}  // namespace fgmpi
