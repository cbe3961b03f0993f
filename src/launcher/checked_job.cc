#include "launcher/checked_job.h"

#include <mpi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/environment.h"
#include "tools/findings/report.h"

namespace fgmpi::launcher {
namespace {

pid_t g_hydra = 0;

void pass_on(int number) {
  if (g_hydra > 0) kill(g_hydra, number);
}

/// Those that end a job, and those that hydra hands to its processes.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};

int wait_for_hydra() {
  int status = 0;
  while (waitpid(g_hydra, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return WEXITSTATUS(status);
}

}  // namespace

CheckedJob::~CheckedJob() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Status CheckedJob::set_up(const std::string& kinds, const std::string& library_folder,
                          bool elsewhere) {
  uint32_t mask = 0;
  if (!kinds.empty())
    if (std::string_view wrong = findings::parse_kinds(kinds, &mask); !wrong.empty())
      return error(MPI_ERR_ARG, "-check=%s: \"%.*s\" is no kind of finding (mpiexec -help)",
                   kinds.c_str(), static_cast<int>(wrong.size()), wrong.data());
  if (access((library_folder + "/" + kChecker).c_str(), R_OK) != 0)
    return error(MPI_ERR_ARG, "-check: %s/%s is not installed", library_folder.c_str(), kChecker);
  const char* temporary = environment::text(environment::kTemporary);
  std::error_code failed;
  std::string name = (elsewhere ? std::filesystem::current_path(failed).string()
                                : std::string(temporary ? temporary : "/tmp")) +
                     "/fgmpi-check-XXXXXX";
  if (!mkdtemp(name.data()))
    return error(MPI_ERR_ARG, "-check: no folder for findings at %s: %s", name.c_str(),
                 std::strerror(errno));
  folder_ = name;
  environment::set(environment::kCheckFolder, folder_.c_str());
  if (!kinds.empty()) environment::set(environment::kCheckKinds, kinds.c_str());
  environment::put_first(environment::kPreload, kChecker);
  return {};
}

int CheckedJob::report(int status, const std::vector<std::string>& reports) {
  findings::Report report;
  report.read(folder_);
  report.resolve();
  std::fputs(report.to_text().c_str(), stderr);
  for (const std::string& path : reports)
    if (Status s = report.write(path); !s.ok()) {
      std::fprintf(stderr, "mpiexec: %s\n", s.what().c_str());
      if (status == 0) status = 1;
    }
  return report.count() > 0 ? findings::kStatusWithFindings : status;
}

int CheckedJob::run(const std::string& hydra, char* const* arguments,
                    const std::vector<std::string>& reports) {
  struct sigaction passes {};
  passes.sa_handler = pass_on;
  for (int number : kPassedOn) sigaction(number, &passes, nullptr);
  g_hydra = fork();
  if (g_hydra == 0) {
    for (int number : kPassedOn) signal(number, number == SIGUSR1 ? SIG_IGN : SIG_DFL);
    execv(hydra.c_str(), arguments);
    std::fprintf(stderr, "mpiexec: %s: %s\n", hydra.c_str(), std::strerror(errno));
    _exit(127);
  }
  if (g_hydra < 0) {
    std::fprintf(stderr, "mpiexec: fork: %s\n", std::strerror(errno));
    return 1;
  }
  return report(wait_for_hydra(), reports);
}

}  // namespace fgmpi::launcher
