// Descriptors of open files. Those that are idle are closed when the process has no more left, and
// opened again by their path when they are needed; a path that does not name the same file any more
// (device and inode) is an error then. Thread rule: one thread. open() and acquire() switch where
// all descriptors are held by operations under way, and wait for one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fgmpi::file {

class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  /// open(2). Errors: as io_error() says.
  Status open(const std::string& path, int flags, mode_t mode);
  /// Opened when it is first needed: errors come then.
  void open_later(const std::string& path, int flags);
  /// What posix_fadvise() is told, now and whenever it is opened again.
  void advise(int advice);
  /// Locks a byte far behind the file's end, `handle` saying which, for as long as the descriptor
  /// is open, so that alone() knows of it. May switch. Without locks it does nothing.
  void announce(uint32_t handle);
  /// True while no other MPI file handle that can write has this file, in any process of any job;
  /// and until end_alone() none gets through announce(). False where locks are not to be had.
  bool begin_alone(int fd) const;
  void end_alone(int fd) const;
  /// From now on it is closed when others need descriptors.
  void may_be_closed();
  /// The descriptor, which stays open until release(). Opens it again where it was closed.
  Status acquire(int* fd);
  void release();
  Status close();

  const std::string& path() const { return path_; }
  bool seekable() const { return seekable_; }

 private:
  Status open_anew();
  void announce_here() const;
  static bool close_one();
  void unlink();
  void link();

  std::string path_;      ///< as the program gave it
  std::string absolute_;  ///< empty: it cannot be opened again
  int fd_ = -1, flags_ = 0, advice_ = 0;
  int64_t announced_ = -1;  ///< the handle
  uint32_t users_ = 0;
  bool seekable_ = true, listed_ = false, seen_ = false;  ///< seen_: device and inode are known
  dev_t device_ = 0;
  ino_t inode_ = 0;
  Descriptor *newer_ = nullptr, *older_ = nullptr;  ///< of those that may be closed
};

/// A descriptor in use.
class Pin {
 public:
  ~Pin() {
    if (descriptor_) descriptor_->release();
  }
  Status take(Descriptor* descriptor) {
    FGMPI_TRY(descriptor->acquire(&fd_));
    descriptor_ = descriptor;
    return {};
  }
  int fd() const { return fd_; }

 private:
  Descriptor* descriptor_ = nullptr;
  int fd_ = -1;
};

/// How often a descriptor was opened again in this process: tests.
uint64_t descriptors_reopened();

/// The system's error as MPI's: "cannot read 100 bytes at offset 200 of FILE: Input/output error".
Status io_error(int code, const std::string& what);

/// The path without a prefix that names a file system (ROMIO's ufs:, nfs:, testfs:, ...).
std::string plain_path(const char* name);
/// Such a prefix.
bool is_file_system(const char* name);

}  // namespace fgmpi::file
