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

#include "base/page.h"

namespace fgmpi::track {
namespace {

constexpr size_t kFirstExtent = 1 << 20, kLargestExtent = 16 << 20;

}  // namespace

Status TraceSpool::open(const std::string& path) {
  path_ = path;
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return error(MPI_ERR_IO, "%s: %s", path.c_str(), std::strerror(errno));
  char* map = map_extent(0, kFirstExtent);
  if (!map)
    return error(MPI_ERR_IO, "%s: cannot be mapped: %s", path.c_str(), std::strerror(errno));
  extent_ = map;
  extent_size_ = kFirstExtent;
  extent_used_ = kFileHeaderBytes;
  header_ = reinterpret_cast<FileHeader*>(map);
  header_->magic = kFileMagic;
  header_->end = kFileHeaderBytes;
  return {};
}

/// Lengthens the file and maps the new part; nullptr and errno where that fails. Disk space is
/// reserved now, so that a full disk is an error here and not a SIGBUS at a later store.
char* TraceSpool::map_extent(uint64_t offset, size_t size) {
  void* map = MAP_FAILED;
  if (ftruncate(fd_, static_cast<off_t>(offset + size)) == 0 &&
      (fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0 ||
       errno == EOPNOTSUPP))
    map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(offset));
  return map == MAP_FAILED ? nullptr : static_cast<char*>(map);
}

bool TraceSpool::new_extent(size_t at_least) {
  const uint64_t offset = extent_offset_ + extent_size_;
  size_t size = std::clamp(extent_size_ * 2, kFirstExtent, kLargestExtent);
  size = std::max(size, page_up(at_least + machine_page_bytes(), machine_page_bytes()));
  char* map = map_extent(offset, size);
  if (!map) {
    if (!full_)
      std::fprintf(stderr, "fgmpi-track: %s: no further events are recorded: %s\n", path_.c_str(),
                   std::strerror(errno));
    full_ = true;
    return false;
  }
  // The rest of the last extent becomes an empty chunk, so that readers can skip it.
  if (extent_used_ + sizeof(ChunkHeader) <= extent_size_) {
    auto* rest = reinterpret_cast<ChunkHeader*>(extent_ + extent_used_);
    *rest = {
        kChunkMagic, ChunkKind{0}, -1, 0, 0, extent_size_ - extent_used_ - sizeof(ChunkHeader)};
  }
  extent_ = map;
  extent_size_ = size;
  extent_used_ = 0;
  extent_offset_ = offset;
  return true;
}

ChunkHeader* TraceSpool::make_chunk(ChunkKind kind, int32_t rank, uint32_t part, size_t bytes) {
  if (full_ || !header_) return nullptr;
  const size_t unit = bytes >= kLarge ? machine_page_bytes() : 32;
  const size_t size = page_up(sizeof(ChunkHeader) + bytes, unit);
  const auto gap_to = [&] {
    return bytes >= kLarge ? page_up(extent_used_, unit) - extent_used_ : size_t{0};
  };
  if (extent_used_ + gap_to() + size > extent_size_)
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
  if (size >= kLarge && reinterpret_cast<uintptr_t>(chunk) % machine_page_bytes() == 0)
    madvise(chunk, size, MADV_DONTNEED);
}

void TraceSpool::finish() {
  if (!header_) return;
  header_->flags |= kFinished;
  // Stores into the truncated part of the mapping would end the process, so whole pages remain.
  const size_t used = page_up(extent_used_, machine_page_bytes());
  if (extent_used_ < extent_size_ && ftruncate(fd_, static_cast<off_t>(extent_offset_ + used)) == 0)
    extent_size_ = used;  // a further chunk begins a new extent behind it
}

}  // namespace fgmpi::track
