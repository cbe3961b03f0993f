// Bootstrap: the rank of this process among the processes of the job, their number, and the
// exchange of small values when the job starts.
//
// Thread rule: one thread, and calls block the process (not only the proclet): for start-up and
// the end only. Implementations: PMI-1 (the text protocol that hydra speaks on PMI_FD or
// PMI_PORT), PMI-2 (Slurm's text protocol), PMIx (by its library), and a singleton for a program
// started without a launcher.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace fgmpi::bootstrap {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual const char* name() const = 0;            ///< "pmi1", "pmi2", "pmix" or "singleton"
  int rank() const { return rank_; }               ///< index of this process, 0..size()-1
  int size() const { return size_; }               ///< number of processes of the job
  int appnum() const { return appnum_; }           ///< which executable of a colon-separated launch
  int universe_size() const { return universe_; }  ///< -1 when unknown
  const std::string& job() const {
    return job_;
  }  ///< a name that is unique to the job on its hosts
  bool spawned() const { return spawned_; }
  /// The connection to the launcher, or -1. It closes when the launcher ends, or after finalize().
  virtual int launcher_fd() const { return -1; }
  /// Hosts as hydra maps processes to them: node_of()[p] is a small integer; empty when unknown.
  virtual std::vector<int> node_of() = 0;

  /// Publishes a value: key at most 60 bytes, value at most max_value() printable bytes without
  /// spaces, '=' or ';'. Visible to get() of others after the next fence() of all.
  virtual Status put(const std::string& key, const std::string& value) = 0;
  Status fence() {
    FGMPI_TRY(enter_fence());
    bool over = false;
    while (!over) FGMPI_TRY(fence_is_over(INT64_MAX, &over));
    return {};
  }
  /// A fence in two steps: this process enters it; then it asks, repeatedly, whether all others
  /// have. In between the caller can serve requests of processes that have not entered yet. Waits
  /// at most `wait_ns` ns for the answer.
  virtual Status enter_fence() = 0;
  virtual Status fence_is_over(int64_t wait_ns, bool* over) = 0;
  /// MPI_ERR_OTHER when no process has put the key. `from`: the process that has, where the caller
  /// knows: PMIx asks one process after the other if not.
  virtual Status get(const std::string& key, std::string* value, int from = kAnyProcess) = 0;
  static constexpr int kAnyProcess = -1;
  virtual size_t max_value() const = 0;

  /// Names that the launcher keeps: for its own job, or, where it was told of a name server
  /// (mpiexec -nameserver), for all jobs that were told of the same. Both texts: printable, without
  /// space or '='. False: it keeps none, or knows no such name.
  virtual bool publish_name(const std::string&, const std::string&) { return false; }
  virtual bool unpublish_name(const std::string&) { return false; }
  virtual bool lookup_name(const std::string&, std::string*) { return false; }

  virtual Status finalize() = 0;
  /// Ends the whole job with this exit code. Never returns. The caller has printed `message`, the
  /// reason; it goes to launchers whose protocol carries one (PMI-2, PMIx).
  [[noreturn]] virtual void abort(int exit_code, const std::string& message) = 0;

 protected:
  // Known from the start of the client on.
  int rank_ = -1, size_ = -1, appnum_ = 0, universe_ = -1;
  bool spawned_ = false;
  std::string job_;
};

/// Opens what the environment offers: PMI_FD with PMI_JOBID -> PMI-2; PMI_FD or PMI_PORT -> PMI-1;
/// PMIX_NAMESPACE -> PMIx; else a singleton, or an error where a launcher's variables tell that
/// there are other processes. FGMPI_SINGLETON: a singleton in any case.
Status open(std::unique_ptr<Bootstrap>* out);

}  // namespace fgmpi::bootstrap
