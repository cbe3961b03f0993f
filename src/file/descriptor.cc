// Descriptors of files: opening, locking, closing idle ones and opening them again.

#include "file/descriptor.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/raw_call.h"
#include "proclet-sched/sched.h"

namespace fgmpi::file {
namespace {

/// Ranks that wait for a descriptor, the first one longest. The end of an operation's use of a
/// descriptor wakes one rank. The woken rank gets a descriptor for an operation, waits again
/// because other operations hold all, or wakes the next rank.
struct FileDescriptorWaiter {
  sched::Proclet* proclet;
  FileDescriptorWaiter* next;
};

/// The descriptors of files of this process.
struct FileDescriptors {
  /// Those that may be closed and are not in use, the one used last first.
  Descriptor *newest = nullptr, *oldest = nullptr;
  uint32_t in_use = 0;  ///< those that operations hold now
  uint64_t reopened = 0;
  FileDescriptorWaiter *first = nullptr, **end = &first;  ///< ranks that wait, first to last
};
constinit FileDescriptors g_descriptors;

void wake_one() {
  FileDescriptorWaiter* first = g_descriptors.first;
  if (!first) return;
  g_descriptors.first = first->next;
  if (!g_descriptors.first) g_descriptors.end = &g_descriptors.first;
  sched::ready(first->proclet);
}

/// Waits, when operations under way hold all descriptors, until one of them has ended. False when
/// there are no such operations, or the caller cannot wait. May switch.
bool wait_for_others() {
  if (g_descriptors.in_use == 0 || sched::on_host_stack()) return false;
  FileDescriptorWaiter mine{sched::current(), nullptr};
  *g_descriptors.end = &mine;
  g_descriptors.end = &mine.next;
  sched::WaitSite site;
  site.call = "MPI_File";
  site.deadlocks = false;
  sched::park(&site);
  return true;
}

bool none_left(int code) { return code == EMFILE || code == ENFILE; }

/// A write past RLIMIT_FSIZE is an error of the call (EFBIG), not the end of the process, unless
/// the program wants the signal.
void ignore_size_limit_signal() {
  static const bool done = [] {
    struct sigaction now {};
    if (sigaction(SIGXFSZ, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == SIG_DFL)
      signal(SIGXFSZ, SIG_IGN);
    return true;
  }();
  (void)done;
}

int class_of_errno(int code) {
  switch (code) {
    case ENOENT:
      return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case EBUSY:
    case ETXTBSY:
      return MPI_ERR_FILE_IN_USE;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EINVAL:
      return MPI_ERR_BAD_FILE;
    case ENOMEM:
      return MPI_ERR_NO_MEM;
    case EOPNOTSUPP:
    case ENOSYS:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    default:
      return MPI_ERR_IO;
  }
}

}  // namespace

Status io_error(int code, const std::string& what) {
  const char* hint = "";
  if (code == EMFILE) hint = "; `ulimit -n` allows no more open files in this process";
  if (code == EFBIG) hint = "; see `ulimit -f` and the largest file of the file system";
  return error(class_of_errno(code), "cannot %s: %s%s", what.c_str(), std::strerror(code), hint);
}

namespace {
constexpr std::string_view kPrefixes[] = {
    "ufs:",   "nfs:",  "testfs:", "xfs:",   "pfs:",    "sfs:",  "hfs:",
    "piofs:", "pvfs:", "pvfs2:",  "pvfs3:", "panfs:",  "gpfs:", "lustre:",
    "daos:",  "gfs:",  "ntfs:",   "ime:",   "quobyte:"};
}  // namespace

std::string plain_path(const char* name) {
  const std::string_view text(name);
  for (std::string_view prefix : kPrefixes)
    if (text.starts_with(prefix)) return std::string(text.substr(prefix.size()));
  return std::string(text);
}

bool is_file_system(const char* name) {
  return std::find(std::begin(kPrefixes), std::end(kPrefixes), name) != std::end(kPrefixes);
}

uint64_t descriptors_reopened() { return g_descriptors.reopened; }

Descriptor::~Descriptor() {
  unlink();
  if (fd_ >= 0) ::close(fd_);
}

void Descriptor::link() {
  if (absolute_.empty() || listed_ || fd_ < 0) return;
  older_ = g_descriptors.newest;
  newer_ = nullptr;
  (g_descriptors.newest ? g_descriptors.newest->newer_ : g_descriptors.oldest) = this;
  g_descriptors.newest = this;
  listed_ = true;
}

void Descriptor::unlink() {
  if (!listed_) return;
  (newer_ ? newer_->older_ : g_descriptors.newest) = older_;
  (older_ ? older_->newer_ : g_descriptors.oldest) = newer_;
  listed_ = false;
}

bool Descriptor::close_one() {
  Descriptor* d = g_descriptors.oldest;
  // A file whose path names another file by now must stay open.
  struct stat now;
  while (d && (stat(d->absolute_.c_str(), &now) != 0 || now.st_dev != d->device_ ||
               now.st_ino != d->inode_)) {
    Descriptor* next = d->newer_;
    d->unlink();
    d->absolute_.clear();
    d = next;
  }
  if (!d) return false;
  d->unlink();
  ::close(d->fd_);
  d->fd_ = -1;
  return true;
}

Status Descriptor::open(const std::string& path, int flags, mode_t mode) {
  ignore_size_limit_signal();
  path_ = path;
  flags_ = flags & ~(O_CREAT | O_EXCL | O_TRUNC);
  int code = 0;
  do {
    fd_ = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    code = fd_ < 0 ? errno : 0;
  } while (code == EINTR || (none_left(code) && (close_one() || wait_for_others())));
  wake_one();
  if (code) return io_error(code, "open " + path);
  struct stat about;
  if (fstat(fd_, &about) == 0) {
    if (S_ISDIR(about.st_mode)) {
      ::close(fd_);
      fd_ = -1;
      return io_error(EISDIR, "open " + path);
    }
    device_ = about.st_dev;
    inode_ = about.st_ino;
    seen_ = true;
    seekable_ = S_ISREG(about.st_mode) || lseek(fd_, 0, SEEK_CUR) >= 0;
  }
  return {};
}

void Descriptor::open_later(const std::string& path, int flags) {
  path_ = absolute_ = path;
  flags_ = flags;
}

void Descriptor::advise(int advice) {
  advice_ = advice;
  if (fd_ >= 0 && seekable_) posix_fadvise(fd_, 0, 0, advice);
}

// ---- Who else has the file ----------------------------------------------------------------------
//
//   | the file's bytes ...            | gate | handle 0 | handle 1 | ... | handle 2^32 - 1 |
//   0                                 2^62     locked by those that have the file for writing
//
// A rank that sieves holds a read lock on the gate and checks for locks of other handles. A rank
// that opens locks its handle's byte, then locks the gate for writing and releases it. So an opener
// whose lock was not seen waits until the sieving is over. All of them are locks of open file
// descriptions: they end with the descriptor and leave nothing behind.

namespace {

constexpr off_t kGate = off_t{1} << 62, kHandles = kGate + 1;

int lock_bytes(int fd, int command, short type, off_t from, off_t bytes, struct flock* range) {
  *range = {};
  range->l_type = type;
  range->l_whence = SEEK_SET;
  range->l_start = from;
  range->l_len = bytes;
  return fcntl(fd, command, range);
}

}  // namespace

void Descriptor::announce(uint32_t handle) {
  announced_ = handle;
  announce_here();
}

void Descriptor::announce_here() const {
  struct flock range;
  if (announced_ < 0 || fd_ < 0 || !seekable_) return;
  // Where others close the file while this rank sleeps here, it is announced when it is opened
  // again.
  const int fd = fd_;
  const short type = (flags_ & O_ACCMODE) == O_WRONLY ? F_WRLCK : F_RDLCK;
  if (lock_bytes(fd, F_OFD_SETLK, type, kHandles + announced_, 1, &range) != 0) return;
  while (fd_ == fd && lock_bytes(fd, F_OFD_SETLK, F_WRLCK, kGate, 1, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return;
    constexpr int64_t kNs = 50'000;
    const timespec pause = to_timespec(kNs);
    if (sched::on_host_stack())
      raw_call(SYS_nanosleep, reinterpret_cast<long>(&pause), 0);
    else
      sched::sleep_for(kNs);
  }
  if (fd_ == fd) lock_bytes(fd, F_OFD_SETLK, F_UNLCK, kGate, 1, &range);
}

bool Descriptor::begin_alone(int fd) const {
  struct flock range;
  if (announced_ < 0 || lock_bytes(fd, F_OFD_SETLK, F_RDLCK, kGate, 1, &range) != 0) return false;
  const off_t mine = kHandles + announced_, end = kHandles + (off_t{1} << 32);
  const bool below = mine > kHandles && (lock_bytes(fd, F_OFD_GETLK, F_WRLCK, kHandles,
                                                    mine - kHandles, &range) != 0 ||
                                         range.l_type != F_UNLCK);
  if (!below && lock_bytes(fd, F_OFD_GETLK, F_WRLCK, mine + 1, end - mine - 1, &range) == 0 &&
      range.l_type == F_UNLCK)
    return true;
  end_alone(fd);
  return false;
}

void Descriptor::end_alone(int fd) const {
  struct flock range;
  lock_bytes(fd, F_OFD_SETLK, F_UNLCK, kGate, 1, &range);
}

void Descriptor::may_be_closed() {
  if (!seekable_) return;
  char real[PATH_MAX];
  if (realpath(path_.c_str(), real)) absolute_ = real;
  if (users_ == 0) link();
}

Status Descriptor::open_anew() {
  int code = 0;
  do {
    // While this rank waited another one may have opened it.
    if (fd_ >= 0) return {};
    fd_ = ::open(absolute_.c_str(), flags_ | O_CLOEXEC);
    code = fd_ < 0 ? errno : 0;
  } while (code == EINTR || (none_left(code) && (close_one() || wait_for_others())));
  if (code) return io_error(code, "open " + absolute_ + " again");
  struct stat about;
  if (!seen_ && fstat(fd_, &about) == 0) {
    device_ = about.st_dev;
    inode_ = about.st_ino;
    seen_ = true;
  }
  if (fstat(fd_, &about) != 0 || about.st_dev != device_ || about.st_ino != inode_) {
    ::close(fd_);
    fd_ = -1;
    return error(MPI_ERR_FILE_IN_USE,
                 "cannot open %s again, whose descriptor was closed for others: it was replaced by "
                 "another file since; a larger `ulimit -n` keeps descriptors open",
                 absolute_.c_str());
  }
  ++g_descriptors.reopened;
  if (advice_ != POSIX_FADV_NORMAL) advise(advice_);
  announce_here();
  return {};
}

Status Descriptor::acquire(int* fd) {
  if (fd_ < 0)
    if (Status opened = open_anew(); !opened.ok()) {
      wake_one();
      return opened;
    }
  unlink();
  ++users_;
  ++g_descriptors.in_use;
  *fd = fd_;
  return {};
}

void Descriptor::release() {
  --g_descriptors.in_use;
  if (--users_ > 0) return;
  link();
  wake_one();
}

Status Descriptor::close() {
  unlink();
  if (fd_ < 0) return {};
  const int result = ::close(fd_);
  fd_ = -1;
  wake_one();
  // Linux has closed the descriptor also when a signal came.
  if (result != 0 && errno != EINTR) return io_error(errno, "close " + path_);
  return {};
}

}  // namespace fgmpi::file
