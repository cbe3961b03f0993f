// Hydra as a child of mpiexec: its start, the passing on of signals, and the wait for its end.

#include "launcher/mpiexec/hydra_run.h"
#include "launcher/mpiexec/program.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fgmpi::launcher {
namespace {

/// The child that is hydra.
struct HydraChild {
  pid_t pid = 0;
  /// The first signal received that ends a job; 0: none.
  volatile sig_atomic_t end_signal = 0;
  int kept_signal = 0;             ///< is not passed on; 0: none
  volatile sig_atomic_t kept = 0;  ///< how often it was received
};
HydraChild g_hydra;

bool ends_job(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGQUIT || number == SIGHUP;
}

void pass_on(int number) {
  if (number == g_hydra.kept_signal) {
    g_hydra.kept = g_hydra.kept + 1;
    return;
  }
  if (!g_hydra.end_signal && ends_job(number)) g_hydra.end_signal = number;
  if (g_hydra.pid > 0) kill(g_hydra.pid, number);
}

/// Signals that end a job, and signals that hydra passes on to its processes.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};

void call_until_it_ends(int interval_ms, const std::function<void()>& tick) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, g_hydra.pid, 0));
  if (process < 0) return;
  pollfd end = {process, POLLIN, 0};
  for (;;) {
    const int ready = poll(&end, 1, interval_ms);
    if (ready > 0 || (ready < 0 && errno != EINTR)) break;
    if (ready == 0) tick();
  }
  close(process);
}

}  // namespace

int run_hydra(const std::string& hydra, char* const* arguments, int interval_ms,
              const std::function<void()>& tick) {
  struct sigaction passes {};
  passes.sa_handler = pass_on;
  for (int number : kPassedOn) sigaction(number, &passes, nullptr);
  const pid_t self = getpid();
  g_hydra.pid = fork();
  if (g_hydra.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != self) _exit(1);
    for (int number : kPassedOn) signal(number, number == SIGUSR1 ? SIG_IGN : SIG_DFL);
    execvp(hydra.c_str(), arguments);
    std::fprintf(stderr, "mpiexec: %s: %s\n", hydra.c_str(), std::strerror(errno));
    _exit(127);
  }
  if (g_hydra.pid < 0) {
    std::fprintf(stderr, "mpiexec: fork: %s\n", std::strerror(errno));
    return 1;
  }
  if (interval_ms > 0) call_until_it_ends(interval_ms, tick);
  return wait_for_child(g_hydra.pid);
}

void keep_signal(int number) { g_hydra.kept_signal = number; }
int signals_kept() { return g_hydra.kept; }

int signal_sent_to_job() { return g_hydra.end_signal; }

}  // namespace fgmpi::launcher
