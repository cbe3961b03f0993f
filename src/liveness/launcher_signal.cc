// The handler of SIGUSR1, and how the launcher is recognised.

#include "liveness/launcher_signal.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/attach.h"
#include "base/environment.h"
#include "base/raw_call.h"
#include "base/strings.h"

namespace fgmpi::liveness {
namespace {

/// The launcher's notices, which its signal brings.
struct LauncherNotices {
  pid_t launcher = 0;  ///< the process of the launcher that has started this one
  void (*handler)() = nullptr;
  volatile sig_atomic_t came_before_handler = false;
};
constinit LauncherNotices g_notices;

void on_signal(int number, siginfo_t* info, void*) {
  if (info->si_code <= 0 && info->si_pid == g_notices.launcher) {
    const int before = errno;
    if (g_notices.handler)
      g_notices.handler();
    else
      g_notices.came_before_handler = true;
    errno = before;
    return;
  }
  // The signal is another sender's: it is sent again when this handler returns, and meets the
  // default action. The system calls are made directly: signal() is interposed by src/privatize.
  struct sigaction none {};
  none.sa_handler = SIG_DFL;
  sigaction(number, &none, nullptr);
  raw_call(SYS_kill, raw_call(SYS_getpid), number);
}

/// The launcher's process; 0 when this process was not started by a launcher.
pid_t find_launcher() {
  const char* fd = environment::raw(environment::kPmiFd);
  const auto number = fd ? parse_int(fd) : std::nullopt;
  const pid_t maker = number ? maker_of_socket(static_cast<int>(*number)) : 0;
  if (maker > 0) return maker;
  return fd || environment::raw(environment::kPmiPort) ? getppid() : 0;
}

}  // namespace

void set_notice_handler(void (*handler)()) {
  g_notices.handler = handler;
  if (handler && g_notices.came_before_handler) handler();
}

void ignore_notices_of_launcher() {
  const bool no_notices = environment::text(environment::kNoNotices) != nullptr;
  environment::unset(environment::kNoNotices);  // it is for this process of the launcher only
  if (no_notices) return;
  g_notices.launcher = find_launcher();
  struct sigaction now {};
  if (g_notices.launcher == 0 || sigaction(SIGUSR1, nullptr, &now) || now.sa_handler != SIG_DFL)
    return;
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigaction(SIGUSR1, &ours, nullptr);
}

}  // namespace fgmpi::liveness
