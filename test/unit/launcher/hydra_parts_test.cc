// Parts of hydra's guard, without hydra: statuses, commands, connections and signals.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "launcher/hydra/hydra_commands.h"
#include "launcher/hydra/hydra_ends.h"
#include "launcher/hydra/hydra_guard.h"
#include "launcher/hydra/hydra_newcomers.h"
#include "launcher/hydra/hydra_notices.h"
#include "launcher/hydra/hydra_statuses.h"

namespace fgmpi::launcher {
namespace {

// ---- Statuses that a proxy forgets --------------------------------------------------------------

std::vector<int> mended(const ProxyStatuses& statuses, const std::vector<int>& message) {
  return statuses.mended(message.data(), message.size() * sizeof(int));
}

// Any of a process's statuses may be forgotten (1), and others be 0. What comes out has the true
// statuses, in some order where several were forgotten, and those that were not forgotten in their
// places.
TEST(ProxyStatuses, ForgottenOnesComeBack) {
  std::mt19937 random(5);
  const int statuses[] = {0, 0, 0, SIGHUP, SIGKILL, SIGSEGV, 1 << 8, 3 << 8};
  for (int round = 0; round < 20'000; ++round) {
    std::vector<int> truth(1 + random() % 6);
    ProxyStatuses all;
    for (int& status : truth) all.add(status = statuses[random() % std::size(statuses)]);
    std::vector<int> message = truth;
    for (int& status : message)
      if (random() % 3 == 0) status = 1;
    std::shuffle(truth.begin(), truth.end(), random);  // waitpid() has its own order
    const std::vector<int> result = mended(all, message);
    ASSERT_EQ(result.size(), truth.size());
    for (size_t i = 0; i < result.size(); ++i)
      if (message[i] > 1) {
        EXPECT_EQ(result[i], message[i]);
      }
    std::vector<int> left = result, right = truth;
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    EXPECT_EQ(left, right);
  }
}

TEST(ProxyStatuses, AProcessThatSighupEndedKeepsItsStatus) {
  ProxyStatuses one;
  one.add(SIGHUP);
  EXPECT_EQ(mended(one, {1}), std::vector<int>({SIGHUP}));
  one.add(0);
  EXPECT_EQ(mended(one, {0, 1}), std::vector<int>({0, SIGHUP}));
  EXPECT_EQ(mended(one, {1, 0}), std::vector<int>({SIGHUP, 0}));
  EXPECT_EQ(mended(one, {0, 0}), std::vector<int>({SIGHUP, 0})) << "forgotten as 0";
}

TEST(ProxyStatuses, OtherMessagesStay) {
  ProxyStatuses two;
  EXPECT_EQ(mended(two, {}), std::vector<int>());
  two.add(9);
  two.add(0);
  EXPECT_EQ(mended(two, {9}), std::vector<int>()) << "of another length";
  EXPECT_EQ(mended(two, {9, 0, 0}), std::vector<int>());
  EXPECT_EQ(mended(two, {9, 9}), std::vector<int>()) << "waitpid() has returned 9 once";
  EXPECT_EQ(mended(two, {11, 0}), std::vector<int>());
  EXPECT_EQ(two.mended("12345678", 7), std::vector<int>());
  EXPECT_EQ(mended(two, {9, 0}), std::vector<int>({9, 0}));
}

// ---- Commands -----------------------------------------------------------------------------------

/// A list of arguments as main() gets it.
struct Arguments {
  explicit Arguments(std::vector<std::string> texts) : words(std::move(texts)) {
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
  }
  char* const* argv() { return pointers.data(); }
  std::vector<std::string> words;
  std::vector<char*> pointers;
};

TEST(HydraCommands, AProxyIsKnownByItsFile) {
  for (const char* path : {"hydra_pmi_proxy", "/usr/bin/hydra_pmi_proxy", "./a b/hydra_pmi_proxy"})
    EXPECT_TRUE(is_proxy(path)) << path;
  for (const char* path : {"", "/", "hydra_pmi_proxy/", "/hydra_pmi_proxy/x", "hydra_pmi_proxy2",
                           "xhydra_pmi_proxy", "\"hydra_pmi_proxy\""})
    EXPECT_FALSE(is_proxy(path)) << path;
}

TEST(HydraCommands, APairIsANameAndTheWordBehind) {
  Arguments words({"proxy", "--pgid", "0", "--proxy-id", "10", "--pgid"});
  EXPECT_TRUE(has_pair(words.argv(), "--pgid", "0"));
  EXPECT_TRUE(has_pair(words.argv(), "--proxy-id", "10"));
  EXPECT_FALSE(has_pair(words.argv(), "--proxy-id", "1"));
  EXPECT_FALSE(has_pair(words.argv(), "0", "--pgid"));
  EXPECT_FALSE(has_pair(words.argv(), "--pgid", ""));
  Arguments none({});
  EXPECT_FALSE(has_pair(none.argv(), "--pgid", "0"));
}

TEST(HydraCommands, TheGuardStandsInFrontOfTheFirstProxy) {
  Arguments ssh({"ssh", "-x", "node", "\"/usr/bin/hydra_pmi_proxy\"", "--x", "hydra_pmi_proxy"});
  EXPECT_TRUE(goes_through_shell(ssh.argv()));
  const std::string preload = std::string("LD_PRELOAD=") + kHydraGuard;
  EXPECT_EQ(words_with_guard(ssh.argv(), "/a", nullptr, false),
            std::vector<std::string>({"ssh", "-x", "node", "env", "LD_LIBRARY_PATH='/a'", preload,
                                      "\"/usr/bin/hydra_pmi_proxy\"", "--x", "hydra_pmi_proxy"}));
  EXPECT_EQ(words_with_guard(ssh.argv(), nullptr, nullptr, true)[4], "LD_LIBRARY_PATH=''");
  EXPECT_EQ(words_with_guard(ssh.argv(), nullptr, nullptr, true)[6], "FGMPI_FT=1");
  EXPECT_EQ(words_with_guard(ssh.argv(), nullptr, "/s v", false)[6], "FGMPI_CHECKPOINT_DIR='/s v'");
  Arguments srun({"srun", "-N", "2", "/usr/bin/hydra_pmi_proxy", "--proxy-id", "-1"});
  EXPECT_FALSE(goes_through_shell(srun.argv()));
  EXPECT_EQ(words_with_guard(srun.argv(), "/a b", "/s v", false),
            std::vector<std::string>({"srun", "-N", "2", "env", "LD_LIBRARY_PATH=/a b", preload,
                                      "FGMPI_CHECKPOINT_DIR=/s v", "/usr/bin/hydra_pmi_proxy",
                                      "--proxy-id", "-1"}));
  Arguments direct({"/usr/bin/hydra_pmi_proxy", "--x"});
  EXPECT_FALSE(goes_through_shell(direct.argv()));
  Arguments other({"ssh", "node", "\"ls\""});
  EXPECT_FALSE(goes_through_shell(other.argv()));
  EXPECT_EQ(words_with_guard(other.argv(), "/a", nullptr, true), other.words);
}

// The shell behind ssh must see LD_LIBRARY_PATH as it is here, whatever is in it.
TEST(HydraCommands, AShellTakesThePathAsItIs) {
  for (const std::string path : {"/a b", "it's", "$HOME`id`\"\\n\"", "'", "''a''", "*;&|<>", ""}) {
    Arguments ssh({"\"hydra_pmi_proxy\""});
    const std::string word = words_with_guard(ssh.argv(), path.c_str(), nullptr, false)[1];
    FILE* shell = popen(("env -i " + word + " printenv LD_LIBRARY_PATH").c_str(), "r");
    ASSERT_NE(shell, nullptr);
    char line[200] = {};
    EXPECT_NE(std::fgets(line, sizeof line, shell), nullptr) << word;
    pclose(shell);
    EXPECT_EQ(line, path + "\n");
  }
}

TEST(HydraCommands, PreloadedLibrariesStayWithoutTheGuard) {
  const std::string guard = kHydraGuard;
  EXPECT_EQ(without_guard(guard), "");
  EXPECT_EQ(without_guard(guard + ":a.so:b.so"), "a.so:b.so");
  EXPECT_EQ(without_guard("a.so"), "a.so");
  EXPECT_EQ(without_guard(""), "");
}

// ---- Which statuses count -----------------------------------------------------------------------

/// A child that ends by exit(status), or sleeps until a signal comes where status is negative.
pid_t start_child(int status) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (status >= 0) _exit(status);
    for (;;) pause();
  }
  return child;
}
/// Waits until the child is a zombie.
void wait_for_end(pid_t child) {
  siginfo_t info{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
}
/// As a proxy does: SIGKILL to a child, then waitpid(). Returns the status for the proxy.
void send_kill(Ends* ends, pid_t child) {
  ends->before_kill(child);
  kill(child, SIGKILL);
}
int status_of(Ends* ends, pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return ends->status(child, status);
}

TEST(Ends, AProcessThatTheProxyEndsIsNoCause) {
  Ends ends;
  const pid_t bad = start_child(3), alive = start_child(-1);
  wait_for_end(bad);
  for (pid_t child : {bad, alive}) send_kill(&ends, child);
  // The order of waitpid() does not matter: the other child is seen as a zombie.
  EXPECT_EQ(status_of(&ends, alive), 0);
  EXPECT_EQ(status_of(&ends, bad), 3 << 8);
}

TEST(Ends, WithoutABadEndTheKillIsTheCause) {
  Ends ends;
  const pid_t good = start_child(0), alive = start_child(-1);
  wait_for_end(good);
  for (pid_t child : {good, alive}) send_kill(&ends, child);
  EXPECT_EQ(status_of(&ends, alive), SIGKILL) << "a time limit, or a signal to mpiexec";
  EXPECT_EQ(status_of(&ends, good), 0);
}

TEST(Ends, ASignalOfAnotherCauseCounts) {
  Ends ends;
  const pid_t bad = start_child(1), other = start_child(-1);
  EXPECT_EQ(status_of(&ends, bad), 1 << 8);
  ends.before_kill(other);
  kill(other, SIGTERM);
  EXPECT_EQ(status_of(&ends, other), SIGTERM) << "not the proxy's SIGKILL";
  const pid_t killed = start_child(-1);  // by somebody, before the proxy has sent anything
  kill(killed, SIGKILL);
  EXPECT_EQ(status_of(&ends, killed), SIGKILL);
}

// ---- Connections --------------------------------------------------------------------------------

struct Port {
  Port() {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here), 0);
    EXPECT_EQ(listen(listener, 600), 0);
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  }
  ~Port() { close(listener); }
  int connect_with(const void* bytes, size_t count) const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(send(fd, bytes, count, MSG_NOSIGNAL), static_cast<ssize_t>(count));
    return fd;
  }
  int connect_as(int number) const { return connect_with(&number, sizeof number); }
  int listener;
  sockaddr_in address{};
};
/// True once the other side has closed the connection.
bool is_closed(int fd) {
  pollfd p{fd, POLLIN, 0};
  char byte;
  return poll(&p, 1, 10'000) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}
/// Polls for the listener until it is readable, or `most` times a millisecond.
bool becomes_readable(Newcomers* all, int listener, int most) {
  pollfd p{listener, POLLIN, 0};
  for (int i = 0; i < most; ++i)
    if (all->poll(::poll, &p, 1, 1) == 1) return p.revents == POLLIN;
  return false;
}

TEST(Newcomers, AProxyIsShownOnceItsNumberHasArrived) {
  Port port;
  Newcomers all;
  const int number = 7;
  const int client = port.connect_with(&number, 3);
  EXPECT_FALSE(becomes_readable(&all, port.listener, 20)) << "3 of 4 bytes";
  EXPECT_EQ(all.next_proxy(port.listener), -1);
  EXPECT_EQ(send(client, reinterpret_cast<const char*>(&number) + 3, 1, 0), 1);
  EXPECT_TRUE(becomes_readable(&all, port.listener, 10'000));
  const int server = all.next_proxy(port.listener);
  ASSERT_GE(server, 0);
  int got = 0;
  EXPECT_EQ(recv(server, &got, sizeof got, 0), ssize_t{sizeof got}) << "the number is still there";
  EXPECT_EQ(got, number);
  EXPECT_EQ(fcntl(server, F_GETFD), 0);
  EXPECT_EQ(all.next_proxy(port.listener), -1);
  close(server);
  close(client);
}

TEST(Newcomers, StrangersAreClosedAndNeverShown) {
  Port port;
  Newcomers all;
  const int taken = port.connect_as(3);
  ASSERT_TRUE(becomes_readable(&all, port.listener, 10'000));
  close(all.next_proxy(port.listener));
  std::vector<int> strangers = {port.connect_as(3), port.connect_as(-1), port.connect_as(1 << 20),
                                port.connect_with("GET / HTTP/1.1\r\n", 16)};
  const int short_one = port.connect_with("ab", 2);
  shutdown(short_one, SHUT_WR);
  strangers.push_back(short_one);
  EXPECT_FALSE(becomes_readable(&all, port.listener, 50));
  for (size_t i = 0; i < strangers.size(); ++i) {
    EXPECT_TRUE(is_closed(strangers[i])) << i;
    close(strangers[i]);
  }
  close(taken);
}

TEST(Newcomers, LaterVersionsSignTheirGreetings) {
  const auto greeting = [](std::initializer_list<int> numbers) {
    std::string bytes("HYD\0", 4);
    for (int number : numbers) bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    return bytes;
  };
  const auto find = [](const std::string& bytes) {
    return find_greeter(bytes.data(), bytes.size());
  };
  EXPECT_EQ(find(greeting({7})), 7u);
  EXPECT_EQ(find(greeting({0, 7})), 7u);
  EXPECT_NE(find(greeting({1, 7})), 7u);  // the proxy of spawned processes
  for (const std::string& other :
       {greeting({}), greeting({-1}), greeting({0, -1}), greeting({1 << 20, 0}),
        greeting({1}).substr(0, 7), greeting({0, 1}).substr(0, 11), std::string("HYDRA\0\0\0", 8)})
    EXPECT_FALSE(find(other)) << other;
  Port port;
  Newcomers all;
  const std::string bytes = greeting({0, 3});
  const int client = port.connect_with(bytes.data(), 4);
  EXPECT_FALSE(becomes_readable(&all, port.listener, 20)) << "4 of 12 bytes";
  EXPECT_EQ(send(client, bytes.data() + 4, 8, 0), 8);
  EXPECT_TRUE(becomes_readable(&all, port.listener, 10'000));
  close(all.next_proxy(port.listener));
  const int same = port.connect_with(bytes.data(), 12), cut = port.connect_with(bytes.data(), 6);
  shutdown(cut, SHUT_WR);
  EXPECT_FALSE(becomes_readable(&all, port.listener, 50));
  EXPECT_TRUE(is_closed(same));
  EXPECT_TRUE(is_closed(cut));
  for (int fd : {client, same, cut}) close(fd);
}

TEST(Newcomers, ANumberThatCameOverAPairIsTaken) {
  Port port;
  Newcomers all;
  const int ends[2] = {100, 101};
  all.pair(ends);
  const auto record = [&all](int fd, int number) {
    all.record_read(fd, reinterpret_cast<const char*>(&number), sizeof number);
  };
  record(55, 5);   // no end of a pair
  record(101, 6);  // a proxy of this host
  record(101, 8);  // what comes behind the number
  const int six = port.connect_as(6), five = port.connect_as(5), eight = port.connect_as(8);
  EXPECT_TRUE(becomes_readable(&all, port.listener, 10'000));
  EXPECT_TRUE(is_closed(six));
  int shown = 0;
  for (int i = 0; i < 10'000 && shown < 2; ++i) {
    becomes_readable(&all, port.listener, 1);
    for (int fd; (fd = all.next_proxy(port.listener)) >= 0; ++shown) close(fd);
  }
  EXPECT_EQ(shown, 2);
  for (int fd : {six, five, eight}) close(fd);
}

TEST(Newcomers, OfManySilentOnesTheOldestAreClosed) {
  Port port;
  Newcomers all;
  std::vector<int> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(port.connect_with("", 0));
    becomes_readable(&all, port.listener, 1);
  }
  for (int i = 0; i < 44; ++i) EXPECT_TRUE(is_closed(silent[static_cast<size_t>(i)])) << i;
  pollfd p{silent.back(), POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 0), 0) << "the last one is still open";
  const int proxy = port.connect_as(1);
  EXPECT_TRUE(becomes_readable(&all, port.listener, 10'000));
  close(all.next_proxy(port.listener));
  close(proxy);
  for (int fd : silent) close(fd);
}

TEST(Newcomers, OtherDescriptorsArePolledAsUsual) {
  Port port;
  Newcomers all;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pollfd fds[2] = {{port.listener, POLLIN, 0}, {ends[0], POLLIN, 0}};
  EXPECT_EQ(all.poll(::poll, fds, 2, 1), 0);
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  const int stranger = port.connect_as(-5);
  EXPECT_EQ(all.poll(::poll, fds, 2, -1), 1);
  EXPECT_EQ(fds[0].revents, 0);
  EXPECT_EQ(fds[1].revents, POLLIN);
  for (int fd : {ends[0], ends[1], stranger}) close(fd);
}

// ---- Signals ------------------------------------------------------------------------------------

/// A shell in a process group of its own, which runs these commands.
struct Shell {
  explicit Shell(const std::string& commands) {
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(ends[1], STDOUT_FILENO);
      execl("/bin/bash", "bash", "-c", commands.c_str(), nullptr);
      _exit(127);
    }
    setpgid(child, child);
    close(ends[1]);
  }
  ~Shell() {
    kill(-child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
  }
  std::string line() {
    std::string text;
    for (char c; read(ends[0], &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  pid_t child;
  int ends[2];
};

TEST(Notices, OnlyAProcessWithAHandlerCatches) {
  Shell with("trap 'echo caught' USR1; echo ready; while :; do sleep 0.05; done");
  Shell without("echo ready; while :; do sleep 0.05; done");
  EXPECT_EQ(with.line(), "ready");
  EXPECT_EQ(without.line(), "ready");
  EXPECT_TRUE(catches(with.child, SIGUSR1));
  EXPECT_FALSE(catches(with.child, SIGUSR2));
  EXPECT_FALSE(catches(without.child, SIGUSR1));
  EXPECT_FALSE(is_copy(with.child)) << "it has executed a shell";
  send_to_those_that_expect_it(with.child, SIGUSR1);
  send_to_those_that_expect_it(without.child, SIGUSR1);
  EXPECT_EQ(with.line(), "caught");
  EXPECT_EQ(waitpid(without.child, nullptr, WNOHANG), 0) << "the signal would have ended it";
}

// Each command of the shell is a fork, around which bash blocks all signals.
TEST(Notices, AShellThatForksIsNotTakenForOneThatWaits) {
  Shell shell("echo ready; while :; do /bin/true; done");
  EXPECT_EQ(shell.line(), "ready");
  for (int i = 0; i < 200; ++i) send_to_those_that_expect_it(shell.child, SIGUSR1);
  EXPECT_EQ(waitpid(shell.child, nullptr, WNOHANG), 0) << "the signal would have ended it";
}

TEST(Notices, ACopyOfThisProcessGetsNone) {
  signal(SIGUSR1, [](int) { _exit(5); });
  const pid_t child = start_child(-1);
  EXPECT_TRUE(catches(child, SIGUSR1));
  EXPECT_TRUE(is_copy(child));
  setpgid(child, child);
  send_to_those_that_expect_it(child, SIGUSR1);
  signal(SIGUSR1, SIG_DFL);
  kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the handler would have ended it with status 5";
  EXPECT_FALSE(catches(child, SIGUSR1)) << "there is no such process";
  EXPECT_TRUE(is_copy(child));
}

TEST(Notices, AProcessThatWaitsForTheSignalGetsIt) {
  // Python waits in sigtimedwait(), during which the kernel does not count the signal as blocked.
  Shell waits(
      "exec python3 -c 'import signal\nprint(\"ready\", flush=True)\n"
      "signal.pthread_sigmask(signal.SIG_BLOCK, [10])\nprint(signal.sigwait([10]), flush=True)'");
  EXPECT_EQ(waits.line(), "ready");
  for (int i = 0; i < 10'000; ++i) {
    send_to_those_that_expect_it(waits.child, SIGUSR1);
    pollfd p{waits.ends[0], POLLIN, 0};
    if (poll(&p, 1, 1) == 1) break;
  }
  EXPECT_NE(waits.line().find("10"), std::string::npos);
}

}  // namespace
}  // namespace fgmpi::launcher
