// Reads a process's file of a checkpoint (format.h), and checks all of it: an error names the file,
// the place and what is wrong.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/file/format.h"

namespace fgmpi::checkpoint {

/// A block as it was before it was packed.
struct CheckpointBlock {
  BlockKind kind = BlockKind::kEnd;
  uint32_t rank = 0;
  uint64_t address = 0;
  std::vector<char> bytes;
};

class CheckpointReader {
 public:
  CheckpointReader() = default;
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  /// Errors: MPI_ERR_IO: there is no such file, or it is none of a checkpoint.
  Status open(const std::string& path);
  const CheckpointHeader& header() const { return header_; }
  /// Reads the next block; one of kind kEnd is the last. Errors: MPI_ERR_IO: the file is damaged.
  Status next(CheckpointBlock* block);

 private:
  /// Reads exactly so many bytes. Errors: the file is shorter.
  Status get(void* to, size_t bytes);
  Status damaged(const char* what) const;

  std::string path_;
  int fd_ = -1;
  uint64_t at_ = 0, blocks_ = 0;
  CheckpointHeader header_ = {};
  std::vector<char> stored_;
};

}  // namespace fgmpi::checkpoint
