// Ranks of -1 that a program seems to have computed. In this ABI MPI_PROC_NULL is -1, so a receive
// from `rank - 1` at rank 0 does nothing, although the program may have expected an error. A rank
// of -1 looks computed if all other ranks that made the call gave their own rank plus one and the
// same number, if this sum is -1 at this rank too, and if no call gave MPI_PROC_NULL where the sum
// is another number. check writes the ranks that calls gave to the spool. They are examined after
// the job, for all processes.
//
// A given rank is "PLACE RANK VALUE CALL". PLACE identifies the call's site and the argument, RANK
// is the caller's rank in the communicator; hexadecimal except for RANK and VALUE.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "check/findings/finding.h"

namespace fgmpi::findings {

class NullRanks {
 public:
  /// Adds a given rank. Invalid lines are ignored.
  void add(std::string_view line);
  /// A note for each rank that looks computed. `calls`: the calls that given ranks name.
  std::vector<Finding> find(const NamedCalls& calls) const;

 private:
  struct GivenValue {
    int64_t rank, value;
    uint64_t call;
  };

  std::map<uint64_t, std::vector<GivenValue>> places_;
};

}  // namespace fgmpi::findings
