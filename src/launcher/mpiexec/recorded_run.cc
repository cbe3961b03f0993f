// Reading and writing the description of a recorded run.

#include "launcher/mpiexec/recorded_run.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fields.h"
#include "base/hash.h"

namespace fgmpi::launcher {
namespace {

using rewind::RecordingHeader;

void append_words(std::vector<uint8_t>* out, const Words& words) {
  append(out, static_cast<uint32_t>(words.size()));
  for (const std::string& word : words) append_text(out, word);
}

Words get_words(FieldReader* in) {
  Words words;
  const auto count = in->get<uint32_t>();
  for (uint32_t i = 0; i < count && !in->failed(); ++i) words.emplace_back(in->get_text());
  return words;
}

Status file_error(const std::string& file) {
  return error(MPI_ERR_FILE, "%s: %s", file.c_str(), std::strerror(errno));
}

bool write_all(int fd, const void* bytes, size_t size, off_t at) {
  return pwrite(fd, bytes, size, at) == static_cast<ssize_t>(size);
}

}  // namespace

Status BuildFile::of(const std::string& path, BuildFile* out) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat s {};
  if (fd < 0 || fstat(fd, &s) != 0) return file_error(path);
  const auto size = static_cast<size_t>(s.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) return file_error(path);
  *out = {path, size, hash_bytes(bytes, size)};
  munmap(bytes, size);
  return {};
}

std::vector<uint8_t> RecordedRun::to_bytes() const {
  std::vector<uint8_t> out;
  append_text(&out, path);
  append_words(&out, words);
  append_words(&out, environment);
  append_text(&out, folder);
  append(&out, stack_limit);
  append(&out, static_cast<uint32_t>(files.size()));
  for (const BuildFile& file : files) {
    append_text(&out, file.path);
    append(&out, file.size);
    append(&out, file.hash);
  }
  append(&out, static_cast<uint32_t>(inherited.size()));
  for (const InheritedFile& file : inherited) append(&out, file);
  return out;
}

Status RecordedRun::parse(const void* bytes, size_t size, RecordedRun* out) {
  FieldReader in(bytes, size);
  *out = {};
  out->path = in.get_text();
  out->words = get_words(&in);
  out->environment = get_words(&in);
  out->folder = in.get_text();
  out->stack_limit = in.get<uint64_t>();
  const auto count = in.get<uint32_t>();
  for (uint32_t i = 0; i < count && !in.failed(); ++i) {
    BuildFile file;
    file.path = in.get_text();
    file.size = in.get<uint64_t>();
    file.hash = in.get<uint64_t>();
    out->files.push_back(file);
  }
  const auto inherited = in.get<uint32_t>();
  for (uint32_t i = 0; i < inherited && !in.failed(); ++i)
    out->inherited.push_back(in.get<InheritedFile>());
  for (const InheritedFile& file : out->inherited)
    if (file.fd < 0 || file.fd >= rewind::kRecordingFd) in.fail();
  return in.failed() || out->words.empty()
             ? error(MPI_ERR_FILE, "the description of the run is damaged")
             : Status();
}

Status RecordedRun::check_files() const {
  for (const BuildFile& file : files) {
    BuildFile now;
    FGMPI_TRY(BuildFile::of(file.path, &now));
    if (now.size != file.size || now.hash != file.hash)
      return error(MPI_ERR_FILE,
                   "%s is another build than the recorded one; allowed is the same file",
                   file.path.c_str());
  }
  return {};
}

Status RecordedRun::create(const std::string& file, uint32_t ranks, bool keeps_inputs,
                           int* fd) const {
  *fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (*fd < 0) return file_error(file);
  const std::vector<uint8_t> description = to_bytes();
  RecordingHeader header{};
  std::memcpy(header.magic, rewind::kMagic, sizeof header.magic);
  header.version = rewind::kFormatVersion;
  header.ranks = ranks;
  header.keeps_inputs = keeps_inputs;
  header.description_bytes = description.size();
  header.description_hash = hash_bytes(description.data(), description.size());
  header.file_bytes = rewind::kMappedBytes + description.size();
  if (!write_all(*fd, &header, sizeof header, 0) ||
      !write_all(*fd, description.data(), description.size(), rewind::kMappedBytes))
    return file_error(file);
  return {};
}

Status RecordedRun::open(const std::string& file, RecordedRun* out, RecordingHeader* header,
                         int* fd) {
  *fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (*fd < 0) return file_error(file);
  struct stat s {};
  const bool read = pread(*fd, header, sizeof *header, 0) == sizeof *header;
  if (!read || std::memcmp(header->magic, rewind::kMagic, sizeof header->magic) != 0 ||
      fstat(*fd, &s) != 0)
    return error(MPI_ERR_FILE, "%s: is no recording of mpiexec -record", file.c_str());
  if (header->version != rewind::kFormatVersion)
    return error(MPI_ERR_FILE, "%s: is a recording of version %u; allowed is %u", file.c_str(),
                 header->version, rewind::kFormatVersion);
  const uint64_t size = header->description_bytes;
  if (size > static_cast<uint64_t>(s.st_size))
    return error(MPI_ERR_FILE, "%s: the description of the run is damaged", file.c_str());
  std::vector<uint8_t> bytes(size);
  if (pread(*fd, bytes.data(), size, rewind::kMappedBytes) != static_cast<ssize_t>(size) ||
      hash_bytes(bytes.data(), size) != header->description_hash)
    return error(MPI_ERR_FILE, "%s: the description of the run is damaged", file.c_str());
  if (const Status parsed = parse(bytes.data(), size, out); !parsed.ok())
    return error(MPI_ERR_FILE, "%s: %s", file.c_str(), parsed.what().c_str());
  return {};
}

}  // namespace fgmpi::launcher
