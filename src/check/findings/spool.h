// The file of a process with its findings, written while it runs so that a process that is killed
// leaves them.
//
//   S <site, hex> <offset, hex> <path>                                            a place, once
//   F <key, hex> <kind> \t sentence \t allowed { \t rank \x1f call \x1f arguments \x1f site{,caller} \x1f role }    the
//     first of a key
//   N ...                                                                         the same of a
//     note
//   R <key, hex> <rank>                                                           another rank with
//     the same
//   V <key, hex> { \t rank \x1f call \x1f arguments \x1f site \x1f role }              a call that
//     steps wait in, or of accesses
//   W <rank> <step> ...                                                           steps of a rank
//     (unbuffered.h)
//   L <access>                                                                  of a file (files.h)
//   G <rank>                                                                    that a rank gave
//     (null_ranks.h)
//   C <cause, hex>                                                              a finding was
//     written that may have consequences
//   D <key, hex> <cause, hex>                                                     this one is left
//     out if such a cause is known
//   X <key, hex>                                                                  it was none: of
//     this file it is forgotten
//
// One record a line; control characters in texts are escaped (base/strings.h). The key is the same
// in all processes and for all ranks whose finding differs in nothing but ranks and arguments. Each
// record is one write, appended. Thread rule: guarded by a lock; never switches.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <set>
#include <unordered_map>

#include "base/status.h"
#include "check/findings/finding.h"

namespace fgmpi::findings {

/// What begins the names of such files in a folder.
inline constexpr const char* kSpoolPrefix = "findings-";

/// FOLDER/findings-HOST-PID, of a process of this host.
std::string spool_path(const std::string& folder, pid_t pid);

class Spool {
 public:
  ~Spool();
  /// Makes spool_path() of the running process when the first record is written.
  void open(std::string folder) { folder_ = std::move(folder); }
  /// The number of a place: the same in every process of the job.
  uint64_t add_site(const Site& site);
  /// Writes it, or counts its rank. Returns its key.
  uint64_t add(const Finding& finding);
  /// A call that steps, accesses or ranks given name by this key, and what it waits for.
  void add_waiting(uint64_t key, const std::vector<Participant>& calls);
  /// Steps of a rank, behind those that were added before: each begins with a space.
  void add_steps(int64_t rank, const std::string& steps);
  /// An access to a file.
  void add_access(const std::string& access);
  /// A source or destination that a rank gave.
  void add_rank(const std::string& given);
  /// A finding that this process has written is the cause of others: of errors that MPI sees later,
  /// also in other processes.
  void add_cause(uint64_t cause);
  /// The finding with this key follows from the cause, if any process has written it.
  void add_consequence(uint64_t key, uint64_t cause);
  /// Takes back what this process has written with the key.
  void withdraw(uint64_t key);

 private:
  void write(const std::string& line);

  std::mutex lock_;
  std::string folder_;
  int file_ = -1;
  pid_t owner_ = -1;  ///< the process whose file it is
  std::set<uint64_t> sites_;
  std::unordered_map<uint64_t, std::set<int64_t>> ranks_;  ///< by key
};

}  // namespace fgmpi::findings
