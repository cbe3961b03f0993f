// Both ends of mpiexec -resize and -leave.
#include "launcher/mpiexec/resize_requests.h"

#include <mpi.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace fgmpi::launcher {
namespace {

constexpr size_t kMostAnswer = 1024;
constexpr size_t kMostHostName = 256;

/// A request, as it is sent.
struct ResizePacket {
  int64_t processes;
  char leaves[kMostHostName];  ///< up to its zero byte
};

/// A name that is no file, and ends with the process.
socklen_t address_of(pid_t pid, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  const int length = std::snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                                   "fgmpi-mpiexec-%d", static_cast<int>(pid));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

/// Does the process at the other end belong to the same user, or to root?
bool is_allowed(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == getuid() || peer.uid == 0);
}

}  // namespace

ResizeRequests::~ResizeRequests() {
  if (listening_ >= 0) close(listening_);
  if (asking_ >= 0) close(asking_);
}

void ResizeRequests::listen() {
  sockaddr_un address;
  const socklen_t length = address_of(getpid(), &address);
  listening_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listening_ >= 0 && (bind(listening_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
                          ::listen(listening_, 4) != 0)) {
    close(listening_);
    listening_ = -1;
  }
}

ResizeRequest ResizeRequests::take() {
  if (listening_ < 0 || asking_ >= 0) return {};
  asking_ = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
  if (asking_ < 0) return {};
  ResizePacket sent{};
  const timeval soon{1, 0};
  setsockopt(asking_, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
  if (is_allowed(asking_) && recv(asking_, &sent, sizeof sent, 0) == sizeof sent &&
      sent.processes >= 0 && sent.leaves[kMostHostName - 1] == 0) {
    const ResizeRequest request = {sent.processes, sent.leaves};
    if (request.any()) return request;
  }
  answer("the request was not understood");
  return {};
}

void ResizeRequests::answer(const std::string& text) {
  if (asking_ < 0) return;
  // An empty text is a packet, too: with its zero byte.
  send(asking_, text.c_str(), std::min(text.size() + 1, kMostAnswer), MSG_NOSIGNAL);
  close(asking_);
  asking_ = -1;
}

Status ask_to_change(const ResizeRequest& request, pid_t pid) {
  const char* const option = request.leaves.empty() ? "-resize" : "-leave";
  ResizePacket sent{request.processes, {}};
  if (request.leaves.size() >= kMostHostName)
    return error(MPI_ERR_ARG, "%s: the host's name has %zu characters; allowed are %zu", option,
                 request.leaves.size(), kMostHostName - 1);
  request.leaves.copy(sent.leaves, kMostHostName - 1);
  sockaddr_un address;
  const socklen_t length = address_of(pid, &address);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  char text[kMostAnswer + 1] = {};
  ssize_t got = -1;
  // While a job goes on in other processes, its mpiexec starts itself again.
  constexpr int kTries = 40;
  bool connected = false;
  for (int i = 0; i < kTries && fd >= 0 && !connected && kill(pid, 0) == 0; ++i) {
    if (i > 0) usleep(50'000);
    connected = connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0;
  }
  if (connected && send(fd, &sent, sizeof sent, MSG_NOSIGNAL) == sizeof sent)
    got = recv(fd, text, kMostAnswer, 0);
  if (fd >= 0) close(fd);
  if (!connected)
    return error(MPI_ERR_ARG,
                 "%s: process %d is no mpiexec that can do that; allowed is one that was "
                 "started with -checkpoint or -restart",
                 option, static_cast<int>(pid));
  if (got <= 0) return error(MPI_ERR_ARG, "%s: the job has ended", option);
  if (text[0]) return error(MPI_ERR_ARG, "%s: %s", option, text);
  return {};
}

}  // namespace fgmpi::launcher
