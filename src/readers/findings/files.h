// Accesses of ranks to one file that conflict: they share a byte, one writes, the file is not in
// atomic mode, and no sequence MPI_File_sync, communication, MPI_File_sync separates them (MPI-4.0
// section 14.6). check writes each rank's accesses to the spool. Conflicts are found after the job,
// among all processes.
//
// An access is "FILE RANK w|r ATOMIC SYNCS FENCED CALL {OFFSET.BYTES }", hexadecimal except for the
// rank. SYNCS: the number of MPI_File_sync that the rank had made since it opened the file. FENCED:
// the number of the last of them that was followed by a communication and another MPI_File_sync;
// accesses of others before that sync are over for this rank.
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
  /// Adds an access. Invalid lines are ignored.
  void add(std::string_view line);
  /// A finding for each two calls whose accesses conflict. `calls`: the calls that accesses name.
  std::vector<Finding> find(const NamedCalls& calls) const;

 private:
  struct FileAccess {
    int64_t rank = 0;
    bool writes = false, atomic = false;
    uint64_t syncs = 0, fenced = 0, call = 0;
  };
  struct FileRange {
    uint64_t low, high;
    size_t access;
  };
  /// Pairs of calls that have a finding already.
  using Pairs = std::set<std::pair<uint64_t, uint64_t>>;

  void find_in(std::vector<FileRange> ranges, const NamedCalls& calls, Pairs* told,
               std::vector<Finding>* found) const;
  bool conflict(const FileAccess& a, const FileAccess& b) const;
  void report_overlap(const FileRange& a, const FileRange& b, const NamedCalls& calls,
                      std::vector<Finding>* found) const;

  std::vector<FileAccess> accesses_;
  std::map<uint64_t, std::vector<FileRange>> files_;
};

}  // namespace fgmpi::findings
