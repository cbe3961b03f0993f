// Bootstrap of a program started without a launcher: a job of one process, whose put and get use a
// table of its own. Also open(), which chooses what the environment offers.

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <map>

#include "base/assert.h"
#include "base/environment.h"
#include "base/settings.h"
#include "base/strings.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/pmi1.h"
#include "bootstrap/pmi2.h"
#include "bootstrap/pmix.h"

namespace fgmpi::bootstrap {
namespace {

class Singleton : public Bootstrap {
 public:
  Singleton() {
    rank_ = 0;
    size_ = 1;
    job_ = format("singleton_%d_%lx", getpid(), static_cast<long>(std::time(nullptr)));
  }
  const char* name() const override { return "singleton"; }
  std::vector<int> node_of() override { return {0}; }
  Status put(const std::string& key, const std::string& value) override {
    pending_[key] = value;
    return {};
  }
  Status enter_fence() override {
    for (auto& [key, value] : pending_) values_[key] = std::move(value);
    pending_.clear();
    return {};
  }
  Status fence_is_over(int64_t, bool* over) override {
    *over = true;
    return {};
  }
  Status get(const std::string& key, std::string* value, int) override {
    auto found = values_.find(key);
    if (found == values_.end())
      return error(MPI_ERR_OTHER, "no process has put the key '%s'", key.c_str());
    *value = found->second;
    return {};
  }
  size_t max_value() const override { return 1023; }
  Status finalize() override { return {}; }
  [[noreturn]] void abort(int exit_code, const std::string&) override {
    std::fflush(nullptr);
    end_process(exit_code);
  }

 private:
  std::map<std::string, std::string> pending_, values_;
};

/// Variables that show that a launcher has started this process as one of several, though none of
/// them connects it to the others.
struct Sign {
  const char* launcher;
  environment::Variable size, rank;
  const char* advice;
};
constexpr Sign kSigns[] = {
    {"Slurm's srun", environment::kSlurmTasks, environment::kSlurmRank,
     "srun --mpi=pmi2 (or pmix) program, or mpiexec program inside sbatch or salloc"},
    {"Flux", environment::kFluxTasks, environment::kFluxRank, "flux run -o pmi=simple program"},
    {"PALS", environment::kPmiSize, environment::kPalsRank, "mpiexec --pmi=pmix program"},
    {"Open MPI's mpirun", environment::kOpenMpiTasks, environment::kOpenMpiRank,
     "the mpiexec of Finegrain MPI"},
    {"a launcher", environment::kPmiSize, environment::kPmiRank, "the mpiexec of Finegrain MPI"},
};

/// Ends the process: otherwise each of N processes would be rank 0 of a job of its own. The first
/// one prints an error; the others end silently.
Status refuse_partial_job(const Sign& sign) {
  auto number = [](environment::Variable variable) {
    const char* text = environment::text(variable);
    return text ? parse_int(text).value_or(-1) : -1;
  };
  const int64_t size = number(sign.size), rank = number(sign.rank);
  if (size < 2 || rank < 0) return {};
  if (rank > 0) end_process(1);
  return error(
      MPI_ERR_OTHER,
      "%s has started %lld processes (%s) and offers no way to reach the others (PMI_FD, "
      "PMI_PORT or PMIX_RANK): start them by %s; or FGMPI_SINGLETON=on, if each is to be a "
      "job of its own",
      sign.launcher, static_cast<long long>(size), environment::name(sign.size), sign.advice);
}

/// The value of FGMPI_SINGLETON. Where a setting cannot be read, the process is ending and calls
/// open() to abort the job: a bad setting is no second error here.
bool wants_singleton() {
  if (!settings::detail::g_values && !settings::load().ok()) return false;
  return settings::number(settings::kSingleton) != 0;
}

}  // namespace

Status open(std::unique_ptr<Bootstrap>* out) {
  if (!wants_singleton()) {
    if (pmi2_offered()) return open_pmi2(out);
    if (pmi1_offered()) return open_pmi1(out);
    if (pmix_offered()) return open_pmix(out);
    for (const Sign& sign : kSigns) FGMPI_TRY(refuse_partial_job(sign));
  }
  *out = std::make_unique<Singleton>();
  return {};
}

}  // namespace fgmpi::bootstrap
