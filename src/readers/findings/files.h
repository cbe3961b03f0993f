// Accesses of ranks to one file that conflict: they meet in a byte, one writes, the file is not in
// atomic mode, and no MPI_File_sync, communication and MPI_File_sync are between them (MPI-4.0
// section 14.6). check writes down the accesses of each rank; what meets is found after the job, of
// all processes.
//
// An access is "FILE RANK w|r ATOMIC SYNCS FENCED CALL {OFFSET.BYTES }", hexadecimal but for the
// rank. SYNCS: how many MPI_File_sync of the opening the rank had made. FENCED: the last of them
// after which it had communicated before the next one; what others did before that one is over for
// it.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "check/findings/finding.h"

namespace fgmpi::findings {

class FileAccesses {
 public:
  /// What is no access is left out.
  void add(std::string_view line);
  /// A finding for each two calls whose accesses conflict. `calls`: those that accesses name.
  std::vector<Finding> find(const NamedCalls& calls) const;

 private:
  struct Access {
    int64_t rank = 0;
    bool writes = false, atomic = false;
    uint64_t syncs = 0, fenced = 0, call = 0;
  };
  struct Range {
    uint64_t low, high;
    size_t access;
  };
  using Pairs = std::set<std::pair<uint64_t, uint64_t>>;  ///< of calls, already told

  void find_in(std::vector<Range> ranges, const NamedCalls& calls, Pairs* told,
               std::vector<Finding>* found) const;
  bool conflict(const Access& a, const Access& b) const;
  void tell(const Range& a, const Range& b, const NamedCalls& calls,
            std::vector<Finding>* found) const;

  std::vector<Access> accesses_;
  std::map<uint64_t, std::vector<Range>> files_;
};

}  // namespace fgmpi::findings
