// Tests of functions about the process: its pages, its descriptors, the name of its host.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "../setting.h"
#include "base/descriptor.h"
#include "base/host_name.h"
#include "base/page.h"

namespace fgmpi {
namespace {

TEST(Page, IsAMultipleOfTheMachines) {
  EXPECT_EQ(static_cast<long>(machine_page_bytes()), sysconf(_SC_PAGESIZE));
  EXPECT_GE(page_bytes(), machine_page_bytes());
  EXPECT_TRUE(std::has_single_bit(page_bytes()));
}

TEST(Page, HasTheSizeOfTheSetting) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const size_t bytes : {size_t{16} << 10, size_t{64} << 10}) {
    const test::Setting setting("FGMPI_PAGE_SIZE", std::to_string(bytes >> 10) + "k");
    EXPECT_EXIT(_exit(page_bytes() == std::max(bytes, machine_page_bytes()) ? 0 : 1),
                testing::ExitedWithCode(0), "");
  }
}

TEST(Page, Rounding) {
  const size_t kPage = page_bytes();
  EXPECT_EQ(page_up(0), 0u);
  EXPECT_EQ(page_up(1), kPage);
  EXPECT_EQ(page_up(kPage), kPage);
  EXPECT_EQ(page_up(kPage + 1), 2 * kPage);
  EXPECT_EQ(page_down(kPage - 1), 0u);
  EXPECT_EQ(page_down(kPage), kPage);
  EXPECT_EQ(page_up(UINT64_MAX - kPage + 1), UINT64_MAX - kPage + 1);
  EXPECT_EQ(page_down(65535, 16384), 49152u);
  EXPECT_EQ(page_up(49153, 16384), 65536u);
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
