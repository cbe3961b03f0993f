// Tests of the watcher, its card and the end mark with real processes: this process is the launcher
// of two others, of which the first watches the second.
#include "liveness/watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "base/attach.h"
#include "base/end_hooks.h"
#include "bootstrap/line_channel.h"

namespace fgmpi::liveness {
namespace {

TEST(Card, IsReadStrictly) {
  Card card = own_card(7, "00ff");
  EXPECT_EQ(card.pid, getpid());
  EXPECT_GE(card.end_mark_fd, 0);
  Card again;
  ASSERT_TRUE(again.parse(card.to_string()));
  EXPECT_EQ(again.to_string(), card.to_string());
  EXPECT_EQ(again.launcher_fd, 7);
  EXPECT_EQ(again.host_id, "00ff");
  for (const char* bad :
       {"", "1:2:3", "1:2:3:ff:", "0:2:3:ff:h", "1:2:3:xy:h", "1:2:3:ff:h:", "1:2:3:ff:h,"})
    EXPECT_FALSE(again.parse(bad)) << bad;
}

/// A child with a connection to this process.
struct Child {
  pid_t pid = -1;
  int connection = -1;

  void start(const std::function<void(int connection)>& run) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid = fork();
    if (pid == 0) {
      close(ends[0]);
      run(ends[1]);
      _exit(99);
    }
    close(ends[1]);
    connection = ends[0];
  }
  void say(char what) const { EXPECT_EQ(write(connection, &what, 1), 1); }
  void stop() const {
    int status;
    kill(pid, SIGSTOP);
    EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  }
  int reap() {
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    pid = -1;
    return status;
  }
  ~Child() {
    if (pid > 0) {
      kill(pid, SIGKILL);
      reap();
    }
    if (connection >= 0) close(connection);
  }
};

/// Waits, for 20 s at most, until all processes have closed the other end of a connection.
bool wait_for_close(int connection) {
  pollfd end{connection, POLLRDHUP, 0};
  return poll(&end, 1, 20'000) == 1;
}

class Watch : public testing::Test {
 protected:
  void SetUp() override {
    if (!watch_wanted()) GTEST_SKIP() << "no watchers in this build";
    ASSERT_EQ(pipe(output_), 0);
    next_.start(be_watched);
    char card[200] = "";
    ASSERT_GT(read(next_.connection, card, sizeof card - 1), 0);
    ASSERT_TRUE(card_.parse(card));
    watcher_.start([this](int connection) { watch(connection); });
    char ready;
    ASSERT_EQ(read(watcher_.connection, &ready, 1), 1);
    close(output_[1]);
    output_[1] = -1;
  }
  void TearDown() override {
    for (int end : output_)
      if (end >= 0) close(end);
  }

  /// Publishes the card, then ends in the way that the launcher's byte says.
  [[noreturn]] static void be_watched(int connection) {
    attach_permission().set_launcher(getppid());
    attach_permission().allow(getppid());
    const std::string card = own_card(connection, "0").to_string();
    if (write(connection, card.data(), card.size()) < 0) _exit(98);
    char how = 0;
    while (read(connection, &how, 1) != 1) {
    }
    if (how == 'm') leave_end_mark();
    _exit(how == 'm' ? 0 : 3);
  }
  void watch(int connection) {
    close(next_.connection);  // the launcher's end, which the fork has copied
    dup2(output_[1], STDERR_FILENO);
    start_watch(connection, &card_, "process 1 of the job", true);
    if (write(connection, "r", 1) != 1) _exit(98);
    for (;;) pause();
  }
  /// Returns the text that the watcher has written, once it has closed its connection to the other
  /// process.
  std::string report() {
    EXPECT_TRUE(wait_for_close(next_.connection)) << "the watcher holds on to what it has";
    std::string text;
    char piece[400];
    for (pollfd some{output_[0], POLLIN, 0}; poll(&some, 1, 0) == 1 && (some.revents & POLLIN);) {
      const ssize_t n = read(output_[0], piece, sizeof piece);
      if (n <= 0) break;
      text.append(piece, static_cast<size_t>(n));
    }
    return text;
  }

  Child next_, watcher_;
  Card card_;
  int output_[2] = {-1, -1};
};

constexpr const char* kGone = "fgmpi: process 1 of the job is gone: ";

TEST_F(Watch, IsSilentAboutAProcessThatLeftItsMark) {
  next_.say('m');
  EXPECT_EQ(report(), "");
}

TEST_F(Watch, IsSilentWhenItLearnsOfTheMarkLate) {
  watcher_.stop();
  next_.say('m');
  EXPECT_EQ(next_.reap(), 0);
  kill(watcher_.pid, SIGCONT);
  EXPECT_EQ(report(), "");
}

TEST_F(Watch, ReportsAKilledProcess) {
  kill(next_.pid, SIGKILL);
  EXPECT_EQ(report(), std::string(kGone) + "killed by signal 9 (SIGKILL)\n");
}

TEST_F(Watch, ReportsAnEndWithoutMark) {
  next_.say('x');
  EXPECT_EQ(report(),
            std::string(kGone) + "it has ended with exit status 3 and without MPI_Finalize\n");
}

TEST_F(Watch, ReportsAKilledProcessAlsoLate) {
  watcher_.stop();
  kill(next_.pid, SIGKILL);
  next_.reap();
  kill(watcher_.pid, SIGCONT);
  EXPECT_EQ(report(), std::string(kGone) + "it has ended\n");
}

TEST_F(Watch, LeavesItToALauncherThatKnows) {
  watcher_.stop();
  shutdown(next_.connection, SHUT_RDWR);
  kill(next_.pid, SIGKILL);
  next_.reap();
  kill(watcher_.pid, SIGCONT);
  EXPECT_EQ(report(), "");
}

TEST_F(Watch, EndsTheProcessWhenTheLauncherIsGone) {
  close(watcher_.connection);
  watcher_.connection = -1;
  const int status = watcher_.reap();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  kill(next_.pid, SIGKILL);
  EXPECT_EQ(report(), "fgmpi: the launcher is gone, the job ends\n");
}

TEST(Watcher, LetsTheLauncherGoWhenThatIsAgreed) {
  if (!watch_wanted()) GTEST_SKIP() << "no watchers in this build";
  Child alone;
  alone.start([](int connection) {
    start_watch(connection, nullptr, "", true);
    bootstrap::expect_end_of_launcher();
    if (write(connection, "r", 1) != 1) _exit(98);
    usleep(400'000);
    _exit(0);
  });
  char ready;
  ASSERT_EQ(read(alone.connection, &ready, 1), 1);
  close(alone.connection);
  alone.connection = -1;
  EXPECT_EQ(alone.reap(), 0);
}

TEST(EndMark, IsTheProcessOwn) {
  Card card = own_card(-1, "0");
  const pid_t child = fork();
  if (child == 0) {
    leave_end_mark();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  pollfd mark{card.end_mark_fd, POLLIN, 0};
  EXPECT_EQ(poll(&mark, 1, 0), 0) << "a forked child has left its parent's mark";
  leave_end_mark();
  EXPECT_EQ(poll(&mark, 1, 0), 1);
}

}  // namespace
}  // namespace fgmpi::liveness
