#include "transport/registry.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "processes.h"
#include "transport/host_id.h"

namespace fgmpi::transport {
namespace {

using testing::Setting;

TEST(Registry, ListsAreInTheOrderOfTheSetting) {
  std::vector<std::unique_ptr<Transport>> list = make_all();
  ASSERT_FALSE(list.empty());
  EXPECT_STREQ(list[0]->name(), "shm");
  Setting setting("FGMPI_TRANSPORT", "shm");
  EXPECT_EQ(make_all().size(), 1u);
}

TEST(Registry, BadSettingsAreNamed) {
  for (const char* bad : {"tcp", "shm,", ",shm", "shm,shm", "shm;ofi", "SHM"}) {
    Setting setting("FGMPI_TRANSPORT", bad);
    Status status = settings::load();
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_NE(status.what().find(std::string("FGMPI_TRANSPORT=") + bad + ": allowed is"),
              std::string::npos);
  }
}

TEST(Registry, WhatIsShownOfAnAddressHasNoSecrets) {
  auto shm = make("shm");
  const std::string nonce(32, 'a');
  EXPECT_EQ(describe(*shm, "shm3:ab:5:3:" + nonce), "shm (memfd)");
  EXPECT_EQ(describe(*shm, "shm3:ab:5:shm:" + nonce), "shm (file in /dev/shm)");
  EXPECT_EQ(describe(*shm, "nonsense:" + nonce), "shm");
  if (auto ofi = make("ofi")) {
    EXPECT_EQ(describe(*ofi, "ofi2:tcp+ofi_rxm:0200:" + nonce + ":0000000000000000:9e53:vm"),
              "ofi (tcp;ofi_rxm)");
  }
  EXPECT_EQ(make("nonesuch"), nullptr);
}

TEST(Registry, NamesWhatThisBuildLacks) {
  if (make("ofi")) {
    EXPECT_EQ(lacking(), "");
    return;
  }
  Setting setting("FGMPI_TRANSPORT", "ofi");
  EXPECT_NE(settings::load().what().find(" (this build has no ofi, for want of libfabric)"),
            std::string::npos)
      << settings::load().what();
}

struct Ids {
  char host[40], files[40];
};

/// Finds the ids of a process that has run `first`; returns false where the system does not permit
/// that.
bool ids_after(const std::function<bool()>& first, Ids* out) {
  int ends[2];
  if (pipe(ends)) return false;
  pid_t pid = fork();
  if (pid == 0) {
    if (!first()) _exit(2);
    // A pid namespace begins with the next child.
    pid_t inner = fork();
    if (inner == 0) {
      Ids ids{};
      std::snprintf(ids.host, sizeof ids.host, "%s", host_id().c_str());
      std::snprintf(ids.files, sizeof ids.files, "%s", host_id_of_files().c_str());
      REQUIRE(ids.host == host_id());
      REQUIRE(write(ends[1], &ids, sizeof ids) == sizeof ids);
      _exit(0);
    }
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WEXITSTATUS(status));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  const bool got = WEXITSTATUS(status) == 0 && read(ends[0], out, sizeof *out) == sizeof *out;
  EXPECT_NE(WEXITSTATUS(status), 1);
  close(ends[0]);
  close(ends[1]);
  return got;
}

bool own_mounts() {
  return !unshare(CLONE_NEWNS) && !mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
}
bool mount_over(const char* where) {
  return own_mounts() && !mount("none", where, "tmpfs", 0, nullptr);
}

bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return !syscall(SYS_capset, &header, none);
}

TEST(HostId, TellsHostsApartAndTakesOneForOne) {
  enum Expected { kOne, kFilesApart, kTwo };
  struct Case {
    const char* name;
    Expected expected;
    std::function<bool()> first;
  } const cases[] = {
      {"nothing", kOne, [] { return true; }},
      {"mount namespace", kOne, own_mounts},
      {"UTS namespace, same name", kOne, [] { return !unshare(CLONE_NEWUTS); }},
      {"System V namespace", kOne, [] { return !unshare(CLONE_NEWIPC); }},
      {"cgroup namespace", kOne, [] { return !unshare(CLONE_NEWCGROUP); }},
      {"/dev/shm of its own", kFilesApart, [] { return mount_over("/dev/shm"); }},
      {"UTS namespace, other name", kTwo,
       [] { return !unshare(CLONE_NEWUTS) && !sethostname("another", 7); }},
      {"network namespace, same name", kTwo, [] { return !unshare(CLONE_NEWNET); }},
      {"pid namespace", kTwo, [] { return !unshare(CLONE_NEWPID); }},
      {"user namespace", kTwo, [] { return !unshare(CLONE_NEWUSER); }},
      {"another user", kTwo, [] { return !setuid(geteuid() + 12345); }},
      {"no capabilities", kTwo, [] { return geteuid() == 0 && drop_capabilities(); }},
      {"no /proc", kTwo, [] { return mount_over("/proc"); }},
      {"FGMPI_HOST_ID", kTwo,
       [] { return testing::set_variable("FGMPI_HOST_ID", "another"), true; }},
  };
  const std::string here = host_id(), files = host_id_of_files();
  EXPECT_EQ(here.size(), 32u);
  EXPECT_EQ(here.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(here, files);
  for (const Case& c : cases) {
    Ids ids{}, again{};
    if (!ids_after(c.first, &ids)) {
      std::printf("  not permitted here: %s\n", c.name);
      continue;
    }
    EXPECT_EQ(ids.host == here, c.expected != kTwo) << c.name;
    EXPECT_EQ(ids.files == files, c.expected == kOne) << c.name;
    // Without /proc a process cannot identify its host, so two such processes never count as being
    // on the same host.
    if (c.name != std::string("no /proc")) continue;
    ASSERT_TRUE(ids_after(c.first, &again));
    EXPECT_STRNE(ids.host, again.host);
  }
  EXPECT_EQ(here, host_id());
}

}  // namespace
}  // namespace fgmpi::transport
