// Loaded into mpiexec.hydra (LD_PRELOAD, set by our mpiexec) to make it survive two things that it does not by itself.
//
// 1. Standard input that comes, or ends (< /dev/null), at the moment when the program ends. Hydra passes it on to a
//    proxy that may be gone by then, and dies of SIGPIPE, or ends with "callback returned error status" from its demux
//    engine: a job that went well is reported as failed, about once in some hundred launches of short programs. Here a
//    write to a connection that has ended counts as done; how the job ended is in what hydra reads next.
// 2. A host that can no longer be reached. Its processes notice that (src/transport/ofi/lifeline.h), but hydra would
//    wait for the lost host's answer for as long as TCP does: a quarter of an hour. With keep-alive on the
//    connections that it accepts, its own handling of a lost connection ends the job.
//
// Thread rule: as the functions that are interposed. The programs that hydra starts never see this library: it takes
// itself out of the environment before hydra looks at it. A hydra that is linked statically runs without it.

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "launcher/hydra_guard.h"

namespace {

constexpr int kIdleSeconds = 4, kBetweenSeconds = 1, kProbes = 6, kUnansweredMs = 10'000;

/// In hydra; not in a program that got here by a launcher which ignored us.
bool g_active = false;

void keep_alive(int socket) {
  auto set = [&](int level, int option, int value) {
    return setsockopt(socket, level, option, &value, sizeof value);
  };
  if (set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds)) return;  // not TCP
  set(IPPROTO_TCP, TCP_KEEPINTVL, kBetweenSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMs);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

__attribute__((constructor)) void leave_environment() {
  g_active = std::strstr(program_invocation_short_name, "hydra") ||
             std::strstr(program_invocation_short_name, "mpiexec");
  const char* present = std::getenv("LD_PRELOAD");
  if (!present) return;
  std::string rest = present;
  size_t at = rest.find(fgmpi::launcher::kHydraGuard);
  if (at == rest.npos) return;
  rest.erase(at, std::strlen(fgmpi::launcher::kHydraGuard) + 1);  // and the colon behind it
  if (rest.empty())
    unsetenv("LD_PRELOAD");
  else
    setenv("LD_PRELOAD", rest.c_str(), 1);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t write(int fd, const void* bytes, size_t count) {
  if (!g_active || (fd >= 0 && fd <= STDERR_FILENO)) return syscall(SYS_write, fd, bytes, count);
  if (fd < 0)
    return static_cast<ssize_t>(count);  // hydra's mark of a connection that it has closed
  ssize_t done = send(fd, bytes, count, MSG_NOSIGNAL);
  if (done >= 0) return done;
  if (errno == ENOTSOCK) return syscall(SYS_write, fd, bytes, count);
  return errno == EPIPE || errno == ECONNRESET ? static_cast<ssize_t>(count) : -1;
}

__attribute__((visibility("default"))) int accept(int fd, sockaddr* address, socklen_t* length) {
  int connection = accept4(fd, address, length, 0);
  if (g_active && connection >= 0) keep_alive(connection);
  return connection;
}
}
