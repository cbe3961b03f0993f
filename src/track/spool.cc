// The trace file: extents, chunks, and its end.

#include "track/spool.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fgmpi::track {
namespace {

constexpr size_t kFirstExtent = 1 << 20, kLargestExtent = 16 << 20;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

Status TraceSpool::open(const std::string& path) {
  path_ = path;
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return error(MPI_ERR_IO, "%s: %s", path.c_str(), std::strerror(errno));
  void* map = MAP_FAILED;
  if (ftruncate(fd_, kFileHeaderBytes) == 0)
    map = mmap(nullptr, kFileHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED)
    return error(MPI_ERR_IO, "%s: cannot be mapped: %s", path.c_str(), std::strerror(errno));
  header_ = static_cast<FileHeader*>(map);
  header_->magic = kFileMagic;
  header_->end = kFileHeaderBytes;
  extent_offset_ = kFileHeaderBytes;
  return {};
}

bool TraceSpool::new_extent(size_t at_least) {
  const uint64_t offset = extent_offset_ + extent_size_;
  size_t size = std::clamp(extent_size_ * 2, kFirstExtent, kLargestExtent);
  size = std::max(size, round_up(at_least + kPage, kPage));
  // Disk space is reserved now, so that a full disk is an error here and not a SIGBUS
  // at a later store.
  void* map = MAP_FAILED;
  int result = ftruncate(fd_, static_cast<off_t>(offset + size));
  if (result == 0 &&
      (fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0 ||
       errno == EOPNOTSUPP))
    map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(offset));
  if (map == MAP_FAILED) {
    if (!full_)
      std::fprintf(stderr, "fgmpi-track: %s: no further events are recorded: %s\n", path_.c_str(),
                   std::strerror(errno));
    full_ = true;
    return false;
  }
  // The rest of the last extent becomes an empty chunk, so that readers can skip it.
  if (extent_ && extent_used_ + sizeof(ChunkHeader) <= extent_size_) {
    auto* rest = reinterpret_cast<ChunkHeader*>(extent_ + extent_used_);
    *rest = {
        kChunkMagic, ChunkKind{0}, -1, 0, 0, extent_size_ - extent_used_ - sizeof(ChunkHeader)};
  }
  extent_ = static_cast<char*>(map);
  extent_size_ = size;
  extent_used_ = 0;
  extent_offset_ = offset;
  return true;
}

ChunkHeader* TraceSpool::make_chunk(ChunkKind kind, int32_t rank, uint32_t part, size_t bytes) {
  if (full_ || !header_) return nullptr;
  const size_t size = round_up(sizeof(ChunkHeader) + bytes, bytes >= kLarge ? kPage : 32);
  const auto gap_to = [&] {
    return bytes >= kLarge ? round_up(extent_used_, kPage) - extent_used_ : size_t{0};
  };
  if (!extent_ || extent_used_ + gap_to() + size > extent_size_)
    if (!new_extent(size)) return nullptr;
  if (const size_t gap = gap_to(); gap >= sizeof(ChunkHeader)) {
    auto* filler = reinterpret_cast<ChunkHeader*>(extent_ + extent_used_);
    *filler = {kChunkMagic, ChunkKind{0}, -1, 0, 0, gap - sizeof(ChunkHeader)};
  }
  extent_used_ += gap_to();
  auto* chunk = reinterpret_cast<ChunkHeader*>(extent_ + extent_used_);
  extent_used_ += size;
  if (bytes >= kLarge) madvise(chunk, size, MADV_POPULATE_WRITE);
  *chunk = {kChunkMagic, kind, rank, part, 0, size - sizeof(ChunkHeader)};
  header_->end = extent_offset_ + extent_used_;
  return chunk;
}

bool TraceSpool::put(ChunkKind kind, int32_t rank, const void* bytes, size_t size) {
  ChunkHeader* chunk = make_chunk(kind, rank, 0, size);
  if (!chunk) return false;
  std::memcpy(records_of(chunk), bytes, size);
  chunk->used = size;
  return true;
}

void TraceSpool::give_back(ChunkHeader* chunk) {
  const size_t size = sizeof(ChunkHeader) + chunk->capacity;
  if (size >= kLarge && reinterpret_cast<uintptr_t>(chunk) % kPage == 0)
    madvise(chunk, size, MADV_DONTNEED);
}

void TraceSpool::finish() {
  if (!header_) return;
  header_->flags |= kFinished;
  // Stores into the truncated part of the mapping would end the process, so whole pages remain.
  if (extent_used_ < extent_size_ &&
      ftruncate(fd_, static_cast<off_t>(extent_offset_ + round_up(extent_used_, kPage))) == 0)
    extent_size_ = round_up(extent_used_, kPage);  // a further chunk begins a new extent behind it
}

}  // namespace fgmpi::track
