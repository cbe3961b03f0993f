// FGMPI_RMA_PROGRESS=thread: a thread of each process that answers messages while the process's
// ranks compute, so that one-sided operations that need the target's process (src/rma, way
// kMessages; locks that are asked for by message) do not wait for its next MPI call.
//
// It is a thread of a rank that waits in MPI for ever, for nothing: it becomes the sleeper of
// proclet-sched/threads.h, which polls the transports and sleeps on them. So it costs what
// MPI_THREAD_MULTIPLE costs, and answers as soon as the kernel gives it a core: a message wakes it,
// nothing is polled at intervals.
//
// Thread rule: start and stop by the scheduler's thread.
#pragma once

namespace fgmpi::mpi {

/// Is there a thread to be, in a job of several processes?
bool wants_answering_thread();
/// Called outside of the library, once threads are enabled. Never switches.
void start_answering_thread();
/// Before the process's last rank has ended, inside. Nothing if there is none. May switch.
void stop_answering_thread();

}  // namespace fgmpi::mpi
