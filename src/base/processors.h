// How many processors of the host this process may use, and how many processes of the
// job share them.
#pragma once

#include <cstdint>

namespace fgmpi {

/// Processors that the calling thread may run on; at least 1.
int64_t usable_processors();
/// Processes of the job on this host, by the launcher's variable; at least 1.
int64_t processes_on_host();

}  // namespace fgmpi
