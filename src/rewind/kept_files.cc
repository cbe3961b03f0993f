// The table of kept files, and their blocks.

#include "rewind/kept_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "rewind/format.h"
#include "rewind/recording.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {
namespace {

/// A file as it was at one moment. Two that differ in a member are two files.
struct FileVersion {
  uint64_t device, number, size;
  int64_t changed_s, changed_ns;
  bool operator==(const FileVersion&) const = default;
};

struct TrackedFile {
  FileVersion version;
  uint32_t next;        ///< of the same bucket; 0: none
  uint64_t few_blocks;  ///< a bit for each block that is kept, where these suffice
  uint64_t* blocks;     ///< where they are: `few_blocks`, or mapped
};

constexpr uint64_t kBuckets = 1 << 16;

/// Lies at the same address in all runs, far from where the system places anything by itself.
struct KeptFiles {
  alignas(4096) uint8_t block[kChunkBytes];  ///< aligned as files opened with O_DIRECT need it
  uint32_t buckets[kBuckets];
  uint32_t count;
  TrackedFile files[kMostKeptFiles];  ///< that of number N at N - 1
};
auto* const kTable = reinterpret_cast<KeptFiles*>(0x610000000000);
static_assert(sizeof(KeptFiles) < size_t{1} << 32);
/// Where the bits of large files are mapped, one behind the other.
uint8_t* g_free_bits = reinterpret_cast<uint8_t*>(0x610100000000);

bool map_at(void* at, size_t size) {
  return direct_call(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                     0) == reinterpret_cast<long>(at);
}

bool find_version(long fd, FileVersion* version) {
  struct stat s {};
  if (direct_call(SYS_fstat, fd, &s) != 0) return false;
  *version = {s.st_dev, s.st_ino, static_cast<uint64_t>(s.st_size), s.st_mtim.tv_sec,
              s.st_mtim.tv_nsec};
  return true;
}

uint32_t& bucket_of(const FileVersion& version) {
  return kTable->buckets[mix(mix(version.device, version.number), version.size) % kBuckets];
}

constexpr uint64_t blocks_in(uint64_t size) { return (size + kChunkBytes - 1) / kChunkBytes; }

/// Gives the file a bit for each of its blocks. Returns false without memory.
bool make_bits(TrackedFile* file) {
  const uint64_t bytes = (blocks_in(file->version.size) + 63) / 64 * sizeof(uint64_t);
  file->blocks = &file->few_blocks;
  if (bytes <= sizeof file->few_blocks) return true;
  const size_t mapped = (bytes + kHeaderBytes - 1) & ~(kHeaderBytes - 1);
  if (!map_at(g_free_bits, mapped)) return false;
  file->blocks = reinterpret_cast<uint64_t*>(g_free_bits);
  g_free_bits += mapped;
  return true;
}

/// Reads one block of the file and appends it. Returns false when it cannot be read.
bool keep_block(long fd, uint32_t file, uint64_t block) {
  const uint64_t at = block * kChunkBytes;
  size_t have = 0;
  for (long n = 1; have < kChunkBytes && n > 0; have += static_cast<size_t>(std::max(n, 0L))) {
    n = direct_call(SYS_pread64, fd, kTable->block + have, kChunkBytes - have, at + have);
    if (n < 0) return false;
  }
  std::memset(kTable->block + have, 0, kChunkBytes - have);
  put_contents(content_serial(file, block), kTable->block);
  return true;
}

}  // namespace

const char* begin_keeping() {
  return map_at(kTable, sizeof *kTable) ? nullptr : "there is no memory for the table of inputs";
}

uint32_t add_kept_file(long fd) {
  FileVersion version;
  if (!find_version(fd, &version)) return 0;
  uint32_t& first = bucket_of(version);
  for (uint32_t file = first; file; file = kTable->files[file - 1].next)
    if (kTable->files[file - 1].version == version) return file;
  if (kTable->count == kMostKeptFiles || blocks_in(version.size) >= kFileBlock) return 0;
  TrackedFile& made = kTable->files[kTable->count];
  made.version = version;
  if (!make_bits(&made)) return 0;
  made.next = first;
  first = ++kTable->count;
  auto* head = reinterpret_cast<KeptFile*>(kTable->block);
  std::memset(kTable->block, 0, kChunkBytes);
  head->size = version.size;
  find_path_behind(fd, head->path, sizeof head->path);
  put_contents(content_serial(first, kFileBlock), kTable->block);
  return first;
}

bool keep_bytes(long fd, uint32_t file, uint64_t offset, uint64_t bytes) {
  TrackedFile& kept = kTable->files[file - 1];
  FileVersion now;
  if (!find_version(fd, &now) || now != kept.version) return false;
  const uint64_t end = std::min(kept.version.size, offset + std::min(bytes, ~offset));
  for (uint64_t block = offset / kChunkBytes; block < blocks_in(end); ++block) {
    const uint64_t bit = uint64_t{1} << block % 64;
    if (kept.blocks[block / 64] & bit) continue;
    if (!keep_block(fd, file, block)) return false;
    kept.blocks[block / 64] |= bit;
  }
  return true;
}

size_t find_path_behind(long fd, char* path, size_t room) {
  char link[32] = "/proc/self/fd/";
  size_t at = std::strlen(link);
  for (long unit = 1000; unit > 0; unit /= 10)
    if (fd >= unit || unit == 1) link[at++] = static_cast<char>('0' + fd / unit % 10);
  link[at] = 0;
  const long length = direct_call(SYS_readlinkat, AT_FDCWD, link, path, room - 1);
  const auto used = static_cast<size_t>(std::max(length, 0L));
  path[used] = 0;
  return used;
}

}  // namespace fgmpi::rewind
