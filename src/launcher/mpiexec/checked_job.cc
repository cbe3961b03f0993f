// The set-up, the run and the report of a job under -check.

#include "launcher/mpiexec/checked_job.h"

#include <mpi.h>
#include <unistd.h>

#include <cstdio>

#include "base/environment.h"
#include "launcher/mpiexec/hydra_run.h"
#include "launcher/mpiexec/job_folder.h"
#include "readers/findings/report.h"

namespace fgmpi::launcher {

CheckedJob::~CheckedJob() { remove_job_folder(folder_); }

Status CheckedJob::set_up(const std::string& kinds, const std::string& library_folder,
                          bool elsewhere) {
  uint32_t mask = 0;
  if (!kinds.empty())
    if (std::string_view wrong = findings::parse_kinds(kinds, &mask); !wrong.empty())
      return error(MPI_ERR_ARG, "-check=%s: \"%.*s\" is no kind of finding (mpiexec -help)",
                   kinds.c_str(), static_cast<int>(wrong.size()), wrong.data());
  if (access((library_folder + "/" + kChecker).c_str(), R_OK) != 0)
    return error(MPI_ERR_ARG, "-check: %s/%s is not installed", library_folder.c_str(), kChecker);
  FGMPI_TRY(make_job_folder("-check", elsewhere, &folder_));
  environment::set(environment::kCheckFolder, folder_.c_str());
  if (!kinds.empty()) environment::set(environment::kCheckKinds, kinds.c_str());
  environment::put_first(environment::kPreload, kChecker);
  return {};
}

int CheckedJob::report(int status, const std::vector<std::string>& reports) {
  findings::FindingReport report;
  report.read(folder_);
  report.resolve();
  // The job may have ended in the middle of a line.
  if (const std::string text = report.to_text(); !text.empty())
    std::fprintf(stderr, "\n%s", text.c_str());
  for (const std::string& path : reports)
    if (Status s = report.write(path); !s.ok()) {
      std::fprintf(stderr, "mpiexec: %s\n", s.what().c_str());
      if (status == 0) status = 1;
    }
  return report.count() > 0 ? findings::kStatusWithFindings : status;
}

int CheckedJob::run(const std::string& hydra, char* const* arguments,
                    const std::vector<std::string>& reports) {
  return report(run_hydra(hydra, arguments), reports);
}

}  // namespace fgmpi::launcher
