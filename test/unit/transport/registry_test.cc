#include "transport/registry.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "processes.h"
#include "transport/host_id.h"

namespace fgmpi::transport {
namespace {

using testing::Setting;

TEST(Registry, ListsAreInTheOrderOfTheSetting) {
  std::vector<std::unique_ptr<Transport>> list;
  ASSERT_TRUE(make_all(&list).ok());
  ASSERT_FALSE(list.empty());
  EXPECT_STREQ(list[0]->name(), "shm");
  Setting setting("FGMPI_TRANSPORT", "shm");
  list.clear();
  ASSERT_TRUE(make_all(&list).ok());
  EXPECT_EQ(list.size(), 1u);
}

TEST(Registry, BadSettingsAreNamed) {
  for (const char* bad : {"tcp", "shm,", ",shm", "shm,shm", "shm;ofi", "SHM"}) {
    Setting setting("FGMPI_TRANSPORT", bad);
    std::vector<std::unique_ptr<Transport>> list;
    Status status = make_all(&list);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_NE(status.what().find(std::string("FGMPI_TRANSPORT=") + bad + ": allowed is"),
              std::string::npos);
  }
}

TEST(Registry, WhatIsShownOfAnAddressHasNoSecrets) {
  auto shm = make("shm"), ofi = make("ofi");
  const std::string nonce(32, 'a');
  EXPECT_EQ(describe(*shm, "shm1:ab:5:3:" + nonce), "shm (memfd)");
  EXPECT_EQ(describe(*shm, "shm1:ab:5:shm:" + nonce), "shm (file in /dev/shm)");
  EXPECT_EQ(describe(*shm, "nonsense:" + nonce), "shm");
  EXPECT_EQ(describe(*ofi, "ofi1:tcp+ofi_rxm:0200:" + nonce + ":0000000000000000:9e53:vm"),
            "ofi (tcp;ofi_rxm)");
  EXPECT_EQ(make("nonesuch"), nullptr);
}

TEST(HostId, IsStableAndTellsHostsApart) {
  std::string here = host_id();
  EXPECT_EQ(here.size(), 32u);
  EXPECT_EQ(here.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(here, host_id());
  {
    Setting setting("FGMPI_HOST_ID", "another");
    EXPECT_NE(here, host_id());
  }
  EXPECT_EQ(here, host_id());
  // A process in its own network namespace is on another host; one in its own mount namespace is
  // not.
  for (int space : {CLONE_NEWNET, CLONE_NEWNS}) {
    pid_t pid = fork();
    if (pid == 0) _exit(unshare(space) ? 2 : host_id() == here);
    int status;
    waitpid(pid, &status, 0);
    if (WEXITSTATUS(status) == 2) continue;  // not allowed to
    EXPECT_EQ(WEXITSTATUS(status), space == CLONE_NEWNET ? 0 : 1);
  }
}

}  // namespace
}  // namespace fgmpi::transport
