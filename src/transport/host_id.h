// Which host is this? Two processes may share memory only when they really are on one host.
#pragma once

#include <string>

namespace fgmpi::transport {

/// 32 hexadecimal digits, equal for two processes when memory without a name can be shared between
/// them (memfds opened through /proc): a hash of
///   - the kernel's boot id;
///   - the pid, network and user namespaces. The network namespace counts because hosts made of
///     network namespaces share everything else. The mount namespace does not count (`ip netns
///     exec` makes a new one each time), nor do those of time, cgroups and System V objects;
///   - the host name: copies of a running virtual machine have the same boot id and namespaces;
///   - the user id, the permitted capabilities and the security label: the kernel compares them
///     before one process may open what another one has open;
///   - the words of FGMPI_HOST_ID: processes with different words are on different hosts.
/// Where the boot id or a namespace cannot be read (no /proc), a process is on a host of its own:
/// the network reaches it, and nothing is guessed.
std::string host_id();

/// Like host_id(), and equal only where POSIX shared memory objects are shared too: with the device
/// of /dev/shm.
std::string host_id_of_files();

}  // namespace fgmpi::transport
