// Writing of a checkpoint's file.
#include "checkpoint/file/writer.h"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "base/raw_call.h"
#include "checkpoint/file/packing.h"

namespace fgmpi::checkpoint {
namespace {

bool is_zero(const char* data, size_t bytes) {
  return data[0] == 0 && std::memcmp(data, data + 1, bytes - 1) == 0;
}

/// The length of the page at the beginning of what is left.
size_t first_page(size_t left) { return std::min(left, kBlockPageBytes); }

/// The bytes at the beginning of `data` whose pages are zeros, or are not, up to a block's length.
size_t run_of(const char* data, size_t bytes, bool zeros) {
  size_t run = 0;
  while (run < bytes && (zeros || run < kBlockBytes) &&
         is_zero(data + run, first_page(bytes - run)) == zeros)
    run += first_page(bytes - run);
  return run;
}

}  // namespace

uint64_t checksum_of(const BlockHeader& header, const void* stored) {
  return hash_bytes(stored, header.stored,
                    mix(hash_bytes(&header, offsetof(BlockHeader, checksum))));
}

uint64_t checksum_of(const CheckpointHeader& header) {
  return hash_bytes(&header, offsetof(CheckpointHeader, checksum), kCheckpointVersion);
}

CheckpointWriter::~CheckpointWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Status CheckpointWriter::open(const std::string& path, CheckpointHeader header) {
  path_ = path;
  unfinished_ = path + ".part";
  if (fd_ >= 0) ::close(fd_);
  written_ = blocks_ = 0;
  fd_ = ::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0)
    return error(MPI_ERR_IO, "%s cannot be made: %s", path.c_str(), std::strerror(errno));
  std::memcpy(header.magic, kCheckpointMagic, sizeof header.magic);
  header.version = kCheckpointVersion;
  header.checksum = checksum_of(header);
  return put(&header, sizeof header);
}

Status CheckpointWriter::put(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const long done =
        raw_call(SYS_write, fd_, reinterpret_cast<long>(at), static_cast<long>(bytes));
    if (done == -EINTR) continue;
    if (done <= 0)
      return error(MPI_ERR_IO, "%s cannot be written: %s", path_.c_str(),
                   std::strerror(static_cast<int>(-done)));
    at += done;
    bytes -= static_cast<size_t>(done);
    written_ += static_cast<uint64_t>(done);
  }
  return {};
}

Status CheckpointWriter::put_block(BlockKind kind, uint32_t rank, uint64_t address,
                                   const char* data, size_t bytes) {
  // A block that would shrink by less than an eighth is stored as it is.
  const size_t packed = pack_block(data, bytes, packed_.get(), bytes - bytes / 8);
  const char* stored = packed > 0 ? packed_.get() : data;
  BlockHeader header{kind,
                     rank,
                     address,
                     static_cast<uint32_t>(bytes),
                     static_cast<uint32_t>(packed > 0 ? packed : bytes),
                     0};
  header.checksum = checksum_of(header, stored);
  ++blocks_;
  FGMPI_TRY(put(&header, sizeof header));
  return put(stored, header.stored);
}

Status CheckpointWriter::write(BlockKind kind, uint32_t rank, uint64_t address, const void* data,
                               size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    size_t run = kind == BlockKind::kMemory ? run_of(at, bytes, true) : 0;
    if (run == 0) {
      run = kind == BlockKind::kMemory ? run_of(at, bytes, false) : std::min(bytes, kBlockBytes);
      FGMPI_TRY(put_block(kind, rank, address, at, run));
    }
    at += run;
    address += run;
    bytes -= run;
  }
  return {};
}

void CheckpointWriter::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Status CheckpointWriter::finish() {
  BlockHeader header{BlockKind::kEnd, 0, blocks_, 0, 0, 0};
  header.checksum = checksum_of(header, nullptr);
  FGMPI_TRY(put(&header, sizeof header));
  long failed = raw_call(SYS_fsync, fd_);
  raw_call(SYS_close, fd_);
  fd_ = -1;
  if (failed == 0)
    failed = raw_call(SYS_renameat2, AT_FDCWD, reinterpret_cast<long>(unfinished_.c_str()),
                      AT_FDCWD, reinterpret_cast<long>(path_.c_str()), 0);
  if (failed != 0)
    return error(MPI_ERR_IO, "%s cannot be written: %s", path_.c_str(),
                 std::strerror(static_cast<int>(-failed)));
  return {};
}

}  // namespace fgmpi::checkpoint
