// The kinds of what is behind descriptors, which decide whether data is recorded.
//
// Thread rule: the scheduler's thread, in answers to trapped calls.
#pragma once

#include <cstdint>

namespace fgmpi::rewind {

enum class FileKind : uint8_t {
  kUnknown,
  kGivenFile,  ///< its data is recorded; when the run is repeated, /dev/null stands in for it
  kInput,      ///< a regular file that the run only reads: read again, and compared
  kMemory,     ///< memory without a name (memfd_create, /dev/shm): made and used again
  kFolder,     ///< opened again, for names that begin there; its entries are recorded
  kShownOut,   ///< standard output: written again
  kShownErr,   ///< standard error: written again
};

/// Is false in a repeated run whose output mpiexec does not show.
[[gnu::visibility("hidden")]] extern bool g_shows_output;

/// Called once, before calls are trapped: which files the standard descriptors are.
void look_at_standard_files();

/// Descriptors below this have kinds; others are all FileKind::kGivenFile.
inline constexpr long kMostKnownFds = 1024;

/// The kind of a descriptor of the recorded run.
FileKind kind_of(long fd);
/// Sets the kind of a descriptor, kUnknown when it has been closed. Its file is kept no more.
void set_kind(long fd, FileKind kind);
/// Gives a descriptor the kind and the kept file of another one.
void copy_kind(long from, long to);

/// The number of the kept file (kept_files.h) behind a descriptor of a run whose inputs are kept;
/// 0: there is none.
uint32_t kept_file_of(long fd);

/// A file has been opened: `flags` as of open(). Called while the run is recorded. Where inputs are
/// kept, it is from now on.
FileKind kind_of_opened(long fd, const char* path, long flags);
/// A file of memfd_create: memory from now on, also behind other descriptors.
void add_memory_device(long fd);

}  // namespace fgmpi::rewind
