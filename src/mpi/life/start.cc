// Who this process is: its place in the job, how many ranks it hosts.

#include <cstdio>
#include <string>

#include "base/assert.h"
#include "base/end_hooks.h"
#include "base/error_line.h"
#include "base/settings.h"
#include "base/strings.h"
#include "liveness/launcher_signal.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"

namespace fgmpi::mpi {
namespace {

/// For end_process(): aborts the job, if this process is one of several. Otherwise the others would
/// wait for this one for ever: for the launcher, a process that ends before it has used the
/// launcher's interface is no MPI process.
void abort_job_of(int status) {
  ProcessState& me = process();
  if (!me.boot && !bootstrap::open(&me.boot).ok()) return;
  if (me.boot->size() > 1) me.boot->abort(status, "");
}
/// Runs when this library is loaded: from then on it may have to end the process, or handle a
/// signal of the launcher's.
[[maybe_unused]] const bool g_end_is_set_up = [] {
  set_end_announcer(abort_job_of);
  liveness::ignore_notices_of_launcher();
  return true;
}();

}  // namespace

ProcessState& process() {
  static ProcessState* p = new ProcessState;
  return *p;
}

void refuse(const std::string& line) {
  write_error_line(line);
  end_process(1);
}

bootstrap::Bootstrap& boot() {
  ProcessState& me = process();
  if (!me.boot) {
    Status opened = bootstrap::open(&me.boot);
    if (!opened.ok()) refuse(opened.what());
  }
  return *me.boot;
}

uint32_t ranks_of_this_process() {
  ProcessState& me = process();
  if (me.ranks) return me.ranks;
  int64_t each = settings::number(settings::kNfg);
  if (settings::is_set(settings::kRanks) && !settings::is_set(settings::kNfg)) {
    const int64_t total = settings::number(settings::kRanks);
    int64_t p = boot().rank(), processes = boot().size();
    if (total < processes)
      refuse(format("FGMPI_RANKS=%lld: allowed is at least one rank for each of %lld processes",
                    static_cast<long long>(total), static_cast<long long>(processes)));
    each = total / processes + (p < total % processes ? 1 : 0);
  }
  me.ranks = static_cast<uint32_t>(each);
  return me.ranks;
}

}  // namespace fgmpi::mpi
