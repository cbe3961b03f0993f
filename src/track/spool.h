// The trace file of this process: chunks in a shared mapping, so that the records survive any end
// of the process.
//
//   file:  | extent (mapped as a whole, 1 to 16 MiB) | extent | ...
//   extent: chunks of all ranks of the process, in the order of request; in front of those of the
//           first extent lies the header
//
// A record is a store into the mapping; the kernel writes it to the file when it likes. The pages
// of a full chunk are released (MADV_DONTNEED; the file keeps the data), so that one chunk for each
// rank stays resident. Thread rule: callers hold the process's lock where a rank has several
// threads (recorder.h). Invariant: chunks never move while the process lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "track/format.h"

namespace fgmpi::track {

class TraceSpool {
 public:
  /// Makes the file and its header. Errors: MPI_ERR_IO with the path and the reason.
  Status open(const std::string& path);
  bool is_open() const { return header_ != nullptr; }
  FileHeader& header() { return *header_; }

  /// A new chunk with room for `bytes` of records; nullptr when the disk is full, which
  /// is reported once.
  ChunkHeader* make_chunk(ChunkKind kind, int32_t rank, uint32_t part, size_t bytes);
  /// Writes one record into a chunk of its own. Returns false when the disk is full.
  bool put(ChunkKind kind, int32_t rank, const void* bytes, size_t size);
  /// Releases the pages of a full chunk to the kernel.
  static void give_back(ChunkHeader* chunk);
  /// Truncates the file to its used size. The mapping stays, and further chunks may follow.
  void finish();

 private:
  char* map_extent(uint64_t offset, size_t size);
  bool new_extent(size_t at_least);
  /// Chunks of at least this size begin at a page boundary.
  static constexpr size_t kLarge = 64 << 10;

  int fd_ = -1;
  std::string path_;
  FileHeader* header_ = nullptr;
  char* extent_ = nullptr;
  size_t extent_size_ = 0, extent_used_ = 0;
  uint64_t extent_offset_ = 0;
  bool full_ = false;
};

/// The records of a chunk.
inline char* records_of(ChunkHeader* chunk) { return reinterpret_cast<char*>(chunk + 1); }

}  // namespace fgmpi::track
