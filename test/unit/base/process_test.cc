// Tests of functions about the process: its pages, its descriptors, the name of its host.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/descriptor.h"
#include "base/host_name.h"
#include "base/page.h"

namespace fgmpi {
namespace {

TEST(Page, IsTheMachines) { EXPECT_EQ(static_cast<long>(kPage), sysconf(_SC_PAGESIZE)); }

TEST(Page, Rounding) {
  EXPECT_EQ(page_up(0), 0u);
  EXPECT_EQ(page_up(1), kPage);
  EXPECT_EQ(page_up(kPage), kPage);
  EXPECT_EQ(page_up(kPage + 1), 2 * kPage);
  EXPECT_EQ(page_down(kPage - 1), 0u);
  EXPECT_EQ(page_down(kPage), kPage);
  EXPECT_EQ(page_up(UINT64_MAX - kPage + 1), UINT64_MAX - kPage + 1);
}

TEST(Descriptor, MovesUpAndKeepsErrno) {
  const int low = open("/dev/null", O_RDONLY);
  ASSERT_GE(low, 0);
  errno = E2BIG;
  const int high = move_descriptor_up(low);
  EXPECT_EQ(errno, E2BIG);
  EXPECT_GE(high, kFirstOwnDescriptor);
  EXPECT_EQ(fcntl(low, F_GETFD), -1) << "the low one is closed";
  EXPECT_EQ(fcntl(high, F_GETFD), FD_CLOEXEC);
  close(high);
  EXPECT_EQ(move_descriptor_up(-1), -1);
}

TEST(Descriptor, StaysWhereThereIsNoRoomAbove) {
  const int low = open("/dev/null", O_RDONLY);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = kFirstOwnDescriptor;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(move_descriptor_up(low), low);
  EXPECT_NE(fcntl(low, F_GETFD), -1) << "still open";
  setrlimit(RLIMIT_NOFILE, &before);
  close(low);
}

TEST(HostName, IsTheKernels) {
  char name[256] = "";
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  errno = E2BIG;
  EXPECT_EQ(host_name(), name);
  EXPECT_EQ(errno, E2BIG);
}

TEST(HostName, FieldsHaveItAsFarAsItFits) {
  char longest[300], same[8], one[1];
  memset(longest, 'x', sizeof longest);
  store_host_name(longest);
  store_host_name(same);
  store_host_name(one);
  EXPECT_EQ(longest, host_name());
  EXPECT_EQ(std::string(same), host_name().substr(0, 7));
  EXPECT_EQ(one[0], '\0');
  EXPECT_EQ(std::count(longest, std::end(longest), '\0'),
            static_cast<ptrdiff_t>(300 - host_name().size()));
}

TEST(HostName, PlainOnesHaveNoSeparators) {
  const std::string plain = plain_host_name();
  EXPECT_FALSE(plain.empty());
  EXPECT_LE(plain.size(), static_cast<size_t>(kMostHostName));
  EXPECT_EQ(
      plain.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"),
      std::string::npos);
}

}  // namespace
}  // namespace fgmpi
