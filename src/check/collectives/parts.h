// What members of a communicator send each other in one call whose counts differ by rank
// (MPI_Gatherv, MPI_Scatterv, MPI_Alltoallv, MPI_Alltoallw). The process of the receiver compares
// each pair. Each sender sends its row to that process.
//
//                receivers in this process
//                  0    1    2
//    sender 0   [  0    0    0  ]     an element: a hash of what the sender sends,
//    sender 1   [  0    d    0  ]     minus a hash of what the receiver expects;
//                                     0 where they agree
//
// Wins where most senders have a part for most receivers: 4 bytes a pair and no look-up, where an
// edge of a topology costs about 100 bytes (agreement.cc). Beyond kMostPairs pairs, a sender's
// differences are added up in one element; a disagreement then cannot name the receiver. Thread
// rule: as CheckedCall (call.h). Never switches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "check/call_info.h"

namespace fgmpi::check {

/// Properties of a call. Calls that differ in them cannot be compared.
struct PartsShape {
  Collective collective = Collective::kNone;
  int32_t root = 0;
  uint32_t senders = 0, receivers = 0;  ///< in all processes; in this process
  bool operator==(const PartsShape&) const = default;
};

/// `Caller` is the record of a member's call; its field `world` is the member's world rank.
template <class Caller>
class DeclaredParts {
 public:
  static constexpr size_t kMostPairs = size_t{1} << 24;  // 64 MiB

  /// Two members that disagree. The receiver is null where pairs are added up.
  struct Pair {
    const Caller *sender, *receiver;
  };
  using Found = std::optional<Pair>;

  explicit DeclaredParts(const PartsShape& shape, size_t most_pairs = kMostPairs)
      : shape_(shape),
        added_up_(size_t{shape.senders} * shape.receivers > most_pairs),
        columns_(added_up_ ? 1 : shape.receivers),
        difference_(shape.senders * columns_),
        rows_(shape.senders),
        taken_(shape.receivers) {
    reset();
  }

  const PartsShape& shape() const { return shape_; }
  /// Have all members declared what they send and receive?
  bool over() const { return waited_for_ == 0; }

  /// A sender declares what it sends to the receivers from `first` on; it may declare the rest
  /// later. Without `known` the hashes have no meaning. Returns a pair that disagrees, if any.
  /// REQUIRES: the sender has not declared these before.
  template <class Make>
  Found give(uint32_t sender, uint32_t first, std::span<const uint32_t> hashes, bool known,
             Make&& caller) {
    if (sender >= rows_.size() || first > shape_.receivers ||
        hashes.size() > shape_.receivers - first || hashes.size() > rows_[sender].missing)
      return {};
    DeclaredSide& row = rows_[sender];
    if (row.missing == shape_.receivers) row.caller = caller();
    row.known = row.known && known;
    for (size_t i = 0; i < hashes.size(); ++i)
      at(sender, first + i) += element(first + i, hashes[i]);
    row.missing -= static_cast<uint32_t>(hashes.size());
    if (row.missing) return {};
    --waited_for_;
    for (size_t i = 0; i < taken_.size() && !added_up_; ++i)
      if (differ(sender, i)) return Pair{&*row.caller, &*taken_[i].caller};
    return when_over();
  }

  /// A receiver declares what it receives from all senders. As give().
  template <class Make>
  Found take(uint32_t receiver, std::span<const uint32_t> hashes, bool known, Make&& caller) {
    if (receiver >= taken_.size() || hashes.size() != rows_.size() || !taken_[receiver].missing)
      return {};
    DeclaredSide& column = taken_[receiver];
    column.caller = caller();
    column.known = known;
    column.missing = 0;
    for (size_t i = 0; i < hashes.size(); ++i) at(i, receiver) -= element(receiver, hashes[i]);
    --waited_for_;
    for (size_t i = 0; i < rows_.size() && !added_up_; ++i)
      if (differ(i, receiver)) return Pair{&*rows_[i].caller, &*column.caller};
    return when_over();
  }

  /// Makes it as new.
  void reset() {
    waited_for_ = shape_.senders + shape_.receivers;
    for (DeclaredSide& row : rows_) row = {.missing = shape_.receivers};
    for (DeclaredSide& column : taken_) column = {.missing = 1};
    std::fill(difference_.begin(), difference_.end(), 0);
    with_itself_.reset();
  }

 private:
  struct DeclaredSide {
    uint32_t missing = 0;  ///< elements not declared yet
    bool known = true;
    std::optional<Caller> caller = {};
  };
  uint32_t& at(size_t sender, size_t receiver) {
    return difference_[sender * columns_ + (added_up_ ? 0 : receiver)];
  }
  /// Added-up hashes are mixed with the receiver, so that the same hashes in another order differ.
  uint32_t element(size_t receiver, uint32_t hash) const {
    return added_up_ && hash ? static_cast<uint32_t>(mix(receiver + 1, hash)) : hash;
  }
  /// Do the two disagree? A member that disagrees with itself is only recorded: if it also
  /// disagrees with others, the report should name those.
  bool differ(size_t sender, size_t receiver) {
    if (at(sender, receiver) == 0) return false;
    const DeclaredSide &row = rows_[sender], &column = taken_[receiver];
    if (row.missing || column.missing || !row.known || !column.known) return false;
    if (row.caller->world != column.caller->world) return true;
    with_itself_ = Pair{&*row.caller, &*column.caller};
    return false;
  }
  Found when_over() const {
    if (!over() || !added_up_) return over() ? with_itself_ : std::nullopt;
    for (const DeclaredSide& column : taken_)
      if (!column.known) return {};
    for (size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].known && difference_[i]) return Pair{&*rows_[i].caller, nullptr};
    return {};
  }

  PartsShape shape_;
  bool added_up_;
  size_t columns_;
  std::vector<uint32_t> difference_;
  std::vector<DeclaredSide> rows_, taken_;
  uint32_t waited_for_ = 0;  ///< members that have not declared everything yet
  Found with_itself_;
};

}  // namespace fgmpi::check
