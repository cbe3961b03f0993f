// A job on several hosts must end when one of them can no longer be reached. Its processes notice that
// (src/transport/ofi/lifeline.h), but mpiexec.hydra would then wait for the lost host's answer for as long as
// TCP does: a quarter of an hour. So a small watcher turns on keep-alive on the connections that hydra
// has; hydra's own handling of a lost connection then ends the job.
#pragma once

#include "launcher/command_line.h"

namespace fgmpi::launcher {

/// Does this command line (or a batch system's or hydra's variable) name hosts?
bool names_hosts(const Words& hydra);

/// To be called right before this process becomes hydra: leaves a child behind that watches over it and ends with
/// it. Without the means (a kernel before 5.6, no permission) hydra behaves as ever.
void watch_connections();

}  // namespace fgmpi::launcher
