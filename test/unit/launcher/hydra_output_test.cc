#include "launcher/hydra/hydra_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace fgmpi::launcher {
namespace {

/// A proxy that reads the output of two processes through OutputLines.
struct Proxy {
  static constexpr int kProcesses = 2;
  OutputLines lines;
  int ends[2 * kProcesses][2];  ///< standard output and error of each
  pollfd fds[2 * kProcesses];
  std::string seen;

  Proxy() {
    for (int i = 0; i < 2 * kProcesses; ++i) {
      EXPECT_EQ(pipe(ends[i]), 0);
      fcntl(ends[i][1], F_SETPIPE_SZ, 1 << 20);
      lines.pipe_made(ends[i]);
      fds[i] = {ends[i][0], POLLIN, 0};
    }
  }
  ~Proxy() {
    for (auto& pair : ends)
      for (int fd : pair) close(fd);
  }
  void print(int stream, const std::string& text) {
    EXPECT_EQ(::write(ends[stream][1], text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  /// Polls once and reads all readable pipes, as hydra does. Returns false where none was readable.
  bool step(int timeout = 0) {
    if (lines.poll(::poll, fds, 2 * kProcesses, timeout) == 0) return false;
    char bytes[64 * 1024];
    for (auto& fd : fds) {
      ssize_t got = 0;
      if (fd.fd < 0 || !fd.revents || !lines.read(fd.fd, bytes, sizeof bytes, &got)) continue;
      seen.append(bytes, static_cast<size_t>(got));
      if (got == 0) {
        lines.closed(fd.fd);
        fd.fd = -1;
      }
    }
    return true;
  }
  void run() {
    while (step()) {
    }
  }
};

TEST(OutputLines, PiecesOfALineWaitForItsEnd) {
  Proxy proxy;
  const std::string block(4096, 'a');
  proxy.print(0, block);
  proxy.print(2, "b\nbegun ");
  proxy.run();
  EXPECT_EQ(proxy.seen, "b\n");
  proxy.print(0, "a\nx\n");
  proxy.run();
  EXPECT_EQ(proxy.seen, "b\n" + block + "a\nx\n");
}

TEST(OutputLines, LinesLongerThanAReadAreReadToTheirEnds) {
  Proxy proxy;
  const std::string a(300'000, 'a'), b(200'000, 'b');
  proxy.print(0, a + "\n");
  proxy.print(2, b + "\nend of b\n");
  proxy.run();
  EXPECT_TRUE(proxy.seen == a + "\n" + b + "\nend of b\n" ||
              proxy.seen == b + "\nend of b\n" + a + "\n");
}

TEST(OutputLines, WhatHasNoEndShowsAfterAWhileAndWhenTheProcessEnds) {
  Proxy proxy;
  proxy.print(0, "a number? ");
  proxy.run();
  EXPECT_EQ(proxy.seen, "");
  EXPECT_TRUE(proxy.step(-1));  // returns when the wait for the line's end is over
  EXPECT_EQ(proxy.seen, "a number? ");
  const std::string block(8192, 'b');
  proxy.print(2, block);
  proxy.run();
  close(proxy.ends[2][1]);
  proxy.ends[2][1] = -1;
  proxy.run();
  EXPECT_EQ(proxy.seen, "a number? " + block);
  EXPECT_EQ(proxy.fds[2].fd, -1);
}

TEST(OutputLines, ALineThatIsTooLongIsPassedOn) {
  Proxy proxy;
  const std::string part(1 << 20, 'a');
  size_t printed = 0;
  while (printed < OutputLines::kLongestLine) {
    proxy.print(0, part);
    printed += part.size();
    proxy.run();
  }
  EXPECT_EQ(proxy.seen.size(), printed);
}

std::string g_written;
bool write_down(int, std::string_view text) {
  g_written += text;
  return true;
}

TEST(OutputJoin, OtherHostsWaitForTheEndOfALine) {
  g_written.clear();
  OutputJoin join(write_down);
  join.read_from(5);
  join.write(1, "one line\nbegun");
  join.read_from(6);
  join.write(1, "other\nof six");
  EXPECT_EQ(g_written, "one line\nbegun");
  EXPECT_GE(join.limit(-1), 0);
  join.read_from(5);
  join.write(1, " and ended\n");
  EXPECT_EQ(g_written, "one line\nbegun and ended\nother\nof six");
  EXPECT_EQ(join.limit(-1), -1);
  join.read_from(5);
  join.write(1, "five\n");
  EXPECT_EQ(g_written, "one line\nbegun and ended\nother\nof six");
  join.gone(6);
  EXPECT_EQ(g_written, "one line\nbegun and ended\nother\nof sixfive\n");
}

TEST(OutputJoin, ASilentHostGivesWay) {
  g_written.clear();
  OutputJoin join(write_down);
  join.read_from(5);
  join.write(1, "a number? ");
  join.read_from(6);
  join.write(2, "line\n");
  for (int ms; (ms = join.limit(-1)) >= 0; join.look()) usleep(static_cast<useconds_t>(ms) * 1000);
  EXPECT_EQ(g_written, "a number? line\n");
  join.read_from(5);
  join.write(1, "17");  // belongs to the line whose end was not waited for
  join.read_from(6);
  join.write(1, "line\n");
  EXPECT_EQ(g_written, "a number? line\n17line\n");
}

}  // namespace
}  // namespace fgmpi::launcher
