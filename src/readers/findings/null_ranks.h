// Ranks of -1 that a program seems to have computed. In this ABI MPI_PROC_NULL is -1: a receive
// from `rank - 1` at rank 0 does nothing, where the program may have wanted an error. A rank of -1
// looks computed when all other ranks that have made the call gave their own rank plus one and the
// same number, which is -1 at this rank, too, and no call of the program has MPI_PROC_NULL where
// such a sum is another number. check writes down what ranks gave; this is found after the job, of
// all processes.
//
// What a rank gave is "PLACE RANK VALUE CALL": PLACE names the call's line and the argument, RANK
// is of the communicator; hexadecimal but for RANK and VALUE.
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
  /// What is nothing of the kind is left out.
  void add(std::string_view line);
  /// A note for each rank that looks computed. `calls`: those that what ranks gave names.
  std::vector<Finding> find(const NamedCalls& calls) const;

 private:
  struct Given {
    int64_t rank, value;
    uint64_t call;
  };

  std::map<uint64_t, std::vector<Given>> places_;
};

}  // namespace fgmpi::findings
