// The watcher: a thread that sees at once when the next process of the host is killed, and reports
// which ranks are lost.
//
// The launcher sees an end, too, but it has no information about ranks, and after it has ended the
// others it cannot find out which process ended first. So the processes of a host form a ring. Each
// one watches the next, by a thread that does nothing else:
//
//   what the thread sees     by             what it does
//   the next process ends    pidfd          nothing if that process has left its mark (end_mark.h).
//                                           Else it writes one line, and lets the launcher see the
//                                           end; the launcher ends the job
//   the launcher ends        end of PMI_FD  ends this process: nothing else would
//
// The watcher holds duplicates (pidfd_getfd) of the next process's connection to the launcher and
// of its output. Without them the launcher would see the end at the same time, and end this process
// before the watcher could write. When the launcher itself ends all processes (MPI_Abort, Ctrl-C),
// none of these ends is to be reported. So before it writes, the watcher waits until the launcher
// is idle, and is ended meanwhile. Where descriptors cannot be duplicated there are no watchers,
// and only the launcher reports a loss, by process ids.
//
// Thread rule: start_watch() once, host stack. The thread shares memory with the process but not
// its descriptors. It uses no thread-local data (errno is the process's), no heap and no lock. So
// the C library need not count it as a thread, and keeps the shortcuts of single-threaded programs.
// All signals are blocked in it.
#pragma once

#include <string>

#include "liveness/card.h"

namespace fgmpi::liveness {

/// True where this process may start a watcher: not with FGMPI_WATCH=off, and not under valgrind
/// and sanitizers, which end processes that have such threads.
bool watch_wanted();

/// Watches the launcher's connection and, unless `next` is nullptr, another process of this host,
/// which `description` names ("process 3 of the job (...)"). `reports_launcher`: this process is
/// the one that reports the end of the launcher.
void start_watch(int launcher_fd, const Card* next, const std::string& description,
                 bool reports_launcher);

}  // namespace fgmpi::liveness
