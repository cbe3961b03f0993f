// ComputedTimes: what each rank computes between its calls, in order, so that another prediction
// can take the same times instead of measuring anew.
//
// Times of a rank follow each other as numbers of a variable length: seven bits a byte, the lowest
// first, the highest bit set in all bytes but the last. The file:
//
//   fgmpi computed times 1 RANKS\n | for each rank: bytes, as such a number | the bytes | ...
//
// Thread rule: values; nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::predict {

class ComputedTimes {
 public:
  explicit ComputedTimes(uint32_t ranks = 0) : ranks_(ranks) {}

  uint32_t ranks() const { return static_cast<uint32_t>(ranks_.size()); }
  /// Adds a time of the rank, ns.
  void add(uint32_t rank, int64_t ns);
  /// The rank's next time; -1: there is none left.
  int64_t take(uint32_t rank);
  /// Times that nobody has taken, of all ranks.
  uint64_t left() const;

  Status write(const std::string& path) const;
  /// Errors: MPI_ERR_ARG: there is no such file, or it holds something else.
  static Status read(const std::string& path, ComputedTimes* out);

 private:
  struct RankBytes {
    std::vector<uint8_t> bytes;
    size_t at = 0;  ///< of the next time
  };
  std::vector<RankBytes> ranks_;
};

}  // namespace fgmpi::predict
