#include "explore/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fgmpi::explore {
namespace {

struct Channel : testing::Test {
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0); }
  void TearDown() override {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2];
};

int file_with(const char* text) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  EXPECT_EQ(write(file, text, 3), 3);
  return file;
}

std::string text_in(int fd) {
  char text[8];
  const ssize_t n = pread(fd, text, sizeof text, 0);
  return {text, n > 0 ? static_cast<size_t>(n) : 0};
}

TEST_F(Channel, outputs_come_with_the_first_word) {
  Outputs sent = {file_with("out"), file_with("err")}, got = {-1, -1};
  ASSERT_TRUE(send_hello(ends[0], begin_word(ChannelWord::kHello), sent));
  ASSERT_TRUE(send_word(ends[0], begin_word(ChannelWord::kLimit)));
  close_outputs(&sent);
  EXPECT_EQ(sent, (Outputs{-1, -1}));
  uint8_t bytes[64];
  // Two frames of five bytes may arrive in several pieces.
  ssize_t all = 0;
  while (all < 10) {
    const ssize_t n = receive_some(ends[1], bytes + all, sizeof bytes - all, &got);
    ASSERT_GT(n, 0);
    all += n;
  }
  EXPECT_EQ(all, 10);
  EXPECT_EQ(bytes[4], static_cast<uint8_t>(ChannelWord::kHello));
  EXPECT_EQ(bytes[9], static_cast<uint8_t>(ChannelWord::kLimit));
  ASSERT_GE(got[0], 0);
  ASSERT_GE(got[1], 0);
  EXPECT_NE(fcntl(got[0], F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(text_in(got[0]), "out");
  EXPECT_EQ(text_in(got[1]), "err");
  // No bytes are there: the call does not wait, and the descriptors stay open.
  EXPECT_EQ(receive_some(ends[1], bytes, sizeof bytes, &got), -1);
  EXPECT_EQ(text_in(got[1]), "err");
  close_outputs(&got);
}

TEST_F(Channel, later_outputs_replace_those_before) {
  Outputs first = {file_with("one"), file_with("two")},
          second = {file_with("new"), file_with("old")};
  Outputs got = {-1, -1};
  uint8_t bytes[64];
  ASSERT_TRUE(send_hello(ends[0], begin_word(ChannelWord::kHello), first));
  ASSERT_GT(receive_some(ends[1], bytes, sizeof bytes, &got), 0);
  const Outputs before = got;
  ASSERT_TRUE(send_hello(ends[0], begin_word(ChannelWord::kHello), second));
  ASSERT_GT(receive_some(ends[1], bytes, sizeof bytes, &got), 0);
  EXPECT_EQ(text_in(got[0]), "new");
  EXPECT_EQ(text_in(got[1]), "old");
  for (Outputs* each : {&first, &second, &got}) close_outputs(each);
  EXPECT_EQ(fcntl(before[0], F_GETFD), -1);
}

TEST_F(Channel, an_end_that_is_gone_is_noticed) {
  Outputs outputs = {file_with("one"), file_with("two")};
  close(ends[1]);
  ends[1] = -1;
  EXPECT_FALSE(send_hello(ends[0], begin_word(ChannelWord::kHello), outputs));
  uint8_t byte;
  EXPECT_LE(receive_some(ends[0], &byte, 1, &outputs), 0);
  close_outputs(&outputs);
}

}  // namespace
}  // namespace fgmpi::explore
