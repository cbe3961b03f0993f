// The helper process that unlinks a shared memory object.

#include "transport/shm/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/raw_call.h"

namespace fgmpi::transport::shm {
namespace {

/// What the guard runs. It has nothing open but the pipe: launchers wait for the end of a
/// process's output.
[[noreturn]] void wait_and_unlink(int pipe, const char* file) {
  if (dup2(pipe, 0) != 0) _exit(1);
  close_descriptors(1, ~0u);
  char byte;
  while (read(0, &byte, 1) > 0 || errno == EINTR) errno = 0;
  shm_unlink(file);
  _exit(0);
}

}  // namespace

bool SegmentGuard::watch(const std::string& file) {
  int ends[2], ready[2];
  if (pipe2(ends, O_CLOEXEC)) return false;
  if (pipe2(ready, O_CLOEXEC)) {
    const int why = errno;
    close(ends[0]);
    close(ends[1]);
    errno = why;
    return false;
  }
  // Blocks the launcher's signals to the process group, and a SIGCHLD for the user's handlers.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Forks so that the child's end raises no SIGCHLD, and that the user's own wait() does
  // not find it.
  pid_ = static_cast<int>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (pid_ == 0) {
    setsid();
    wait_and_unlink(ends[0], file.c_str());
  }
  const int why = errno;
  close(ready[1]);
  // Waits until the guard has closed what it has inherited. Until it has left the process group it
  // would be killed with the group, and on a busy machine it may not have run yet.
  char none;
  while (pid_ >= 0 && read(ready[0], &none, 1) < 0 && errno == EINTR) {
  }
  close(ready[0]);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(ends[0]);
  pipe_ = ends[1];
  if (pid_ >= 0) return true;
  release();
  errno = why;
  return false;
}

void SegmentGuard::release() {
  if (pipe_ >= 0) close(pipe_);
  pipe_ = -1;
  if (pid_ > 0)
    while (waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
    }
  pid_ = -1;
}

}  // namespace fgmpi::transport::shm
