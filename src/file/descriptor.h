// Descriptors of open files. Idle ones are closed when the process has no more descriptors left,
// and opened again by their path when they are needed. A path that does not name the same file any
// more (device and inode) is an error then. Thread rule: one thread. open() and acquire() switch
// while operations hold all descriptors, and wait for one.
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

  /// Opens the file as open(2) does. Errors: those of io_error().
  Status open(const std::string& path, int flags, mode_t mode);
  /// Sets what acquire() will open; errors come then.
  void open_later(const std::string& path, int flags);
  /// Calls posix_fadvise() with this advice, now and whenever the file is opened again.
  void advise(int advice);
  /// Locks a byte far behind the file's end for as long as the descriptor is open, so that
  /// begin_alone() of other handles sees this one. `handle` chooses the byte. May switch. Where the
  /// file system has no locks, nothing happens.
  void announce(uint32_t handle);
  /// True while no other MPI file handle that can write has this file, in any process of any job;
  /// until end_alone() no other handle passes announce(). Returns false where the file system has
  /// no locks.
  bool begin_alone(int fd) const;
  void end_alone(int fd) const;
  /// Lets the descriptor be closed from now on when others need descriptors.
  void may_be_closed();
  /// Returns the descriptor, which stays open until release(). Opens the file again where it was
  /// closed.
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

  std::string path_;      ///< the program's path
  std::string absolute_;  ///< empty: the file cannot be opened again
  int fd_ = -1, flags_ = 0, advice_ = 0;
  int64_t announced_ = -1;  ///< the handle of announce(), or -1
  uint32_t users_ = 0;
  bool seekable_ = true, listed_ = false, seen_ = false;  ///< seen_: device_ and inode_ are set
  dev_t device_ = 0;
  ino_t inode_ = 0;
  /// Neighbours in the list of descriptors that may be closed.
  Descriptor *newer_ = nullptr, *older_ = nullptr;
};

/// Holds a descriptor open while it lives.
class Pin {
 public:
  ~Pin() {
    if (descriptor_) descriptor_->release();
  }
  Status reserve(Descriptor* descriptor) {
    FGMPI_TRY(descriptor->acquire(&fd_));
    descriptor_ = descriptor;
    return {};
  }
  int fd() const { return fd_; }

 private:
  Descriptor* descriptor_ = nullptr;
  int fd_ = -1;
};

/// How often this process has opened descriptors again, for tests.
uint64_t descriptors_reopened();

/// Words an error of the system as MPI's: "cannot read 100 bytes at offset 200 of FILE:
/// Input/output error".
Status io_error(int code, const std::string& what);

/// The path without a prefix that names a file system (ROMIO's ufs:, nfs:, testfs:, ...).
std::string plain_path(const char* name);
/// True for a prefix that names a file system.
bool is_file_system(const char* name);

}  // namespace fgmpi::file
