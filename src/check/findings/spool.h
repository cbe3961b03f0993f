// The spool: the file with the findings of one process. Each record is written at once, so that a
// process that is killed leaves its findings.
//
//   S <site, hex> <offset, hex> <path>  a site, at its first use
//   F <key, hex> <kind> \t sentence \t allowed { \t PARTICIPANT }  the first finding with a key
//   N ...                               the same for a note
//   R <key, hex> <rank>                 one more rank with that finding
//   V <key, hex> { \t PARTICIPANT }     a call that a step, an access or a given rank names
//   W <rank> <step> ...                 steps of a rank (unbuffered.h)
//   L <access>                          an access to a file (readers/findings/files.h)
//   G <rank>                            a rank that a call gave (readers/findings/null_ranks.h)
//   C <cause, hex>                      this process has written a finding that can cause others
//   D <key, hex> <cause, hex>           this finding is dropped if any process has that cause
//   X <key, hex>                        this file's finding is withdrawn
//
//   PARTICIPANT: rank \x1f call \x1f arguments \x1f site{,caller} \x1f role
//
// Each line is a record, appended by one write. Control characters in texts are escaped
// (base/strings.h). A key is equal in all processes and for all ranks whose findings differ only in
// ranks and arguments. Thread rule: guarded by a lock; never switches.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <set>
#include <unordered_map>

#include "base/status.h"
#include "check/findings/finding.h"

namespace fgmpi::findings {

/// The prefix of the names of spools.
inline constexpr const char* kSpoolPrefix = "findings-";

/// FOLDER/findings-HOST-PID for a process of this host.
std::string spool_path(const std::string& folder, pid_t pid);

class Spool {
 public:
  ~Spool();
  /// Sets the folder. The first record creates spool_path() of the running process.
  void open(std::string folder) { folder_ = std::move(folder); }
  /// Writes records to an open file, by this function.
  void use(int file, long (*write)(int fd, const void* bytes, size_t size)) {
    file_ = file;
    write_ = write;
  }
  /// The number of a site, which is equal in every process of the job.
  uint64_t add_site(const Site& site);
  /// Writes the finding, or adds its rank to an equal one. Returns its key.
  uint64_t add(const Finding& finding);
  /// A call that steps, accesses or given ranks name by this key, and what it waits for.
  void add_waiting(uint64_t key, const std::vector<Participant>& calls);
  /// Steps of a rank, behind those added before. Each step begins with a space.
  void add_steps(int64_t rank, const std::string& steps);
  /// An access to a file.
  void add_access(const std::string& access);
  /// A source or destination that a rank gave.
  void add_rank(const std::string& given);
  /// This process has written a finding that can cause others: errors that MPI sees later, also in
  /// other processes.
  void add_cause(uint64_t cause);
  /// The finding with this key follows from the cause, if any process has written it.
  void add_consequence(uint64_t key, uint64_t cause);
  /// Withdraws the finding with this key that this process has written.
  void withdraw(uint64_t key);

 private:
  void write(const std::string& line);

  std::mutex lock_;
  std::string folder_;
  int file_ = -1;
  long (*write_)(int fd, const void* bytes, size_t size) = nullptr;  ///< of use(); null: write()
  pid_t owner_ = -1;  ///< the process that opened the file
  std::set<uint64_t> sites_;
  std::unordered_map<uint64_t, std::set<int64_t>> ranks_;  ///< by key
};

}  // namespace fgmpi::findings
