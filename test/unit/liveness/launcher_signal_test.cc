#include "liveness/launcher_signal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/environment.h"

namespace fgmpi::liveness {
namespace {

enum Sender { kLauncher, kStranger };

/// Returns the status of a process that receives SIGUSR1 from its launcher or another process.
int status_after_signal(bool in_job, Sender sender) {
  int connection[2], ready[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, connection), 0);
  EXPECT_EQ(pipe(ready), 0);
  const pid_t process = fork();
  if (process == 0) {
    environment::unset(environment::kPmiPort);
    environment::unset(environment::kPmiFd);
    if (in_job) environment::set(environment::kPmiFd, std::to_string(connection[1]).c_str());
    ignore_notices_of_launcher();
    char byte = 'r';
    if (write(ready[1], &byte, 1) != 1) _exit(98);
    close(connection[0]);
    while (read(connection[1], &byte, 1) < 0) {
    }
    _exit(7);
  }
  close(connection[1]);
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  if (sender == kLauncher) {
    kill(process, SIGUSR1);
  } else {
    const pid_t stranger = fork();
    if (stranger == 0) _exit(kill(process, SIGUSR1));
    waitpid(stranger, nullptr, 0);
  }
  close(connection[0]);
  int status = -1;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  close(ready[0]);
  close(ready[1]);
  return status;
}

TEST(LauncherSignal, OfTheLauncherEndsNothing) {
  const int status = status_after_signal(true, kLauncher);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST(LauncherSignal, OfOthersEndsTheProcess) {
  const int status = status_after_signal(true, kStranger);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1) << status;
}

TEST(LauncherSignal, IsLeftAloneOutsideOfJobs) {
  const int status = status_after_signal(false, kLauncher);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1) << status;
}

TEST(LauncherSignal, IsLeftToAHandlerThatIsThere) {
  const auto before = signal(SIGUSR1, SIG_IGN);
  const int status = status_after_signal(true, kStranger);
  signal(SIGUSR1, before);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

}  // namespace
}  // namespace fgmpi::liveness
