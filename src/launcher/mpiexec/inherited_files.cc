// The search for inherited files, and files of the same kinds.

#include "launcher/mpiexec/inherited_files.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "rewind/format.h"

namespace fgmpi::launcher {
namespace {

/// What is written to a pipe before calls are recorded must not wait for a reader.
constexpr int kPipeBytes = 1 << 20;

/// Opens a file once more, as the recorded run had its own.
int open_again(int fd, uint32_t flags) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return open(path.c_str(),
              (static_cast<int>(flags) & (O_ACCMODE | O_APPEND)) | O_CLOEXEC | O_NOCTTY);
}

int open_null(uint32_t flags) {
  return open("/dev/null", (static_cast<int>(flags) & O_ACCMODE) | O_CLOEXEC);
}

int make_file(const InheritedFile& file, int* other) {
  *other = memfd_create("fgmpi-rewind", MFD_CLOEXEC);
  if (*other < 0 || ftruncate(*other, static_cast<off_t>(file.size)) != 0) return -1;
  const int fd = open_again(*other, file.flags);
  lseek(fd, static_cast<off_t>(file.offset), SEEK_SET);
  return fd;
}

int make_pipe(const InheritedFile& file, int* other) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);
  const int fd = open_again(ends[0], file.flags);
  close(ends[1]);
  *other = ends[0];
  return fd;
}

int make_socket(int* other) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  *other = ends[1];
  return ends[0];
}

int make_terminal(const InheritedFile& file, int* other) {
  *other = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  char name[64];
  if (*other < 0 || grantpt(*other) != 0 || unlockpt(*other) != 0 ||
      ptsname_r(*other, name, sizeof name) != 0)
    return -1;
  const int fd = open(name, (static_cast<int>(file.flags) & O_ACCMODE) | O_NOCTTY | O_CLOEXEC);
  termios modes{};
  if (fd >= 0 && tcgetattr(fd, &modes) == 0) {
    cfmakeraw(&modes);
    tcsetattr(fd, TCSANOW, &modes);
  }
  return fd;
}

}  // namespace

std::vector<InheritedFile> find_inherited_files() {
  std::vector<InheritedFile> found;
  for (int fd = 0; fd < rewind::kRecordingFd; ++fd) {
    const int marks = fcntl(fd, F_GETFD);
    struct stat s {};
    if (marks < 0 || (marks & FD_CLOEXEC) || fstat(fd, &s) != 0) continue;
    const bool regular = S_ISREG(s.st_mode);
    found.push_back(
        {fd, s.st_mode, static_cast<uint32_t>(fcntl(fd, F_GETFL)),
         S_ISCHR(s.st_mode) && isatty(fd) ? 1u : 0u, regular ? static_cast<uint64_t>(s.st_size) : 0,
         regular ? static_cast<uint64_t>(std::max<off_t>(lseek(fd, 0, SEEK_CUR), 0)) : 0});
  }
  return found;
}

StandInFiles::~StandInFiles() {
  for (const ReplacedFile& one : all_) {
    if (one.fd >= 0) close(one.fd);
    if (one.other >= 0) close(one.other);
  }
}

StandInFiles::ReplacedFile StandInFiles::make_one(const InheritedFile& file) {
  ReplacedFile made{file};
  if (S_ISREG(file.mode)) made.fd = make_file(file, &made.other);
  if (S_ISFIFO(file.mode)) made.fd = make_pipe(file, &made.other);
  if (S_ISSOCK(file.mode)) made.fd = make_socket(&made.other);
  if (file.is_terminal) made.fd = make_terminal(file, &made.other);
  if (S_ISDIR(file.mode)) made.fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (made.fd < 0) made.fd = open_null(file.flags);
  return made;
}

Status StandInFiles::make(const std::vector<InheritedFile>& files) {
  int behind = STDERR_FILENO;
  for (const InheritedFile& file : files) behind = std::max(behind, file.fd);
  for (const InheritedFile& file : files) {
    ReplacedFile one = make_one(file);
    // place() puts one behind the other into place, so that none may lie in the place of another.
    const int moved = fcntl(one.fd, F_DUPFD_CLOEXEC, behind + 1);
    if (moved < 0)
      return error(MPI_ERR_OTHER, "descriptor %d: %s; allowed is a limit of open files above it",
                   behind + 1, std::strerror(errno));
    close(one.fd);
    one.fd = moved;
    all_.push_back(one);
  }
  return {};
}

Status StandInFiles::place() const {
  for (const auto& [standard, wanted] :
       {std::array{STDOUT_FILENO, rewind::kStdoutFd}, std::array{STDERR_FILENO, rewind::kStderrFd}})
    if (dup2(standard, wanted) < 0) {
      const int null = open_null(O_WRONLY);
      if (dup2(null, wanted) < 0)
        return error(MPI_ERR_OTHER, "descriptor %d: %s; allowed is a limit of open files above it",
                     wanted, std::strerror(errno));
    }
  for (int fd = 0; fd < rewind::kRecordingFd; ++fd)
    if (const int marks = fcntl(fd, F_GETFD); marks >= 0) fcntl(fd, F_SETFD, marks | FD_CLOEXEC);
  for (const ReplacedFile& one : all_)
    if (dup2(one.fd, one.file.fd) < 0)
      return error(MPI_ERR_OTHER, "descriptor %d: %s", one.file.fd, std::strerror(errno));
  return {};
}

std::vector<char> StandInFiles::written_to(int fd) const {
  std::vector<char> text;
  for (const ReplacedFile& one : all_) {
    if (one.file.fd != fd || one.other < 0) continue;
    fcntl(one.other, F_SETFL, fcntl(one.other, F_GETFL) | O_NONBLOCK);
    const bool regular = S_ISREG(one.file.mode);
    const bool appends = (one.file.flags & O_APPEND) != 0;
    auto at = static_cast<off_t>(appends ? one.file.size : one.file.offset);
    const off_t end = regular ? lseek(one.fd, 0, SEEK_CUR) : 0;
    char part[4096];
    for (;;) {
      const ssize_t n =
          regular ? pread(one.other, part, sizeof part, at) : read(one.other, part, sizeof part);
      if (n <= 0 || (regular && at >= end)) break;
      const auto taken = regular ? std::min<off_t>(n, end - at) : static_cast<off_t>(n);
      text.insert(text.end(), part, part + taken);
      at += taken;
    }
  }
  return text;
}

}  // namespace fgmpi::launcher
