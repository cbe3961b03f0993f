// Unlinks a POSIX shared memory object when this process ends before it has done so itself, even by
// SIGKILL.
//
// A small process of its own session waits for the end of a pipe that only this process holds open.
// It exists from before the creation of the object until release(), which is only as long as
// MPI_Init takes.
#pragma once

#include <string>

namespace fgmpi::transport::shm {

class Guard {
 public:
  Guard() = default;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { release(); }
  /// Watches over shm_open's `file`, which need not be there yet. False (errno says why): no
  /// descriptor or process to spare, so the file should not be made.
  bool watch(const std::string& file);
  /// The guard unlinks the object if it is still there, and ends.
  void release();

 private:
  int pipe_ = -1;
  int pid_ = -1;
};

}  // namespace fgmpi::transport::shm
