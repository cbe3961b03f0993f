// Which host is this? Two processes may share memory only when they really are on one host.
#pragma once

#include <string>

namespace fgmpi::transport {

/// 32 hexadecimal digits, equal for two processes exactly when shared memory between them works: a
/// hash of the kernel's boot id, the pid, network and user namespaces, the host name, the user id,
/// and the device that /dev/shm is. The network namespace counts because hosts made of network
/// namespaces share everything else; the mount namespace does not count (`ip netns exec` makes a
/// new one each time), the device of /dev/shm is what matters of it. FGMPI_HOST_ID=text adds words
/// to the hash: processes with different words are on different hosts.
std::string host_id();

}  // namespace fgmpi::transport
