// Who this process is: its place in the job, how many ranks it hosts.

#include <cstdio>
#include <string>

#include "base/assert.h"
#include "base/end_hooks.h"
#include "base/settings.h"
#include "base/strings.h"
#include "liveness/launcher_signal.h"
#include "mpi/process.h"
#include "mpi/runtime.h"

namespace fgmpi::mpi {
namespace {

/// This process ends before its time, perhaps before it has met the others: those would wait for it for ever, and the
/// launcher takes a process that ends by itself for one that is no part of the job.
void end_the_others(int status) {
  Process& me = process();
  if (!me.boot && !bootstrap::open(&me.boot).ok()) return;
  if (me.boot->size() > 1) me.boot->abort(status, "");
}
[[maybe_unused]] const bool g_prepared_for_the_worst =
    (set_tell_others_of_end(end_the_others), liveness::ignore_notices_of_launcher(), true);

}  // namespace

Process& process() {
  static Process* p = new Process;
  return *p;
}

void refuse(const std::string& line) {
  std::fprintf(stderr, "fgmpi: %s\n", line.c_str());
  end_process(1);
}

bootstrap::Bootstrap& boot() {
  Process& me = process();
  if (!me.boot) {
    Status opened = bootstrap::open(&me.boot);
    if (!opened.ok()) refuse(opened.what());
  }
  return *me.boot;
}

uint32_t ranks_of_this_process() {
  Process& me = process();
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
