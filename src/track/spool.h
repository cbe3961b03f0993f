// The trace file of this process: chunks in a shared mapping, so that what is recorded survives any
// end of the process.
//
//   file:  | header | extent (mapped as a whole, 1 to 16 MiB) | extent | ...
//   extent: chunks of all ranks of the process, in the order of asking
//
// A record is a store into the mapping; the kernel writes it out when it likes. A chunk that is
// full is given back to the kernel (MADV_DONTNEED: the file keeps it), so that what stays resident
// is a chunk a rank. Thread rule: callers hold the process's lock where a rank has several threads
// (recorder.h). Invariant: chunks never move while the process lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "track/format.h"

namespace fgmpi::track {

class Spool {
 public:
  /// Makes the file and its header. Errors: MPI_ERR_IO with the path and the reason.
  Status open(const std::string& path);
  bool is_open() const { return header_ != nullptr; }
  FileHeader& header() { return *header_; }

  /// A new chunk with room for `bytes` of records, or nullptr when the disk is full (said once).
  ChunkHeader* make_chunk(ChunkKind kind, int32_t rank, uint32_t part, size_t bytes);
  /// One whole record of its own; false when the disk is full.
  bool put(ChunkKind kind, int32_t rank, const void* bytes, size_t size);
  /// Lets the kernel have the pages of a full chunk.
  static void give_back(ChunkHeader* chunk);
  /// Cuts the file to what is used. The mapping stays, and further chunks may follow.
  void finish();

  static constexpr size_t kPage = 4096;

 private:
  bool new_extent(size_t at_least);
  /// Page-aligned chunks are those of at least this size.
  static constexpr size_t kLarge = 64 << 10;

  int fd_ = -1;
  std::string path_;
  FileHeader* header_ = nullptr;
  char* extent_ = nullptr;
  size_t extent_size_ = 0, extent_used_ = 0;
  uint64_t extent_offset_ = 0;
  bool full_ = false;
};

/// Records of a chunk begin here.
inline char* records_of(ChunkHeader* chunk) { return reinterpret_cast<char*>(chunk + 1); }

}  // namespace fgmpi::track
