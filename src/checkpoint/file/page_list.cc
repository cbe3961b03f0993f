// Lists of pages.
#include "checkpoint/file/page_list.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "base/raw_call.h"
#include "checkpoint/file/format.h"

namespace fgmpi::checkpoint {
namespace {

constexpr char kMagic[8] = {'f', 'g', 'm', 'p', 'i', 'p', 'g', 's'};

}  // namespace

std::string page_list_of(const std::string& file) {
  return file.substr(0, file.rfind('.')) + ".pages";
}

uint64_t hash_of_page(const void* page) { return mix(hash_bytes(page, kBlockPageBytes)); }

void PageListWriter::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Status PageListWriter::fail(long reason) const {
  return error(MPI_ERR_IO, "%s cannot be written: %s", path_.c_str(),
               std::strerror(static_cast<int>(reason)));
}

Status PageListWriter::open(const std::string& path) {
  close();
  path_ = path;
  buffered_ = 0;
  header_ = {};
  std::memcpy(header_.magic, kMagic, sizeof kMagic);
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) return fail(errno);
  ::lseek(fd_, sizeof header_, SEEK_SET);
  return {};
}

Status PageListWriter::write_out() {
  const char* at = reinterpret_cast<const char*>(buffer_);
  size_t left = buffered_ * sizeof *buffer_;
  header_.checksum = hash_bytes(at, left, header_.checksum);
  while (left > 0) {
    const long done = raw_call(SYS_write, fd_, reinterpret_cast<long>(at), static_cast<long>(left));
    if (done == -EINTR) continue;
    if (done <= 0) return fail(-done);
    at += done;
    left -= static_cast<size_t>(done);
  }
  buffered_ = 0;
  return {};
}

Status PageListWriter::add(const PageRecord& record) {
  buffer_[buffered_++] = record;
  ++header_.count;
  return buffered_ == kBuffered ? write_out() : Status();
}

Status PageListWriter::finish() {
  if (buffered_) FGMPI_TRY(write_out());
  header_.checksum = mix(header_.checksum, header_.count);
  const long done =
      raw_call(SYS_pwrite64, fd_, reinterpret_cast<long>(&header_), sizeof header_, 0);
  if (done != sizeof header_) return fail(done < 0 ? -done : ENOSPC);
  const long synced = raw_call(SYS_fsync, fd_);
  raw_call(SYS_close, fd_);
  fd_ = -1;
  return synced == 0 ? Status() : fail(-synced);
}

void PageList::close() {
  if (mapped_) munmap(mapped_, bytes_);
  mapped_ = nullptr;
  records_ = nullptr;
}

Status PageList::open(const std::string& path) {
  close();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat file {};
  if (fd < 0 || fstat(fd, &file) != 0)
    return error(MPI_ERR_IO, "%s cannot be opened: %s", path.c_str(), std::strerror(errno));
  bytes_ = static_cast<size_t>(file.st_size);
  mapped_ = bytes_ < sizeof(PageListHeader) ? nullptr
                                            : mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (mapped_ == MAP_FAILED) mapped_ = nullptr;
  const auto* header = static_cast<const PageListHeader*>(mapped_);
  const auto* records = reinterpret_cast<const PageRecord*>(header + 1);
  if (!header || std::memcmp(header->magic, kMagic, sizeof kMagic) != 0 ||
      header->count != (bytes_ - sizeof *header) / sizeof *records)
    return error(MPI_ERR_IO, "%s is no list of pages, or was cut", path.c_str());
  count_ = header->count;
  at_ = 0;
  // As the writer has computed it, buffer by buffer.
  uint64_t sum = 0;
  constexpr size_t kAtOnce = 1024;
  for (size_t i = 0; i < count_; i += kAtOnce)
    sum = hash_bytes(records + i, std::min(kAtOnce, count_ - i) * sizeof *records, sum);
  if (mix(sum, count_) != header->checksum)
    return error(MPI_ERR_IO, "%s is damaged: its checksum is wrong", path.c_str());
  records_ = records;
  return {};
}

const PageRecord* PageList::find(uint64_t address) {
  if (at_ > 0 && records_[at_ - 1].address >= address) at_ = 0;
  const auto before = [](const PageRecord& record, uint64_t wanted) {
    return record.address < wanted;
  };
  // The next one, mostly.
  if (at_ < count_ && records_[at_].address < address) ++at_;
  if (at_ < count_ && records_[at_].address < address)
    at_ = static_cast<size_t>(std::lower_bound(records_ + at_, records_ + count_, address, before) -
                              records_);
  return at_ < count_ && records_[at_].address == address ? &records_[at_] : nullptr;
}

}  // namespace fgmpi::checkpoint
