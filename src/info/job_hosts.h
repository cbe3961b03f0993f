// The other hosts of a running job. A fgmpi-info on each of them reports on the processes that
// mpiexec has started there. It is started as the launcher's proxy was (by ssh HOST, or by another
// launcher that runs a command). So no process of the job listens on a port or has a thread for
// this, and the report covers ranks that never call MPI again.
//
// Thread rule: one thread, which starts a thread for each host.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fgmpi::tools {

/// The command line of a process, in words.
std::vector<std::string> words_of_process(pid_t pid);

/// A proxy on another host: `starter`, the words of its command that start a program there, and the
/// two values by which fgmpi-info finds the proxy on that host.
struct RemoteProxy {
  std::vector<std::string> starter;
  std::string control_port, proxy_id;
};
/// True where a process with these words has started a proxy on another host, and waits for its
/// end.
bool is_remote_proxy(const std::vector<std::string>& words, RemoteProxy* out);

/// The proxy on this host, or 0.
pid_t find_proxy(const std::string& control_port, const std::string& proxy_id);

/// Returns what fgmpi-info -job-part prints on the proxy's host. Returns "" and sets *why to the
/// reason where no answer comes in time.
std::string ask(const RemoteProxy& proxy, std::string* why);

}  // namespace fgmpi::tools
