// fgmpi-info -job PID: what the ranks of a running job do now, grouped, without stopping it; on
// other hosts, too (job_hosts.h).
//
// Two sources: the counters of a job under mpiexec -report, -summary or -progress (profile), which
// say the call, whom it waits for and the line; else the scheduler's table in the memory of each
// process (proclet-sched/debug_table.h), which says the call, and what a wait in point-to-point is
// for (foreign_wait.h). Reading memory needs the right to trace the process; reading counters that
// to read its files. Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace fgmpi::tools {

/// `pid`: of mpiexec, or of any process of the job. *out: lines, ranks that do the same as one.
/// Errors: there is no process of a job; its memory may not be read.
Status describe_job(pid_t pid, std::string* out);
/// What fgmpi-info -job-part prints on another host of the job: of the processes of this proxy, for
/// describe_job() there.
Status describe_part(const std::string& control_port, const std::string& proxy_id,
                     std::string* out);

}  // namespace fgmpi::tools
