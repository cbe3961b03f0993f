// Reads and writes whole lines over the launcher's connection, and ends the process when it breaks.

#include "bootstrap/line_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/assert.h"
#include "base/clock.h"

namespace fgmpi::bootstrap {
namespace {

std::atomic<bool> g_end_of_launcher_expected{false};

[[noreturn]] void broken(const char* doing, const char* why) {
  expect_end_of_launcher();
  std::fprintf(stderr, "fgmpi: the connection to the launcher broke while %s: %s\n", doing, why);
  end_process(1);
}

}  // namespace

void expect_end_of_launcher() { g_end_of_launcher_expected = true; }
bool end_of_launcher_expected() { return g_end_of_launcher_expected; }

LineChannel::LineChannel(int fd) : fd_(fd) {
  // Programs that this process starts must not inherit the connection.
  fcntl(fd_, F_SETFD, fcntl(fd_, F_GETFD) | FD_CLOEXEC);
}

bool LineChannel::has_more(int64_t wait_ns) {
  if (!received_.empty()) return true;
  pollfd one{fd_, POLLIN, 0};
  const timespec limit = to_timespec(wait_ns);
  return ppoll(&one, 1, &limit, nullptr) > 0;
}

LineChannel::~LineChannel() {
  if (fd_ >= 0) close(fd_);
}

void LineChannel::write(std::string_view text) {
  while (!text.empty()) {
    ssize_t n = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK) n = ::write(fd_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) broken("writing", std::strerror(errno));
    text.remove_prefix(n);
  }
}

void LineChannel::receive() {
  constexpr size_t kPiece = 4096;
  const size_t before = received_.size();
  received_.resize(before + kPiece);
  ssize_t n = ::read(fd_, received_.data() + before, kPiece);
  received_.resize(before + (n > 0 ? n : 0));
  if (n == 0) broken("reading", "it was closed");
  if (n < 0 && errno != EINTR) broken("reading", std::strerror(errno));
}

std::string LineChannel::read_line() {
  size_t end;
  while ((end = received_.find('\n', searched_)) == std::string::npos) {
    searched_ = received_.size();
    receive();
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

std::string LineChannel::read_exactly(size_t count) {
  while (received_.size() < count) receive();
  std::string bytes = received_.substr(0, count);
  received_.erase(0, count);
  searched_ = 0;
  return bytes;
}

}  // namespace fgmpi::bootstrap
