// The description of a recorded run, in its file (src/rewind/format.h): what mpiexec needs to start
// it again.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "launcher/mpiexec/command_line.h"
#include "launcher/mpiexec/inherited_files.h"
#include "rewind/format.h"

namespace fgmpi::launcher {

/// A file that the run must find as it was: the program, or a library.
struct BuildFile {
  std::string path;
  uint64_t size = 0, hash = 0;
  /// Errors: it cannot be read.
  static Status of(const std::string& path, BuildFile* out);
};

struct RecordedRun {
  std::string path;   ///< of the program
  Words words;        ///< the program's name and its arguments
  Words environment;  ///< NAME=VALUE
  std::string folder;
  uint64_t stack_limit = 0;
  std::vector<BuildFile> files;
  std::vector<InheritedFile> inherited;

  std::vector<uint8_t> to_bytes() const;
  /// Errors: the bytes are no description.
  static Status parse(const void* bytes, size_t size, RecordedRun* out);
  /// Compares the files with those that are there now. Errors: another build.
  Status check_files() const;

  /// Creates the file of a recording that begins. Returns its descriptor in *fd.
  /// `keeps_inputs`: with the contents of the files that it only reads.
  Status create(const std::string& file, uint32_t ranks, bool keeps_inputs, int* fd) const;
  static Status open(const std::string& file, RecordedRun* out, rewind::RecordingHeader* header,
                     int* fd);
};

}  // namespace fgmpi::launcher
