// Unlinks a POSIX shared memory object when this process ends before it has done so itself,
// even by SIGKILL.
//
// The guard is a small process in a session of its own. It waits for the end of a pipe whose other
// end only this process has open. It exists from before the creation of the object until release(),
// which is only as long as MPI_Init takes.
#pragma once

#include <string>

namespace fgmpi::transport::shm {

class SegmentGuard {
 public:
  SegmentGuard() = default;
  SegmentGuard(const SegmentGuard&) = delete;
  SegmentGuard& operator=(const SegmentGuard&) = delete;
  ~SegmentGuard() { release(); }
  /// Starts a guard for shm_open's `file`, which need not exist yet. False (errno is set): there is
  /// no free descriptor or process, so the file should not be made.
  bool watch(const std::string& file);
  /// Makes the guard unlink the object if it still exists, and end.
  void release();

 private:
  int pipe_ = -1;
  int pid_ = -1;
};

}  // namespace fgmpi::transport::shm
