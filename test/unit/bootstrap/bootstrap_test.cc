#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/line_channel.h"
#include "bootstrap/process_mapping.h"

namespace fgmpi::bootstrap {
namespace {

using Nodes = std::vector<int>;

TEST(ProcessMapping, DealsOutBlocks) {
  EXPECT_EQ(parse_process_mapping("(vector,(0,1,4))", 4), (Nodes{0, 0, 0, 0}));
  EXPECT_EQ(parse_process_mapping("(vector,(0,2,2))", 4), (Nodes{0, 0, 1, 1}));
  EXPECT_EQ(parse_process_mapping("(vector,(0,2,1),(2,1,3))", 5), (Nodes{0, 1, 2, 2, 2}));
}

TEST(ProcessMapping, StartsOverWhenThereAreMoreProcesses) {
  EXPECT_EQ(parse_process_mapping("(vector,(0,2,1))", 5), (Nodes{0, 1, 0, 1, 0}));
}

TEST(ProcessMapping, IsUnknownWhenNotUnderstood) {
  for (const char* text :
       {"", "(vector)", "(vector,)", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(0,1,0))",
        "(vector,(0,1,1)", "(vector,(-1,1,1))", "(list,(0,1,1))", "(vector,(0,1,1)) "})
    EXPECT_TRUE(parse_process_mapping(text, 3).empty()) << text;
}

struct SocketPair {
  int ends[2];
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0); }
};

TEST(LineChannel, PutsLinesTogetherFromPiecesOfAnySize) {
  SocketPair pair;
  LineChannel channel(pair.ends[0]);
  std::vector<std::string> lines = {"a",
                                    "",
                                    std::string(100000, 'x'),
                                    "cmd=b c=d",
                                    std::string(4095, 'y'),
                                    std::string(4096, 'z')};
  std::string all;
  for (const auto& line : lines) all += line + "\n";
  std::thread writer([&] {
    for (size_t i = 0, step = 1; i < all.size(); i += step, step = step % 4999 + 7)
      EXPECT_GT(write(pair.ends[1], all.data() + i, std::min(step, all.size() - i)), 0);
    close(pair.ends[1]);
  });
  for (const auto& line : lines) EXPECT_EQ(channel.read_line(), line);
  writer.join();
}

TEST(LineChannelDeathTest, ABrokenConnectionEndsTheProcessWithOneLine) {
  auto reads_from_closed = [] {
    SocketPair pair;
    LineChannel channel(pair.ends[0]);
    close(pair.ends[1]);
    channel.read_line();
  };
  EXPECT_EXIT(reads_from_closed(), testing::ExitedWithCode(1),
              "^fgmpi: the connection to the launcher broke[^\n]*\n$");
  auto writes_to_closed = [] {
    SocketPair pair;
    LineChannel channel(pair.ends[0]);
    close(pair.ends[1]);
    for (int i = 0; i < 1000; ++i) channel.write(std::string(10000, 'x'));
  };
  EXPECT_EXIT(writes_to_closed(), testing::ExitedWithCode(1),
              "^fgmpi: the connection to the launcher broke[^\n]*\n$");
}

struct Outcome {
  int status;
  std::vector<std::string> lines;
};

Outcome run(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  Outcome result{-1, {}};
  char* line = nullptr;
  size_t room = 0;
  while (getline(&line, &room, pipe) > 0) result.lines.emplace_back(line);
  free(line);
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

std::string job_of(const std::string& line) { return line.substr(line.find(" job ")); }

void expect_exchange(const Outcome& job, int size, const char* apps_of) {
  EXPECT_EQ(job.status, 0);
  ASSERT_EQ(job.lines.size(), static_cast<size_t>(size));
  std::set<int> ranks;
  std::string nodes;
  for (int i = 0; i < size; ++i) nodes += " 0";
  for (const auto& line : job.lines) {
    int rank = -1, app = -1, right = -1, absent = -1, n = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "pmi1 rank %d size %d app %d right %d absent %d nodes",
                          &rank, &n, &app, &right, &absent),
              5)
        << line;
    ranks.insert(rank);
    EXPECT_EQ(n, size) << line;
    EXPECT_EQ(right, size) << line;
    EXPECT_EQ(absent, 1) << line;
    EXPECT_EQ(app, apps_of[rank] - '0') << line;
    EXPECT_NE(line.find("nodes" + nodes + " job"), std::string::npos) << line;
    EXPECT_EQ(job_of(line), job_of(job.lines[0]));
  }
  EXPECT_EQ(ranks.size(), static_cast<size_t>(size));
}

TEST(Pmi1, ExchangesUnderHydra) {
  expect_exchange(run("timeout 60 mpiexec.hydra -n 6 " BOOTSTRAP_PEER " exchange </dev/null"), 6,
                  "000000");
}

TEST(Pmi1, ExchangesOverTcpUnderHydra) {
  expect_exchange(
      run("timeout 60 mpiexec.hydra -pmi-port -n 3 " BOOTSTRAP_PEER " exchange </dev/null"), 3,
      "000");
}

TEST(Pmi1, KnowsWhichExecutableOfAColonSeparatedLaunch) {
  expect_exchange(run("timeout 60 mpiexec.hydra -n 2 " BOOTSTRAP_PEER
                      " exchange : -n 3 " BOOTSTRAP_PEER " exchange </dev/null"),
                  5, "00111");
}

TEST(Pmi1, AbortEndsTheJobWithItsCode) {
  Outcome job = run("timeout 60 mpiexec.hydra -n 3 " BOOTSTRAP_PEER " abort 7 </dev/null 2>&1");
  EXPECT_EQ(job.status, 7);
  bool said = false;
  for (const auto& line : job.lines) said |= line == "peer: ending the job\n";
  EXPECT_TRUE(said);
}

TEST(Pmi1, BadVariablesAreNamed) {
  Outcome run_fd = run("PMI_FD=77 PMI_RANK=0 PMI_SIZE=1 " BOOTSTRAP_PEER " exchange");
  ASSERT_EQ(run_fd.lines.size(), 1u);
  EXPECT_NE(run_fd.lines[0].find("PMI_FD=77"), std::string::npos) << run_fd.lines[0];
  Outcome run_rank = run("PMI_FD=0 PMI_RANK=x PMI_SIZE=1 " BOOTSTRAP_PEER " exchange </dev/null");
  ASSERT_EQ(run_rank.lines.size(), 1u);
  EXPECT_NE(run_rank.lines[0].find("PMI_RANK=x"), std::string::npos) << run_rank.lines[0];
  Outcome run_port = run("PMI_PORT=nowhere PMI_ID=0 " BOOTSTRAP_PEER " exchange");
  ASSERT_EQ(run_port.lines.size(), 1u);
  EXPECT_NE(run_port.lines[0].find("PMI_PORT=nowhere"), std::string::npos) << run_port.lines[0];
}

TEST(Singleton, IsAloneAndExchangesWithItself) {
  Outcome alone = run("env -u PMI_FD -u PMI_PORT " BOOTSTRAP_PEER " exchange");
  EXPECT_EQ(alone.status, 0);
  ASSERT_EQ(alone.lines.size(), 1u);
  EXPECT_EQ(
      alone.lines[0].find("singleton rank 0 size 1 app 0 right 1 absent 1 nodes 0 job singleton_"),
      0u)
      << alone.lines[0];
}

}  // namespace
}  // namespace fgmpi::bootstrap
