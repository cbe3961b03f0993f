// fgmpi-info -job PID: what the ranks of a running job do now, in groups of ranks that do the same.
// The job is not stopped. The ranks may be on other hosts, too (job_hosts.h).
//
// There are two sources. A job under mpiexec -report, -summary or -progress has counters (profile),
// which hold the call, the peer and the line. For any other job, the scheduler's table in the
// memory of each process (proclet-sched/coroutine/debug_table.h) leads to the call of each parked
// rank, and to what the rank waits for (foreign_wait.h). Reading memory needs the right to trace
// the process; reading counters needs the right to read its files. Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace fgmpi::tools {

/// Describes a job. `pid`: mpiexec, or any process of the job. *out: lines, in which ranks that do
/// the same share one. Errors: there is no process of a job; its memory may not be read.
Status describe_job(pid_t pid, std::string* out);
/// Makes what fgmpi-info -job-part prints on another host of the job: the processes of this proxy,
/// for describe_job() on the first host.
Status describe_part(const std::string& control_port, const std::string& proxy_id,
                     std::string* out);

}  // namespace fgmpi::tools
