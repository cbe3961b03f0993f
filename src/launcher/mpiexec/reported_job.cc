// The set-up and the run of a job under -report, and the pages that are written.

#include "launcher/mpiexec/reported_job.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/environment.h"
#include "launcher/mpiexec/hydra_run.h"
#include "launcher/mpiexec/job_folder.h"
#include "launcher/mpiexec/program.h"
#include "launcher/mpiexec/progress_line.h"
#include "readers/report/run.h"

namespace fgmpi::launcher {
namespace {

constexpr int kProgressMs = 500;
/// How long the writer waits for processes to end after mpiexec was killed.
constexpr int kEndsWithinMs = 10'000;

Status check_file(const std::string& file) {
  if (!report::has_charts())
    return error(MPI_ERR_ARG,
                 "-report %s: this build has no D3, which draws the page's charts (fgmpi-info); "
                 "-summary prints the first page as text",
                 file.c_str());
  if (!file.ends_with(".html"))
    return error(MPI_ERR_ARG, "-report %s: allowed is a name that ends in .html", file.c_str());
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed) || access(folder.c_str(), W_OK) != 0)
    return error(MPI_ERR_ARG, "-report %s: cannot be written there: %s", file.c_str(),
                 std::strerror(errno));
  return {};
}

/// What mpiexec sends to the writer when the job has ended.
struct EndOfJob {
  int status = 0, signal = 0;  ///< signal: the one that asked mpiexec to end the job; 0: none
};

/// True where a process of the job on this host still exists.
bool any_is_alive(const report::JobRun& run) {
  for (const auto& p : run.processes)
    if (p.header().pid && kill(static_cast<pid_t>(p.header().pid), 0) == 0) return true;
  return false;
}

void wait_for_ends(const std::string& folder) {
  report::JobRun run;
  run.read(folder);
  for (int waited = 0; waited < kEndsWithinMs && any_is_alive(run); waited += 20) usleep(20'000);
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) std::fprintf(stderr, "mpiexec: -report %s: cannot be written\n", path.c_str());
  return static_cast<bool>(out);
}

}  // namespace

ReportedJob::~ReportedJob() { remove_job_folder(folder_); }

Status ReportedJob::set_up(const ReportWishes& wishes, const std::string& library_folder,
                           bool elsewhere) {
  wishes_ = wishes;
  if (!wishes_.file.empty()) {
    std::error_code failed;
    wishes_.file = std::filesystem::absolute(wishes_.file, failed).string();
    FGMPI_TRY(check_file(wishes_.file));
  }
  if (access((library_folder + "/" + kReporter).c_str(), R_OK) != 0)
    return error(MPI_ERR_ARG, "-report: %s/%s is not installed", library_folder.c_str(), kReporter);
  FGMPI_TRY(make_job_folder("-report", elsewhere, &folder_));
  environment::set(environment::kReportFolder, folder_.c_str());
  environment::put_first(environment::kPreload, kReporter);
  return {};
}

/// Runs in the writer: waits for the message from mpiexec, or for the end of mpiexec, which closes
/// the pipe; then writes the report and exits.
void ReportedJob::write_report_at_end(int from, const std::string& command,
                                      const std::vector<std::string>& settings) {
  report::JobRun run;
  run.predicted = predicted_;
  run.end.command = command;
  run.end.settings = settings;
  run.end.version = "Finegrain MPI " FGMPI_VERSION;
  EndOfJob end_of_job;
  ssize_t got = 0;
  while ((got = read(from, &end_of_job, sizeof end_of_job)) < 0 && errno == EINTR) {
  }
  run.end.launcher_killed = got != sizeof end_of_job;
  run.end.status = end_of_job.status;
  run.end.launcher_signal = end_of_job.signal;
  if (run.end.launcher_killed) wait_for_ends(folder_);
  run.read(folder_);
  run.sum_up();
  bool good = true;
  if (wishes_.summary) std::fputs(report::to_text(run).c_str(), stderr);
  if (!wishes_.file.empty()) good = write_file(wishes_.file, report::to_html(run));
  if (run.end.launcher_killed) remove_job_folder(folder_);
  _exit(good ? 0 : 1);
}

bool ReportedJob::start_writer(const std::string& command,
                               const std::vector<std::string>& settings) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return false;
  writer_ = fork();
  if (writer_ == 0) {
    setsid();  // signals of the terminal to mpiexec and its processes do not reach the writer
    close(pipe[1]);
    environment::unset(environment::name(environment::kPreload));
    write_report_at_end(pipe[0], command, settings);
  }
  close(pipe[0]);
  writer_pipe_ = pipe[1];
  return writer_ > 0;
}

int ReportedJob::run(const std::string& hydra, char* const* arguments, const std::string& command,
                     const std::vector<std::string>& settings) {
  const bool writes = wishes_.summary || !wishes_.file.empty();
  if (writes && !start_writer(command, settings)) {
    std::fprintf(stderr, "mpiexec: -report: fork: %s\n", std::strerror(errno));
    return 1;
  }
  ProgressLine line(folder_);
  const bool shows = wishes_.progress && ProgressLine::wanted();
  int status = run_hydra(hydra, arguments, shows ? kProgressMs : 0, [&] { line.show(); });
  if (shows) line.clear();
  if (!writes) return status;
  signal(SIGPIPE, SIG_IGN);
  const EndOfJob end_of_job = {status, signal_sent_to_job()};
  (void)!write(writer_pipe_, &end_of_job, sizeof end_of_job);
  const int written = wait_for_child(writer_);
  return status == 0 && written != 0 ? 1 : status;
}

}  // namespace fgmpi::launcher
