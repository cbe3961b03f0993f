// The messages of fgmpi-start to the spawning process before and after it executes the program.

#include "dynamic/starter.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/split.h"
#include "dynamic/contact.h"
#include "dynamic/hello.h"

namespace fgmpi::dynamic {
namespace {

bool write_all(int fd, const void* bytes, size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t n = send(fd, at, count, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    count -= static_cast<size_t>(n);
  }
  return true;
}

/// Opens a connection to the port, which closes when another program replaces this one; -1: there
/// is none.
int call(const PortName& name) {
  for (const StreamAddress& to : addresses_of(name.contact)) {
    const int fd = socket(to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&to.address), to.length) == 0) return fd;
    close(fd);
  }
  return -1;
}

/// Opens a connection to the port and sends the hello; -1: there is none.
int open_to_port(const PortName& name) {
  const int fd = call(name);
  StreamHello hello{};
  std::memcpy(hello.magic, StreamHello::kMagic, sizeof hello.magic);
  hello.kind = StreamHello::kPort;
  hello.number = name.number;
  hello.key = name.key;
  if (fd < 0 || write_all(fd, &hello, sizeof hello)) return fd;
  close(fd);
  return -1;
}

bool send_message(int fd, uint32_t word) {
  const uint32_t message[2] = {sizeof word, word};
  return write_all(fd, message, sizeof message);
}

/// Becomes the program, or returns an errno. No shell is tried, unlike by execvp().
int execute(const std::string& path, char** arguments) {
  const std::string program = arguments[0];
  if (program.find('/') != std::string::npos) {
    execv(program.c_str(), arguments);
    return errno;
  }
  const char* known = environment::text(environment::kPath);
  const std::string folders = !path.empty() ? path : known ? known : "/usr/bin:/bin";
  int why = ENOENT;
  for (std::string_view folder : split(folders, ':')) {
    const std::string whole = (folder.empty() ? "." : std::string(folder)) + "/" + program;
    if (access(whole.c_str(), X_OK) != 0) continue;
    execv(whole.c_str(), arguments);
    why = errno;
  }
  return why;
}

}  // namespace

int start_program(int argc, char** argv) {
  PortName name;
  if (argc < 5 || !name.parse(argv[1])) {
    std::fprintf(stderr, "fgmpi-start: is called by MPI_Comm_spawn only\n");
    return 1;
  }
  const int fd = open_to_port(name);
  if (fd < 0 || !send_message(fd, static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)))) {
    std::fprintf(stderr, "fgmpi-start: the process that called MPI_Comm_spawn cannot be reached\n");
    return 1;
  }
  const int why = execute(argv[3], argv + 4);
  send_message(fd, static_cast<uint32_t>(why));
  return why == ENOENT ? 127 : 126;
}

void send_end_to_starter(const std::string& port, uint32_t rank) {
  PortName name;
  if (!name.parse(port)) return;
  const int fd = open_to_port(name);
  if (fd < 0) return;
  const uint64_t no_id = 0;
  uint8_t message[sizeof(uint32_t) + sizeof no_id + sizeof rank];
  const uint32_t length = sizeof message - sizeof(uint32_t);
  std::memcpy(message, &length, sizeof length);
  std::memcpy(message + sizeof length, &no_id, sizeof no_id);
  std::memcpy(message + sizeof length + sizeof no_id, &rank, sizeof rank);
  // The connection stays open until the other side, which writes first, has read the message and
  // closes: a closed connection would not be accepted.
  const timeval longest{60, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  char ignored[4096];
  if (write_all(fd, message, sizeof message))
    while (recv(fd, ignored, sizeof ignored, 0) > 0) {
    }
  close(fd);
}

}  // namespace fgmpi::dynamic
