// The files that a recorded run has inherited, and what stands in for them when it is repeated.
//
// Libraries look at standard files as they are loaded, before anything is recorded: Fortran's takes
// a buffer for each unit where that is no pipe and no terminal. So the repeated run finds files of
// the same kinds at the same descriptors, whatever mpiexec has. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace fgmpi::launcher {

/// An open descriptor of a process that begins.
struct InheritedFile {
  int32_t fd;
  uint32_t mode;         ///< as of fstat()
  uint32_t flags;        ///< as of fcntl(F_GETFL)
  uint32_t is_terminal;  ///< 1: it is
  uint64_t size;         ///< of a regular file
  uint64_t offset;       ///< in it
};
static_assert(sizeof(InheritedFile) == 32);  // is written as it is

/// The descriptors of this process that a program inherits which it executes.
std::vector<InheritedFile> find_inherited_files();

class StandInFiles {
 public:
  StandInFiles() = default;
  ~StandInFiles();
  StandInFiles(const StandInFiles&) = delete;
  StandInFiles& operator=(const StandInFiles&) = delete;

  /// Makes them. Errors: there are no more descriptors.
  Status make(const std::vector<InheritedFile>& files);
  /// Called in the process that becomes the run: places them, and moves what were its standard
  /// output and error to rewind::kStdoutFd and kStderrFd.
  Status place() const;
  /// Returns what has been written to a descriptor: by libraries that were loaded, the rest is
  /// answered by the recording.
  std::vector<char> written_to(int fd) const;

 private:
  struct ReplacedFile {
    InheritedFile file;
    int fd = -1;     ///< what the run gets
    int other = -1;  ///< this process's end of it; -1: there is none
  };
  static ReplacedFile make_one(const InheritedFile& file);
  std::vector<ReplacedFile> all_;
};

}  // namespace fgmpi::launcher
