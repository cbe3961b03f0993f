// Bootstrap: the rank of this process among the processes of the job, their number, and the
// exchange of small values when the job starts.
//
// Thread rule: one thread. Calls block the process, not only the proclet: they are for start and
// end only. Implementations: PMI-1 (the text protocol that hydra speaks on PMI_FD or PMI_PORT),
// PMI-2 (Slurm's text protocol), PMIx (by its library), and a singleton for a program started
// without a launcher.
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
  /// The connection to the launcher, or -1. It breaks when the launcher ends, or after finalize().
  virtual int launcher_fd() const { return -1; }
  /// The node of each process by hydra's mapping: node_of()[p] is a small integer; empty
  /// when unknown.
  virtual std::vector<int> node_of() = 0;

  /// Publishes a value. The key has at most 60 bytes; the value at most max_value() printable bytes
  /// without spaces, '=' or ';'. get() of others finds it after the next fence() of all.
  virtual Status put(const std::string& key, const std::string& value) = 0;
  Status fence() {
    FGMPI_TRY(enter_fence());
    bool over = false;
    while (!over) FGMPI_TRY(fence_is_over(INT64_MAX, &over));
    return {};
  }
  /// A fence in two steps: this process enters it, then asks repeatedly whether all others have
  /// entered. In between the caller can serve requests of processes that have not entered yet.
  /// fence_is_over() waits at most `wait_ns` ns for the answer.
  virtual Status enter_fence() = 0;
  virtual Status fence_is_over(int64_t wait_ns, bool* over) = 0;
  /// Finds a published value; MPI_ERR_OTHER when no process has put the key. `from`: the
  /// process that has put it, where the caller can name it: without it PMIx asks one process
  /// after the other.
  virtual Status get(const std::string& key, std::string* value, int from = kAnyProcess) = 0;
  static constexpr int kAnyProcess = -1;
  /// Announces that the next calls are get() of these keys, in this order. A client that can asks
  /// for all of them at once, so that the launcher and this process need not wake each other for
  /// each. At most kMostAhead; the launcher may be waiting until its answers are read.
  virtual void ask_ahead(const std::vector<std::string>&) {}
  static constexpr size_t kMostAhead = 64;
  virtual size_t max_value() const = 0;

  /// Names that the launcher stores: for its own job, or, where it has a name server (mpiexec
  /// -nameserver), for all jobs with the same server. Both texts are printable, without space or
  /// '='. False: the launcher stores none, or has no such name.
  virtual bool publish_name(const std::string&, const std::string&) { return false; }
  virtual bool unpublish_name(const std::string&) { return false; }
  virtual bool lookup_name(const std::string&, std::string*) { return false; }

  virtual Status finalize() = 0;
  /// Ends the whole job with this exit code. Never returns. `message` is the reason, which the
  /// caller has printed; launchers whose protocol carries one (PMI-2, PMIx) get it, too.
  [[noreturn]] virtual void abort(int exit_code, const std::string& message) = 0;

 protected:
  // Set when the client starts.
  int rank_ = -1, size_ = -1, appnum_ = 0, universe_ = -1;
  bool spawned_ = false;
  std::string job_;
};

/// Opens what the environment offers: PMI_FD with PMI_JOBID -> PMI-2; PMI_FD or PMI_PORT -> PMI-1;
/// PMIX_NAMESPACE -> PMIx; else a singleton, or an error where a launcher's variables show that
/// there are other processes. FGMPI_SINGLETON: a singleton in any case.
Status open(std::unique_ptr<Bootstrap>* out);

}  // namespace fgmpi::bootstrap
