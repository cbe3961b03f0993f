// Writes a process's file of a checkpoint (format.h). Allocates its buffer when it is made, and
// nothing but words once the file is open: a child that was forked writes, by calls of the kernel.
//
// Thread rule: one thread. Invariant: after an error, nothing more is written.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "checkpoint/file/format.h"

namespace fgmpi::checkpoint {

class CheckpointWriter {
 public:
  CheckpointWriter() : packed_(std::make_unique<char[]>(kBlockBytes)) {}
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Makes the file, which is PATH.part until finish(); `header` needs no magic, version and
  /// checksum. Errors: MPI_ERR_IO.
  Status open(const std::string& path, CheckpointHeader header);
  /// Writes bytes of any number. Pages of zeros are left out of kMemory: the memory of a restart is
  /// new, so it has zeros there. Errors: MPI_ERR_IO, also where the disk is full.
  Status write(BlockKind kind, uint32_t rank, uint64_t address, const void* data, size_t bytes);
  /// The file is complete, on the disk, and has its name. Errors: MPI_ERR_IO.
  Status finish();
  /// The number of the open file.
  int descriptor() const { return fd_; }
  /// Leaves the file to another process that writes it.
  void close();
  uint64_t bytes_written() const { return written_; }

 private:
  Status put(const void* data, size_t bytes);
  Status put_block(BlockKind kind, uint32_t rank, uint64_t address, const char* data, size_t bytes);

  std::string path_, unfinished_;
  int fd_ = -1;
  uint64_t written_ = 0, blocks_ = 0;
  std::unique_ptr<char[]> packed_;
};

}  // namespace fgmpi::checkpoint
