// Who notices that a process was killed, and says which ranks are lost.
//
// The launcher sees a process end too, but it knows neither ranks nor, once it has ended the others, which one was the
// first. So each process watches over the next one of its host, in a ring, by a thread that does nothing else:
//
//   next process ends        pidfd          it has left its mark (liveness/end_mark.h): it has ended in order, or has said why
//                                           itself; nothing to do
//                                           else: one line; then the launcher is let know, which ends the job
//   launcher goes away       end of PMI_FD  the process ends: nobody else would end it
//
// The dead process's connection to the launcher and its output are held open by duplicates (pidfd_getfd) until then, so
// the launcher does not end the other processes first. When it does end them all (MPI_Abort, Ctrl-C), the watcher is
// among them and silent: it does not believe in a fault before the launcher has gone to sleep. Where descriptors cannot
// be duplicated nobody watches, and the launcher's own words are all there is.
//
// Thread rule: start() once, host stack. The thread shares memory with the process but not its descriptors; it uses no
// thread-local data (errno is the process's), no heap and no lock, so the C library need not know of it and keeps the
// shortcuts of single-threaded programs. All signals are blocked in it. FGMPI_WATCH=off, or under
// valgrind, which does not bear such threads: none is started.
#pragma once

#include <cstdint>
#include <string>

namespace fgmpi::liveness {

/// What a process publishes about itself: "PID:PMIFD:FAREWELLFD:HOSTID:HOSTNAME".
struct Card {
  int pid = 0;
  int launcher_fd = -1;  ///< its connection to the launcher
  int farewell_fd = -1;  ///< liveness/end_mark.h
  std::string host_id;   ///< equal on one host
  std::string host_name;

  std::string to_string() const;
  /// False for anything else.
  bool parse(const std::string& text);
};

/// The card of this process.
Card own_card(int launcher_fd, const std::string& host_id);

/// May a watch be started at all in this process?
bool watch_wanted();

/// Starts watching over the launcher's connection and, unless `next` is nullptr, over another process of this host,
/// of which `words` say who it is ("process 3 of the job (...)"). `speaks`: of the processes that lose the
/// launcher, this one says so.
void start_watch(int launcher_fd, const Card* next, const std::string& words, bool speaks);

}  // namespace fgmpi::liveness
