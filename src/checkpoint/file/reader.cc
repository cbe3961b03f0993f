// Reading of a checkpoint's file.
#include "checkpoint/file/reader.h"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "checkpoint/file/packing.h"

namespace fgmpi::checkpoint {

CheckpointReader::~CheckpointReader() {
  if (fd_ >= 0) ::close(fd_);
}

Status CheckpointReader::damaged(const char* what) const {
  return error(MPI_ERR_IO, "%s is damaged at byte %llu: %s", path_.c_str(),
               static_cast<unsigned long long>(at_), what);
}

Status CheckpointReader::get(void* to, size_t bytes) {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t done = ::read(fd_, at, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0)
      return error(MPI_ERR_IO, "%s cannot be read: %s", path_.c_str(), std::strerror(errno));
    if (done == 0) return damaged("it ends here");
    at += done;
    at_ += static_cast<uint64_t>(done);
    bytes -= static_cast<size_t>(done);
  }
  return {};
}

Status CheckpointReader::open(const std::string& path) {
  path_ = path;
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0)
    return error(MPI_ERR_IO, "%s cannot be opened: %s", path.c_str(), std::strerror(errno));
  FGMPI_TRY(get(&header_, sizeof header_));
  if (std::memcmp(header_.magic, kCheckpointMagic, sizeof header_.magic) != 0)
    return error(MPI_ERR_IO, "%s is no file of a checkpoint", path.c_str());
  if (header_.version != kCheckpointVersion)
    return error(MPI_ERR_IO, "%s has version %u; this library reads version %u", path.c_str(),
                 header_.version, kCheckpointVersion);
  if (header_.checksum != checksum_of(header_))
    return damaged("the checksum of its header is wrong");
  const uint64_t end = uint64_t{header_.first_rank} + header_.ranks;
  if (header_.process >= header_.processes || end > header_.world_ranks)
    return damaged("its header names ranks or processes that the job has not");
  return {};
}

Status CheckpointReader::next(CheckpointBlock* block) {
  BlockHeader header;
  FGMPI_TRY(get(&header, sizeof header));
  if (header.bytes > kBlockBytes || header.stored > header.bytes)
    return damaged("a block is too long");
  stored_.resize(header.stored);
  FGMPI_TRY(get(stored_.data(), header.stored));
  if (header.checksum != checksum_of(header, stored_.data()))
    return damaged("the checksum of a block is wrong");
  block->kind = header.kind;
  block->rank = header.rank;
  block->address = header.address;
  block->bytes.resize(header.bytes);
  if (header.stored == header.bytes)
    std::copy(stored_.begin(), stored_.end(), block->bytes.begin());
  else if (!unpack_block(stored_.data(), header.stored, block->bytes.data(), header.bytes))
    return damaged("a block cannot be unpacked (this build may lack LZ4)");
  if (header.kind == BlockKind::kEnd) {
    if (header.address != blocks_) return damaged("blocks are missing");
    char more;
    if (::read(fd_, &more, 1) != 0) return damaged("something follows its end");
    return {};
  }
  ++blocks_;
  if (header.kind == BlockKind::kJob) return {};
  if (header.kind != BlockKind::kMemory && header.kind != BlockKind::kRank &&
      header.kind != BlockKind::kImage && header.kind != BlockKind::kProtection &&
      header.kind != BlockKind::kLibraries && header.kind != BlockKind::kMappings)
    return damaged("a block has no known kind");
  if (header.rank - header_.first_rank >= header_.ranks)
    return damaged("a block is of a rank of another file");
  return {};
}

}  // namespace fgmpi::checkpoint
