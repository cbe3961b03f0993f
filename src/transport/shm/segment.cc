// Segments: how they are created, named, opened and mapped.

#include "transport/shm/segment.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <new>
#include <optional>

#include "base/descriptor.h"
#include "base/host_name.h"
#include "base/strings.h"
#include "transport/address_fields.h"
#include "transport/host_id.h"
#include "transport/random.h"
#include "transport/shm/placement.h"

namespace fgmpi::transport::shm {
namespace {

/// True where /proc shows this process under its own id. It does not where /proc belongs to another
/// pid namespace.
bool reachable_through_proc(int fd) {
  struct stat own, found;
  const std::string path = format("/proc/%d/fd/%d", getpid(), fd);
  if (fstat(fd, &own) || stat(path.c_str(), &found) || own.st_ino != found.st_ino ||
      own.st_dev != found.st_dev)
    return false;
  int again = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (again < 0) return false;
  ::close(again);
  return true;
}

/// Words such as "process id 4711 on host vm"; leaves errno unchanged.
std::string this_process() {
  return format("process id %d on host %s", getpid(), host_name().c_str());
}

Status no_room(size_t bytes) {
  const std::string who = this_process();
  return error(MPI_ERR_OTHER, "%s cannot get %zu bytes of shared memory in /dev/shm: %m",
               who.c_str(), bytes);
}

/// Raises the limit on file sizes, so that making a file of this size raises no deadly signal.
Status allow_size(size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= bytes) return {};
  const rlim_t allowed = limit.rlim_max;
  limit.rlim_cur = allowed;
  if (allowed >= bytes && !setrlimit(RLIMIT_FSIZE, &limit)) return {};
  return error(MPI_ERR_OTHER,
               "%s may make files of %llu bytes (ulimit -f), its shared memory needs %zu, most of "
               "it never touched",
               this_process().c_str(), static_cast<unsigned long long>(allowed), bytes);
}

int make_memfd(size_t bytes) {
  int fd = memfd_create("fgmpi", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  fd = move_descriptor_up(fd);
  if (fchmod(fd, 0600) || ftruncate(fd, static_cast<off_t>(bytes)) ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
      !reachable_through_proc(fd)) {
    ::close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

std::string SegmentName::to_string() const {
  std::string where = has_file ? std::string("shm") : std::to_string(fd);
  return format("shm3:%s:%d:%s:%016" PRIx64 "%016" PRIx64, host.c_str(), pid, where.c_str(),
                nonce[0], nonce[1]);
}

bool SegmentName::parse(std::string_view address) {
  constexpr size_t kMostHost = 79;
  if (std::count(address.begin(), address.end(), ':') != 4 || split_field(&address) != "shm3")
    return false;
  const std::string_view host_text = split_field(&address), pid_text = split_field(&address),
                         where = split_field(&address), secret = split_field(&address);
  auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  auto descriptor = where == "shm" ? std::optional<int64_t>(-1) : parse_int(where);
  const auto number = parse_int(pid_text);
  if (host_text.empty() || host_text.size() > kMostHost ||
      !std::all_of(host_text.begin(), host_text.end(), is_hex) || !number || *number < 1 ||
      *number > INT32_MAX || !descriptor || *descriptor > INT32_MAX ||
      (*descriptor < 0 && where != "shm") || secret.size() != 32 ||
      !std::all_of(secret.begin(), secret.end(), is_hex))
    return false;
  host = host_text;
  pid = static_cast<pid_t>(*number);
  has_file = where == "shm";
  fd = static_cast<int>(*descriptor);
  nonce[0] = *parse_hex(secret.substr(0, 16));
  nonce[1] = *parse_hex(secret.substr(16));
  return true;
}

std::string SegmentName::file() const {
  return format("/fgmpi-%016" PRIx64 "%016" PRIx64, nonce[0], nonce[1]);
}

Status OwnSegment::create(Geometry geometry, bool memfd) {
  geometry_ = geometry;
  name_.pid = getpid();
  random_bytes(name_.nonce, sizeof name_.nonce);
  size_t bytes = segment_bytes(geometry);
  FGMPI_TRY(allow_size(bytes));
  fd_ = memfd ? make_memfd(bytes) : -1;
  name_.host = fd_ >= 0 ? host_id() : host_id_of_files();
  if (fd_ >= 0) {
    name_.fd = fd_;
  } else {
    name_.has_file = true;
    // The guard comes first: there is no moment at which a kill would leave the file behind.
    if (guard_.watch(name_.file()))
      fd_ = shm_open(name_.file().c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd_ < 0) {
      const std::string who = this_process();
      const int why = errno;
      guard_.release();
      errno = why;
      return error(MPI_ERR_OTHER, "%s cannot create shared memory (/dev/shm%s): %m", who.c_str(),
                   name_.file().c_str());
    }
    fd_ = move_descriptor_up(fd_);
    if (ftruncate(fd_, static_cast<off_t>(bytes))) {
      Status status =
          error(MPI_ERR_OTHER, "cannot make a file of %zu bytes in /dev/shm: %m", bytes);
      close();
      return status;
    }
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (memory == MAP_FAILED) {
    Status status = error(MPI_ERR_OTHER, "cannot map %zu bytes of shared memory: %m", bytes);
    close();
    return status;
  }
  prefer_node(memory, bytes, own_node());
  // The control part is allocated before it is touched: a full /dev/shm is an error, not a SIGBUS.
  if (name_.has_file &&
      (errno = posix_fallocate(fd_, 0, static_cast<off_t>(control_bytes()))) != 0) {
    Status status = no_room(control_bytes());
    munmap(memory, bytes);
    close();
    return status;
  }
  madvise(memory, bytes, MADV_DONTFORK);
  header_ = new (memory) SegmentHeader{};
  header_->nonce[0] = name_.nonce[0];
  header_->nonce[1] = name_.nonce[1];
  header_->geometry = geometry;
  header_->slots = kSlots;
  header_->pipe = -1;
  header_->magic = kMagic;
  return {};
}

void OwnSegment::unlink() {
  if (name_.has_file) shm_unlink(name_.file().c_str());
  name_.has_file = false;
  guard_.release();
}

void OwnSegment::close() {
  unlink();
  if (header_) munmap(header_, segment_bytes(geometry_));
  if (fd_ >= 0) ::close(fd_);
  header_ = nullptr;
  fd_ = -1;
}

namespace {

/// Reads what another process may be writing once: the compiler must not read it again later.
uint32_t read_once(const uint32_t& field) { return __atomic_load_n(&field, __ATOMIC_RELAXED); }

bool is_possible(Geometry g) {
  auto power = [](uint32_t x, uint32_t min) {
    return x >= min && x <= (1u << 30) && !(x & (x - 1));
  };
  constexpr uint32_t kLeastCells = 64, kLeastBulk = 4096;  // those of the settings
  return power(g.cells, kLeastCells) && power(g.bulk, kLeastBulk);
}

}  // namespace

Status open_peer(const SegmentName& name, int* out_fd, SegmentHeader** out_header,
                 Geometry* out_geometry) {
  int fd = name.has_file
               ? shm_open(name.file().c_str(), O_RDWR | O_CLOEXEC, 0)
               : ::open(format("/proc/%d/fd/%d", name.pid, name.fd).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return error(MPI_ERR_OTHER, "cannot open the shared memory of process id %d: %m", name.pid);
  struct stat info;
  void* memory = MAP_FAILED;
  if (!fstat(fd, &info) && info.st_size >= static_cast<off_t>(control_bytes()))
    memory = mmap(nullptr, control_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    ::close(fd);
    return error(MPI_ERR_OTHER, "cannot map the shared memory of process id %d", name.pid);
  }
  auto* header = static_cast<SegmentHeader*>(memory);
  const Geometry g{read_once(header->geometry.cells), read_once(header->geometry.bulk)};
  if (header->magic != kMagic || header->nonce[0] != name.nonce[0] ||
      header->nonce[1] != name.nonce[1] || header->slots != kSlots || !is_possible(g) ||
      static_cast<size_t>(info.st_size) < segment_bytes(g)) {
    munmap(memory, control_bytes());
    ::close(fd);
    return error(MPI_ERR_OTHER, "the shared memory of process id %d is not the published one",
                 name.pid);
  }
  madvise(memory, control_bytes(), MADV_DONTFORK);
  *out_fd = fd;
  *out_header = header;
  *out_geometry = g;
  return {};
}

Status map_ring(int fd, Geometry geometry, uint32_t slot, const SegmentName& name, void** ring) {
  auto offset = static_cast<off_t>(ring_offset(geometry, slot));
  if (name.has_file &&
      (errno = posix_fallocate(fd, offset, static_cast<off_t>(ring_bytes(geometry)))) != 0)
    return no_room(ring_bytes(geometry));
  void* memory =
      mmap(nullptr, ring_bytes(geometry), PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  if (memory == MAP_FAILED)
    return error(MPI_ERR_OTHER, "cannot map %zu bytes of shared memory of process id %d: %m",
                 ring_bytes(geometry), name.pid);
  madvise(memory, ring_bytes(geometry), MADV_DONTFORK);
  *ring = memory;
  return {};
}

void unmap_control(SegmentHeader* header) { munmap(header, control_bytes()); }
void unmap_ring(void* ring, Geometry geometry) { munmap(ring, ring_bytes(geometry)); }

}  // namespace fgmpi::transport::shm
