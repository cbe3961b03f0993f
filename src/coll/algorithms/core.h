// The power-of-two core of a team: recursive doubling and halving run among 2^k processes. Among
// the first 2*extra processes each even one first hands its operand to its odd neighbour, and gets
// the result from it at the end.
//
//   processes   0 1 2 3 4 5 6   7 = 4 + 3: extra = 3
//                \|  \|  \| |   core ids 0 1 2 3 stand for processes {0,1} {2,3} {4,5} {6},
//                               ascending
#pragma once

#include <bit>

#include "coll/algorithms.h"

namespace fgmpi::coll {

class Core {
 public:
  explicit Core(const Team& team)
      : team_(team), size_(std::bit_floor(team.count())), extra_(team.count() - size_) {}
  uint32_t size() const { return size_; }
  /// True where this process is not in the core but waits for the result.
  bool outside() const { return team_.me() < 2 * extra_ && team_.me() % 2 == 0; }
  bool has_guest() const { return team_.me() < 2 * extra_ && team_.me() % 2 == 1; }
  uint32_t id() const { return team_.me() < 2 * extra_ ? team_.me() / 2 : team_.me() - extra_; }
  uint32_t team_rank(uint32_t id) const { return id < extra_ ? 2 * id + 1 : id + extra_; }
  /// First process that core id stands for; first_team_rank(size()) is the team's size.
  uint32_t first_team_rank(uint32_t id) const { return id < extra_ ? 2 * id : id + extra_; }

  /// Receives the operands of processes outside the core, combined into `data` in the order
  /// of processes.
  Status enter(const Reduction& r, OperandWire& wire, char* data, char* spare) const {
    if (outside()) return wire.send(team_, team_.me() + 1, data);
    if (!has_guest()) return {};
    FGMPI_TRY(wire.recv(team_, team_.me() - 1, spare));
    return combine(r, spare, data, r.count);
  }
  /// Sends the result to processes outside the core.
  Status exit(OperandWire& wire, char* result) const {
    if (outside()) return wire.recv(team_, team_.me() + 1, result);
    return has_guest() ? wire.send(team_, team_.me() - 1, result) : Status();
  }

 private:
  const Team& team_;
  uint32_t size_, extra_;
};

/// Recursive halving: core id i ends with the result of the elements [begin(i), begin(i+1)) of
/// data, where `begin` has size()+1 ascending values. REQUIRES: the operation commutes, the vector
/// is dense. `spare`: memory for the vector.
Status halve(const Team& team, const Core& core, const Reduction& r, char* data, char* spare,
             const std::vector<int64_t>& begin);

}  // namespace fgmpi::coll
