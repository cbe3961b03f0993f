// The guard's list of hosts, and the file of those that are lost.
#include "launcher/hydra/hydra_hosts.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "launcher/hydra/hydra_guard.h"
#include "launcher/mpiexec/job_hosts.h"

namespace fgmpi::launcher {
namespace {

/// Reads as hydra does.
void read_from(ProxyHosts* hosts, int fd) {
  char bytes[64];
  const ssize_t got = read(fd, bytes, sizeof bytes);
  hosts->record_read(fd, bytes, got);
}

TEST(ProxyHosts, NamesTheHostsOfConnectionsThatEnd) {
  char name[] = "/tmp/proxy_hosts_XXXXXX";
  const std::string folder = mkdtemp(name), file = folder + "/" + kLostHosts;
  ProxyHosts hosts(folder);
  const char* ssh[] = {"ssh",        "-x", "node7", "\"/usr/bin/hydra_pmi_proxy\"",
                       "--proxy-id", "1",  nullptr};
  const char* local[] = {"/usr/bin/hydra_pmi_proxy", "--proxy-id", "0", nullptr};
  hosts.record_launch(const_cast<char* const*>(ssh));
  hosts.record_launch(const_cast<char* const*>(local));
  int pairs[3][2];
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
    hosts.expect_greeting(pairs[i][0]);
    ASSERT_EQ(write(pairs[i][1], &i, sizeof i), 4);
    read_from(&hosts, pairs[i][0]);
    ASSERT_EQ(write(pairs[i][1], "more", 4), 4);
    read_from(&hosts, pairs[i][0]);
  }
  hosts.record_close(pairs[2][0]);  // the proxy 2 has ended as it should
  for (auto& pair : pairs) close(pair[1]);
  for (auto& pair : pairs) read_from(&hosts, pair[0]);
  for (auto& pair : pairs) read_from(&hosts, pair[0]);  // counts once
  hosts.record_unreachable(12);
  const std::vector<LostHost> lost = read_lost_hosts(file);
  ASSERT_EQ(lost.size(), 3u);
  EXPECT_EQ(lost[2].process, 12);
  EXPECT_EQ(lost[0].proxy, 0);
  EXPECT_EQ(lost[0].name, "");
  EXPECT_EQ(lost[1].proxy, 1);
  EXPECT_EQ(lost[1].name, "node7");
  for (auto& pair : pairs) close(pair[0]);
  std::filesystem::remove_all(folder);
}

TEST(ProxyHosts, KnowsTheNodesOfSrun) {
  char name[] = "/tmp/proxy_hosts_XXXXXX";
  const std::string folder = mkdtemp(name);
  ProxyHosts hosts(folder);
  const char* srun[] = {"/usr/bin/srun",   "--nodelist", "n1,n2,n3", "-N",   "3",
                        "hydra_pmi_proxy", "--proxy-id", "-1",       nullptr};
  hosts.record_launch(const_cast<char* const*>(srun));
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  hosts.expect_greeting(pair[0]);
  const uint32_t proxy = 2;
  ASSERT_EQ(write(pair[1], &proxy, sizeof proxy), 4);
  read_from(&hosts, pair[0]);
  close(pair[1]);
  read_from(&hosts, pair[0]);
  const std::vector<LostHost> lost = read_lost_hosts(folder + "/" + kLostHosts);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].name, "n3");
  close(pair[0]);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fgmpi::launcher
