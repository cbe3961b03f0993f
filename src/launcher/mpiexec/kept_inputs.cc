// The index of kept contents, their comparison with files, and files that are made of them.

#include "launcher/mpiexec/kept_inputs.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/hash.h"
#include "launcher/mpiexec/job_folder.h"
#include "launcher/mpiexec/program.h"
#include "rewind/chunk_window.h"

namespace fgmpi::launcher {
namespace {

using rewind::KeptFile;
using rewind::SealedChunk;

/// Files that are named one by one; of more only the number is written.
constexpr size_t kMostNamed = 5;

using ChunkBytes = std::vector<uint8_t>;

/// The bytes of a block that lie in the file.
size_t bytes_in(const KeptFile& file, uint64_t block) {
  const uint64_t at = block * rewind::kChunkBytes;
  return at < file.size ? std::min<uint64_t>(file.size - at, rewind::kChunkBytes) : 0;
}

bool read_all(int fd, void* to, size_t size, uint64_t at) {
  auto* bytes = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = pread(fd, bytes, size, static_cast<off_t>(at));
    if (n <= 0) {
      if (n == 0) errno = 0;
      return false;
    }
    bytes += n;
    at += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool write_all(int fd, const uint8_t* bytes, size_t size, uint64_t at) {
  while (size > 0) {
    const ssize_t n = pwrite(fd, bytes, size, static_cast<off_t>(at));
    if (n <= 0) return false;
    bytes += n;
    at += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
  return true;
}

/// A descriptor that closes itself.
struct OpenedFile {
  int fd;
  explicit OpenedFile(int opened) : fd(opened) {}
  ~OpenedFile() {
    if (fd >= 0) close(fd);
  }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
};

Status damaged(const char* path) {
  return error(MPI_ERR_FILE, "the contents that were kept of %s are damaged",
               *path ? path : "an input");
}

std::string words_of_error() {
  if (errno == ENOENT || errno == ENOTDIR) return "is gone";
  return std::string("cannot be read (") + std::strerror(errno) + ")";
}

}  // namespace

KeptInputs::~KeptInputs() {
  if (guard_ <= 0) remove_job_folder(folder_);
  if (guarded_ >= 0) close(guarded_);
  if (guard_ > 0) wait_for_child(guard_);
}

Status KeptInputs::guard_folder() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return error(MPI_ERR_OTHER, "pipe: %s", std::strerror(errno));
  guarded_ = ends[1];
  guard_ = fork();
  if (guard_ < 0) return error(MPI_ERR_OTHER, "fork: %s", std::strerror(errno));
  if (guard_ > 0) return close(ends[0]), Status();
  for (const int number : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) signal(number, SIG_IGN);
  // Whoever reads what mpiexec writes must not have to wait for this process.
  dup2(ends[0], STDIN_FILENO);
  close(ends[1]);
  syscall(SYS_close_range, STDIN_FILENO + 1, ~0u, 0);
  char nothing;
  while (read(STDIN_FILENO, &nothing, 1) < 0 && errno == EINTR) {
  }
  remove_job_folder(folder_);
  _exit(0);
}

Status KeptInputs::read_index(const rewind::RecordingHeader& header) {
  SealedChunk head;
  uint64_t at = rewind::kMappedBytes + header.description_bytes;
  for (; at + sizeof head <= header.file_bytes; at += sizeof head + head.stored) {
    if (!read_all(recording_, &head, sizeof head, at) || head.stored > rewind::kChunkBytes)
      return damaged("");
    if (head.stream != rewind::kContents) continue;
    KeptVersion& kept = files_[head.serial >> rewind::kBlockBits];
    const uint64_t block = head.serial & rewind::kFileBlock;
    if (block != rewind::kFileBlock) {
      kept.blocks.push_back({block, at + sizeof head, head});
      continue;
    }
    ChunkBytes chunk(rewind::kChunkBytes);
    FGMPI_TRY(read_block({block, at + sizeof head, head}, chunk.data()));
    std::memcpy(&kept.file, chunk.data(), sizeof kept.file);
    kept.is_described = kept.file.path[sizeof kept.file.path - 1] == 0;
  }
  for (const auto& [number, kept] : files_)
    if (!kept.is_described || kept.file.size > INT64_MAX) return damaged("");
  return {};
}

Status KeptInputs::read_block(const KeptBlock& block, uint8_t* chunk) const {
  ChunkBytes packed(block.head.stored);
  if (!read_all(recording_, packed.data(), packed.size(), block.at) ||
      static_cast<uint32_t>(hash_bytes(packed.data(), packed.size())) != block.head.checksum)
    return damaged("");
  if (packed.size() < rewind::kChunkBytes)
    return rewind::unpack_alone(packed.data(), packed.size(), chunk) ? Status() : damaged("");
  std::memcpy(chunk, packed.data(), packed.size());
  return {};
}

Status KeptInputs::compare(const KeptVersion& kept, std::string* difference) const {
  const OpenedFile file(open(kept.file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat s {};
  if (file.fd < 0 || fstat(file.fd, &s) != 0) {
    *difference = words_of_error();
    return {};
  }
  if (!S_ISREG(s.st_mode)) {
    *difference = "is no file any more";
    return {};
  }
  if (static_cast<uint64_t>(s.st_size) != kept.file.size) {
    *difference = "has " + std::to_string(s.st_size) + " bytes, " + std::to_string(kept.file.size) +
                  " in the recorded run";
    return {};
  }
  ChunkBytes then(rewind::kChunkBytes), now(rewind::kChunkBytes);
  for (const KeptBlock& block : kept.blocks) {
    if (Status read = read_block(block, then.data()); !read.ok()) return damaged(kept.file.path);
    const size_t size = bytes_in(kept.file, block.block);
    if (!read_all(file.fd, now.data(), size, block.block * rewind::kChunkBytes))
      *difference = words_of_error();
    else if (std::memcmp(then.data(), now.data(), size) != 0)
      *difference = "has other contents";
    if (!difference->empty()) return {};
  }
  return {};
}

Status KeptInputs::write(const KeptVersion& kept, const std::string& path) const {
  const OpenedFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  bool done = file.fd >= 0 && ftruncate(file.fd, static_cast<off_t>(kept.file.size)) == 0;
  ChunkBytes chunk(rewind::kChunkBytes);
  for (const KeptBlock& block : kept.blocks) {
    if (!done) break;
    if (Status read = read_block(block, chunk.data()); !read.ok()) return damaged(kept.file.path);
    done = write_all(file.fd, chunk.data(), bytes_in(kept.file, block.block),
                     block.block * rewind::kChunkBytes);
  }
  if (!done)
    return error(MPI_ERR_FILE, "%s, made of the kept contents of %s: %s", path.c_str(),
                 kept.file.path, std::strerror(errno));
  return {};
}

Status KeptInputs::make(int recording, const rewind::RecordingHeader& header) {
  if (!header.keeps_inputs) return {};
  recording_ = recording;
  FGMPI_TRY(read_index(header));
  FGMPI_TRY(make_job_folder("-rewind", false, &folder_));
  FGMPI_TRY(guard_folder());
  size_t changed = 0;
  for (const auto& [number, kept] : files_) {
    std::string difference;
    FGMPI_TRY(compare(kept, &difference));
    const std::string path = folder_ + "/" + std::to_string(number);
    if (difference.empty()) {
      if (symlink(kept.file.path, path.c_str()) != 0)
        return error(MPI_ERR_FILE, "%s: %s", path.c_str(), std::strerror(errno));
      continue;
    }
    FGMPI_TRY(write(kept, path));
    if (changed++ < kMostNamed)
      std::fprintf(stderr, "mpiexec: -rewind: %s %s: its contents in the recording are used\n",
                   kept.file.path, difference.c_str());
  }
  if (changed > kMostNamed)
    std::fprintf(stderr, "mpiexec: -rewind: also for %zu other files\n", changed - kMostNamed);
  return {};
}

Status KeptInputs::place() const {
  if (folder_.empty()) return {};
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || dup2(folder, rewind::kInputsFd) < 0)
    return error(MPI_ERR_OTHER, "descriptor %d, for %s: %s", rewind::kInputsFd, folder_.c_str(),
                 std::strerror(errno));
  close(folder);
  return {};
}

}  // namespace fgmpi::launcher
