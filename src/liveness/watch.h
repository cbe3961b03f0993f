// The watcher: a thread that sees at once when the next process of the host is killed, and reports
// which ranks are lost.
//
// The launcher sees a process end too, but it knows nothing of ranks, nor, once it has ended the
// others, which one was the first. So the processes of a host form a ring, in which each one
// watches the next, by a thread that does nothing else:
//
//   what it sees             by             what it does
//   the next process ends    pidfd          nothing if that has left its mark (end_mark.h). Else it
//                                           writes one line, and lets the launcher know, which ends
//                                           the job
//   the launcher ends        end of PMI_FD  ends this process: nobody else would
//
// It holds duplicates (pidfd_getfd) of the next process's connection to the launcher and of its
// output. Without them the launcher would see the end at the same time, and end this process before
// it could write. When the launcher ends all processes by itself (MPI_Abort, Ctrl-C), none of them
// is to be reported: before it writes, the watcher waits until the launcher is idle, and is ended
// meanwhile. Where descriptors cannot be duplicated nobody watches, and the launcher's own report,
// by process ids, is all there is.
//
// Thread rule: start_watch() once, host stack. The thread shares memory with the process but not
// its descriptors; it uses no thread-local data (errno is the process's), no heap and no lock, so
// the C library need not know of it and keeps the shortcuts of single-threaded programs. All
// signals are blocked in it.
#pragma once

#include <string>

#include "liveness/card.h"

namespace fgmpi::liveness {

/// May a watcher be started in this process? Not with FGMPI_WATCH=off, and not under valgrind and
/// sanitizers, which end processes that have such threads.
bool watch_wanted();

/// Watches the launcher's connection and, unless `next` is nullptr, another process of this host,
/// which `description` names ("process 3 of the job (...)"). `reports_launcher`: of the processes
/// that lose the launcher this one says so.
void start_watch(int launcher_fd, const Card* next, const std::string& description,
                 bool reports_launcher);

}  // namespace fgmpi::liveness
