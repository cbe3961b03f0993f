// How many processors this process may use, and how many processes of the job share them.

#include "base/processors.h"

#include <sched.h>

#include <algorithm>

#include "base/environment.h"
#include "base/strings.h"

namespace fgmpi {

int64_t usable_processors() {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  return std::max(CPU_COUNT(&usable), 1);
}

int64_t processes_on_host() {
  const char* here = environment::text(environment::kLocalProcesses);
  return std::max<int64_t>(here ? parse_int(here).value_or(1) : 1, 1);
}

}  // namespace fgmpi
