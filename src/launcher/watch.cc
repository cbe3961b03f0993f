#include "launcher/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

namespace fgmpi::launcher {
namespace {

constexpr int kIdleSeconds = 4, kBetweenSeconds = 1, kProbes = 6, kUnansweredMs = 10'000;

/// The socket is the same object as hydra's, so what is set here holds there.
void keep_alive(int socket) {
  auto set = [&](int level, int option, int value) { return setsockopt(socket, level, option, &value, sizeof value); };
  if (set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds)) return;  // not TCP
  set(IPPROTO_TCP, TCP_KEEPINTVL, kBetweenSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMs);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

[[noreturn]] void watch(pid_t hydra) {
  auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, hydra, 0));
  std::string folder = "/proc/" + std::to_string(hydra) + "/fd";
  std::set<std::string> seen;
  while (pidfd >= 0 && getppid() == hydra) {
    DIR* dir = opendir(folder.c_str());
    if (!dir) break;
    while (dirent* entry = readdir(dir)) {
      char link[64] = "";
      std::string path = folder + "/" + entry->d_name;
      if (readlink(path.c_str(), link, sizeof link - 1) < 0 || std::string(link).rfind("socket:", 0)) continue;
      if (!seen.insert(link).second) continue;
      auto socket = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, std::atoi(entry->d_name), 0));
      if (socket < 0) continue;
      keep_alive(socket);
      close(socket);
    }
    closedir(dir);
    sleep(1);
  }
  _exit(0);
}

}  // namespace

bool names_hosts(const Words& hydra) {
  for (const char* variable : {"HYDRA_HOST_FILE", "SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE"})
    if (std::getenv(variable)) return true;
  const std::set<std::string> options = {"hosts", "host", "f", "hostfile", "machine", "machinefile", "configfile"};
  for (const std::string& word : hydra) {
    size_t dashes = word.find_first_not_of('-');
    if (dashes >= 1 && dashes <= 2 && options.count(word.substr(dashes))) return true;
  }
  return false;
}

void watch_connections() {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child > 0) {
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, child, 0, 0, 0);
#endif
    return;
  }
  if (child < 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();  // a Ctrl-C is hydra's
  int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && nothing >= 0; ++fd) dup2(nothing, fd);
  closefrom(3);
  watch(parent);
}

}  // namespace fgmpi::launcher
