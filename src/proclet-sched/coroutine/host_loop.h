// The loop on the host stack: polls, wakes sleepers, runs proclets, and sleeps when there is
// nothing to do. Thread rule: host stack.
#pragma once

namespace fgmpi::sched {

/// Runs until every rank has finished (false) or the job is deadlocked (true).
bool host_loop();

}  // namespace fgmpi::sched
