// FGMPI_RMA_PROGRESS=thread: a thread of each process that answers messages while the process's
// ranks compute. So one-sided operations that need the target's process (src/rma, way kMessages;
// locks requested by message) do not wait for its next MPI call.
//
// The thread belongs to a rank that waits in MPI for ever, for nothing. It becomes the sleeper of
// proclet-sched/threads/threads.h, which polls the transports and sleeps on them. So it costs what
// MPI_THREAD_MULTIPLE costs, and answers as soon as the kernel gives it a core: a message wakes it,
// nothing is polled at intervals.
//
// Thread rule: start and stop by the scheduler's thread.
#pragma once

namespace fgmpi::mpi {

/// True where the setting asks for a thread, and the job has several processes.
bool is_answering_thread_needed();
/// Starts the thread. Called outside of the library, once threads are enabled. Never switches.
void start_answering_thread();
/// Stops the thread, if there is one. Called before the process's last rank has ended, inside the
/// library. May switch.
void stop_answering_thread();

}  // namespace fgmpi::mpi
