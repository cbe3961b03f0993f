// The other hosts of a running job: what mpiexec has started there is asked by fgmpi-info there,
// which is started in the same way as the launcher's proxy was (ssh HOST, or another launcher that
// takes a command). So no process of the job listens on a port, none has a thread for it, and a
// rank that never calls MPI again is seen as well.
//
// Thread rule: one thread, which starts a thread for each host that it asks.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fgmpi::tools {

/// The words that a process was started with.
std::vector<std::string> words_of_process(pid_t pid);

/// A proxy on another host: what of its command starts a program there, and by what its own
/// processes are found there.
struct RemoteProxy {
  std::vector<std::string> starter;
  std::string control_port, proxy_id;
};
/// Is the process with these words one that has started a proxy on another host, and waits for its
/// end?
bool is_remote_proxy(const std::vector<std::string>& words, RemoteProxy* out);

/// The proxy on this host, or 0.
pid_t find_proxy(const std::string& control_port, const std::string& proxy_id);

/// What fgmpi-info -job-part prints there; "" where there is no answer in time, then *why says it.
std::string ask(const RemoteProxy& proxy, std::string* why);

}  // namespace fgmpi::tools
