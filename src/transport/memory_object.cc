// Memory objects behind memfd: made here, opened from peers.

#include "transport/memory_object.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/strings.h"

namespace fgmpi::transport {
namespace {

/// A descriptor of a new object, or -1. A file beyond the limit on files would be a deadly signal.
int make_object_file(size_t bytes) {
  rlimit limit{};
  if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < bytes) return -1;
  int fd = memfd_create("fgmpi-object", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  fd = move_descriptor_up(fd);
  if (fchmod(fd, 0600) || ftruncate(fd, static_cast<off_t>(bytes)) ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

MemoryObject::~MemoryObject() {
  if (base_) munmap(base_, name_.bytes);
  close_name();
}

void MemoryObject::close_name() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Status MemoryObject::make(size_t bytes, bool shared, bool or_private) {
  fd_ = shared ? make_object_file(bytes) : -1;
  if (shared && fd_ < 0 && !or_private)
    return error(MPI_ERR_NO_MEM, "a shared object of %zu bytes cannot be made (ulimit -f, -n): %m",
                 bytes);
  const int flags =
      fd_ >= 0 ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd_, 0);
  if (memory == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "%zu bytes of address space cannot be had: %m", bytes);
  base_ = static_cast<char*>(memory);
  name_.pid = getpid();
  name_.bytes = bytes;
  struct stat info;
  if (fd_ >= 0 && !fstat(fd_, &info)) {
    name_.fd = fd_;
    name_.device = info.st_dev;
    name_.inode = info.st_ino;
  }
  return {};
}

Status MemoryObject::open(const MemoryObjectName& name) {
  const int fd = ::open(format("/proc/%d/fd/%d", name.pid, name.fd).c_str(), O_RDWR | O_CLOEXEC);
  struct stat info;
  const bool right = fd >= 0 && !fstat(fd, &info) && info.st_dev == name.device &&
                     info.st_ino == name.inode && static_cast<uint64_t>(info.st_size) >= name.bytes;
  void* memory = MAP_FAILED;
  if (right)
    memory = mmap(nullptr, name.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (fd >= 0) close(fd);
  if (memory == MAP_FAILED)
    return error(MPI_ERR_OTHER, "the shared memory object of process id %d cannot be mapped: %m",
                 name.pid);
  base_ = static_cast<char*>(memory);
  name_ = name;
  return {};
}

}  // namespace fgmpi::transport
