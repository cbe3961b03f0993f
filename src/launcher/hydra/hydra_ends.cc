// Which processes of a proxy ended badly by themselves, and so whose status counts.

#include "launcher/hydra/hydra_ends.h"

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>

#include "base/clock.h"

namespace fgmpi::launcher {
namespace {

/// A flag of /proc/PID/stat (PF_EXITING). The kernel sets this flag before it closes the files
/// of the process, and the proxy learns of the end by that close. The process becomes a zombie
/// only later.
constexpr unsigned kExiting = 0x4;

bool is_alive(pid_t child) {
  char name[64], line[1024];
  std::snprintf(name, sizeof name, "/proc/%d/stat", static_cast<int>(child));
  FILE* file = std::fopen(name, "re");
  if (!file) return false;
  const bool good = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  // "PID (NAME) STATE PARENT GROUP SESSION TERMINAL GROUP FLAGS ...": the name may hold anything.
  const char* behind = good ? std::strrchr(line, ')') : nullptr;
  char state = 0;
  unsigned flags = 0;
  return behind && std::sscanf(behind + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2 &&
         state != 'Z' && state != 'X' && !(flags & kExiting);
}

}  // namespace

void Ends::before_kill(pid_t child) {
  if (!was_alive_.count(child)) was_alive_[child] = is_alive(child);
}

bool Ends::any_ended_badly_before() const {
  for (const auto& [child, status] : statuses_) {
    // A process that is missing in was_alive_ ended by itself: the proxy sends no signal
    // after waitpid().
    const auto killed = was_alive_.find(child);
    if (status != 0 && (killed == was_alive_.end() || !killed->second)) return true;
  }
  for (const auto& [child, alive] : was_alive_) {
    if (alive || statuses_.count(child)) continue;
    // The process is ending, or a zombie: WNOWAIT leaves its status for hydra to read.
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0 &&
        (info.si_code != CLD_EXITED || info.si_status != 0))
      return true;
  }
  return false;
}

int Ends::status(pid_t child, int status) {
  statuses_[child] = status;
  const auto killed = was_alive_.find(child);
  const bool by_proxy = killed != was_alive_.end() && killed->second && WIFSIGNALED(status) &&
                        WTERMSIG(status) == SIGKILL;
  return by_proxy && any_ended_badly_before() ? 0 : status;
}

bool Ends::hold_back(pid_t child, int64_t now) {
  constexpr int64_t kHeldFor = 2 * kSecond;
  if (connection_ended_) return false;
  return now - held_back_since_.try_emplace(child, now).first->second < kHeldFor;
}

}  // namespace fgmpi::launcher
