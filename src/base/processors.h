// How many processors of the host there are for how many processes of the job.
#pragma once

#include <cstdint>

namespace fgmpi {

/// Those that the calling thread may run on; at least 1.
int64_t usable_processors();
/// Processes of the job on this host, as the launcher says; at least 1.
int64_t processes_on_host();

}  // namespace fgmpi
