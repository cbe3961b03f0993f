// The set-up and the runs of a prediction.

#include "launcher/mpiexec/predicted_job.h"

#include <mpi.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/environment.h"
#include "base/settings.h"
#include "launcher/mpiexec/job_folder.h"
#include "launcher/mpiexec/program.h"
#include "predict/computed_times.h"
#include "predict/outcome.h"
#include "readers/prediction/machine_file.h"
#include "readers/prediction/text.h"

namespace fgmpi::launcher {
namespace {

/// The arguments with one number of ranks in place of several.
Words with_ranks(const Words& arguments, int64_t ranks) {
  Words out;
  bool replaced = false;
  for (const std::string& word : arguments) {
    const bool behind = !out.empty() && (out.back() == "-ranks" || out.back() == "--ranks");
    const bool attached = word.starts_with("-ranks=") || word.starts_with("--ranks=");
    if (!replaced && (behind || attached) && word.find(',') != word.npos) {
      out.push_back((attached ? word.substr(0, word.find('=') + 1) : "") + std::to_string(ranks));
      replaced = true;
    } else {
      out.push_back(word);
    }
  }
  return out;
}

/// Runs mpiexec itself. Returns its exit status.
int run_self(const Words& arguments) {
  std::vector<std::string> words = {"mpiexec"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (const int failed =
          posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ)) {
    std::fprintf(stderr, "mpiexec: -predict: %s\n", std::strerror(failed));
    return 1;
  }
  return wait_for_child(child);
}

}  // namespace

PredictedJob::~PredictedJob() { remove_job_folder(folder_); }

Status PredictedJob::set_up(const LaunchPlan::Predict& wishes, const std::string& library_folder) {
  FGMPI_TRY(predict::find_machine(wishes.machine, &machine_));
  FGMPI_TRY(predict::check_ranks(machine_, wishes.machine, wishes.most_ranks));
  ranks_ = static_cast<uint32_t>(wishes.most_ranks);
  FGMPI_TRY(make_job_folder("-predict", false, &folder_));
  machine_.explains = wishes.explains;
  plot_ = wishes.plot;
  if (wishes.contention == "links") machine_.contention = predict::ContentionModel::kLinks;
  if (wishes.compute == "none")
    machine_.compute = predict::ComputeModel::kNone;
  else if (wishes.compute == "typical")
    machine_.compute = predict::ComputeModel::kTypical;
  else if (wishes.compute.ends_with(kTimesEnding))
    FGMPI_TRY(set_up_times(wishes));
  else if (!wishes.compute.empty() && wishes.compute != "measured")
    machine_.compute_factor *= std::strtod(wishes.compute.c_str(), nullptr);
  if (access((library_folder + "/" + kMeter).c_str(), R_OK) != 0)
    return error(MPI_ERR_ARG, "-predict: %s/%s is not installed", library_folder.c_str(), kMeter);
  std::ofstream out(folder_ + "/" + predict::kMachineFile);
  out << machine_.to_text();
  out.close();
  if (!out) return error(MPI_ERR_ARG, "-predict: %s cannot be written", folder_.c_str());
  if (!wishes.ranks.empty()) return {};  // the runs have folders of their own
  environment::set(environment::kPredictFolder, folder_.c_str());
  environment::put_first(environment::kPreload, kMeter);
  return {};
}

/// The first run measures the times and writes the file; others take them.
Status PredictedJob::set_up_times(const LaunchPlan::Predict& wishes) {
  const std::string& file = wishes.compute;
  if (!wishes.ranks.empty())
    return error(MPI_ERR_ARG, "-predict-compute=%s: allowed with one number of ranks",
                 file.c_str());
  std::error_code failed;
  times_ = std::filesystem::absolute(file, failed).string();
  if (!std::filesystem::exists(times_, failed)) {
    machine_.keeps_times = true;
    return {};
  }
  predict::ComputedTimes times;
  FGMPI_TRY(predict::ComputedTimes::read(times_, &times));
  if (times.ranks() != ranks_)
    return error(MPI_ERR_ARG, "-predict-compute=%s: the file has times of %u ranks; %u are to run",
                 file.c_str(), times.ranks(), ranks_);
  machine_.compute = predict::ComputeModel::kRepeated;
  std::filesystem::create_symlink(times_, folder_ + "/" + predict::kTimesFile, failed);
  if (failed)
    return error(MPI_ERR_ARG, "-predict: %s: %s", folder_.c_str(), failed.message().c_str());
  return {};
}

/// Returns false where the times that were measured cannot be kept, which it prints.
bool PredictedJob::keep_times() const {
  if (!machine_.keeps_times) return true;
  std::error_code failed;
  std::filesystem::copy_file(folder_ + "/" + predict::kTimesFile, times_, failed);
  if (failed)
    std::fprintf(stderr, "mpiexec: -predict-compute=%s: cannot be written: %s\n", times_.c_str(),
                 failed.message().c_str());
  return !failed;
}

int PredictedJob::run(const std::function<int()>& job) {
  const char* kept = environment::text(environment::kPredictKept);
  const std::string copy = kept ? kept : "";
  environment::unset(environment::kPredictKept);
  const int status = job();
  const std::string path = folder_ + "/" + predict::kOutcomeFile;
  predict::PredictionOutcome outcome;
  if (!predict::PredictionOutcome::read(path, &outcome).ok()) {
    std::fprintf(stderr, "mpiexec: -predict: not all ranks have ended in MPI_Finalize\n");
    return status ? status : 1;
  }
  const bool kept_times = keep_times();
  std::error_code failed;
  if (!copy.empty())
    std::filesystem::copy_file(path, copy, failed);
  else
    std::fputs(predict::summary_of(outcome).c_str(), stderr);
  const bool plotted = !copy.empty() || write_plot({outcome});
  return plotted && kept_times ? status : 1;
}

report::PredictedOn PredictedJob::for_page() const {
  report::PredictedOn on{machine_.name, {}};
  for (uint32_t i = 0; i < ranks_; ++i) on.nodes.push_back(machine_.node_of(i, ranks_));
  return on;
}

bool PredictedJob::write_plot(const std::vector<predict::PredictionOutcome>& outcomes) const {
  if (plot_.empty()) return true;
  std::ofstream out(plot_);
  out << predict::plot_of(outcomes);
  out.close();
  if (!out) std::fprintf(stderr, "mpiexec: -predict-plot %s: cannot be written\n", plot_.c_str());
  return static_cast<bool>(out);
}

int PredictedJob::run_each(const std::vector<std::string>& arguments,
                           const std::vector<int64_t>& ranks) {
  std::vector<predict::PredictionOutcome> outcomes;
  int first_status = 0;
  environment::unset(settings::kRecords[settings::kReport].name);  // runs would overwrite the page
  for (const int64_t n : ranks) {
    const std::string path = folder_ + "/outcome-" + std::to_string(outcomes.size());
    environment::set(environment::kPredictKept, path.c_str());
    const int status = run_self(with_ranks(arguments, n));
    if (status && !first_status) first_status = status;
    predict::PredictionOutcome outcome;
    if (!predict::PredictionOutcome::read(path, &outcome).ok()) break;
    outcomes.push_back(std::move(outcome));
  }
  if (outcomes.empty()) return first_status;
  std::fputs(predict::table_of(outcomes).c_str(), stderr);
  if (!write_plot(outcomes) && !first_status) return 1;
  return first_status;
}

}  // namespace fgmpi::launcher
