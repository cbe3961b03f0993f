// Descriptors of ranks that may be saved.
#include "privatize/libc/rank_descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/error_line.h"
#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/waits.h"
#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize {

bool detail::g_records_descriptors = false;

namespace {

/// Below it are numbers of the process's own, and of programs that name them.
constexpr int kFirstOwn = 256;
constexpr int kMostShare = 1024;

struct DescriptorRecord {
  uint32_t* owners = nullptr;  ///< by number: 1 + index of the rank; 0: none
  int limit = 0;               ///< numbers are below it
  int share = 0;               ///< numbers of each rank
  /// No rank of this process has used later ones of its numbers. Any thread raises it.
  std::atomic<int> most_used{0};
  uint64_t first = 0;  ///< world rank of the process's first rank
  uint64_t ranks = 0;  ///< of the job
};
DescriptorRecord g_record;

/// A file that a rank has open, followed by its path.
struct SavedFile {
  int32_t number;
  int32_t flags;
  uint32_t next;  ///< bytes from this one to the next; 0: it is the last
  uint32_t closes_on_exec;
  int64_t offset, bytes;
  char path[];
};

/// Numbers from kFirstOwn on that a rank has and that are not its own.
std::vector<int>& strange_numbers() {
  static auto* numbers = new std::vector<int>;
  return *numbers;
}

uint64_t world_rank_of(uint32_t index) {
  return slot_places().file < 0 ? g_record.first + index : sched::rank_proclet(index)->slot;
}

/// The number with this place (from 0 on) among the rank's own.
int own_number(uint64_t world_rank, int place) {
  return kFirstOwn + place * static_cast<int>(g_record.ranks) + static_cast<int>(world_rank);
}
/// How many numbers of its own a rank of the job has.
int share_of(uint64_t world_rank) { return world_rank < g_record.ranks ? g_record.share : 0; }

bool is_own_number(uint64_t world_rank, int fd) {
  if (fd < kFirstOwn || share_of(world_rank) == 0) return false;
  const auto from_first = static_cast<uint64_t>(fd - kFirstOwn);
  return from_first % g_record.ranks == world_rank &&
         from_first / g_record.ranks < static_cast<uint64_t>(g_record.share);
}

/// The rank uses a number of its own.
void note_own_number(int fd) {
  const int place = (fd - kFirstOwn) / static_cast<int>(g_record.ranks);
  int most = g_record.most_used.load();
  while (most <= place && !g_record.most_used.compare_exchange_weak(most, place + 1)) continue;
}

/// Calls see(number) for each own number of a rank of the job that is a descriptor of somebody.
template <class See>
void visit_own(uint64_t world_rank, See&& see) {
  const int places = std::min(share_of(world_rank), g_record.most_used.load());
  for (int place = 0; place < places; ++place)
    if (const int fd = own_number(world_rank, place); g_record.owners[fd]) see(fd);
}

/// Makes a descriptor of the same file whose number is the rank's own. Returns it, or -1.
int duplicate_as_own(uint64_t world_rank, int fd) {
  const int command = raw_call(SYS_fcntl, fd, F_GETFD) & FD_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
  // Some that are taken for open may have been closed without a call that the record knows.
  for (const bool looks_again : {false, true})
    for (int place = 0; place < share_of(world_rank); ++place) {
      const int number = own_number(world_rank, place);
      if ((g_record.owners[number] != 0) != looks_again) continue;
      const auto made = static_cast<int>(raw_call(SYS_fcntl, fd, command, number));
      if (made == number) return made;
      if (made < 0) return -1;
      raw_call(SYS_close, made);
    }
  return -1;
}

std::string path_of_descriptor(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

/// Why a descriptor cannot be saved; nullptr where it can.
const char* reason_against(int fd, const struct stat& file, const std::string& path) {
  if (S_ISFIFO(file.st_mode)) return "a pipe";
  if (S_ISSOCK(file.st_mode)) return "a socket";
  if (!S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode) && !S_ISCHR(file.st_mode))
    return "a descriptor of the kernel's";
  if (!path.starts_with('/')) return "a file without a name";
  if (file.st_nlink == 0) return "a file that was removed";
  if (isatty(fd)) return "a terminal";
  return nullptr;
}

struct FileList {
  std::string bytes;  ///< one SavedFile behind the other
  size_t last = 0;    ///< where the last one begins
};

/// Adds a descriptor of the rank. Returns nullptr, or why it cannot be saved.
const char* add_file(uint32_t index, int fd, FileList* files) {
  struct stat file {};
  if (fstat(fd, &file) != 0) {  // it was closed without a call of close()
    g_record.owners[fd] = 0;
    return nullptr;
  }
  const std::string path = path_of_descriptor(fd);
  if (const char* against = reason_against(fd, file, path)) return against;
  if (!is_own_number(world_rank_of(index), fd)) return "a number that other ranks may have";
  const SavedFile entry{fd,
                        static_cast<int32_t>(raw_call(SYS_fcntl, fd, F_GETFL)),
                        0,
                        static_cast<uint32_t>(raw_call(SYS_fcntl, fd, F_GETFD) & FD_CLOEXEC),
                        lseek(fd, 0, SEEK_CUR),
                        file.st_size};
  std::string& bytes = files->bytes;
  if (!bytes.empty())
    reinterpret_cast<SavedFile*>(bytes.data() + files->last)->next =
        static_cast<uint32_t>(bytes.size() - files->last);
  files->last = bytes.size();
  bytes.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  bytes.append(path.c_str(), path.size() + 1);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return nullptr;
}

[[noreturn]] void end_with(const char* path, const char* what) {
  write_error_line("-restart: " + std::string(path) + ": " + what);
  end_process(1);
}

void reopen(const SavedFile& file) {
  const int made =
      static_cast<int>(raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(file.path),
                                file.flags & ~(O_CREAT | O_EXCL | O_TRUNC)));
  if (made < 0) end_with(file.path, strerror(-made));
  struct stat now {};
  fstat(made, &now);
  if (S_ISREG(now.st_mode) && now.st_size < file.bytes)
    end_with(file.path, "is shorter than when the ranks were saved");
  if (S_ISREG(now.st_mode) && now.st_size > file.bytes && (file.flags & O_ACCMODE) != O_RDONLY) {
    if (ftruncate(made, file.bytes) != 0) end_with(file.path, strerror(errno));
    write_error_line("-restart: " + std::string(file.path) + " is cut back from " +
                     std::to_string(now.st_size) + " to " + std::to_string(file.bytes) + " bytes");
  }
  if (S_ISREG(now.st_mode)) lseek(made, file.offset, SEEK_SET);
  const long placed = raw_call(SYS_dup3, made, file.number, file.closes_on_exec ? O_CLOEXEC : 0);
  if (placed < 0) end_with(file.path, strerror(static_cast<int>(-placed)));
  raw_call(SYS_close, made);
  forget_kind_of_descriptor(file.number);
}

}  // namespace

void record_descriptors(uint32_t ranks) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const auto presumed = presumed_ranks(ranks);
  g_record.limit = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
  g_record.share = static_cast<int>(std::min<uint64_t>(
      static_cast<uint64_t>(g_record.limit - kFirstOwn) / presumed.total, kMostShare));
  g_record.first = presumed.first;
  g_record.ranks = presumed.total;
  void* memory = mmap(nullptr, static_cast<size_t>(g_record.limit) * sizeof(uint32_t),
                      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  g_record.owners = static_cast<uint32_t*>(memory);
  detail::g_records_descriptors = true;
}

int detail::give_to_rank(int fd, const void* caller) {
  if (fd < 0 || fd >= g_record.limit || !on_proclet() || rank_for(caller) < 0) return fd;
  const uint32_t index = sched::running()->index;
  if (g_record.owners[fd] == index + 1) return fd;
  const int own = fd > STDERR_FILENO ? duplicate_as_own(world_rank_of(index), fd) : -1;
  if (own >= 0) {
    raw_call(SYS_close, fd);
    fd = own;
  }
  if (fd > STDERR_FILENO) forget_kind_of_descriptor(fd);
  note_owner(fd, caller);
  return fd;
}

void detail::note_owner(int fd, const void* caller) {
  if (fd < 0 || fd >= g_record.limit || !on_proclet() || rank_for(caller) < 0) return;
  const uint32_t index = sched::running()->index;
  g_record.owners[fd] = index + 1;
  if (is_own_number(world_rank_of(index), fd))
    note_own_number(fd);
  else if (fd >= kFirstOwn)
    strange_numbers().push_back(fd);
}

void detail::forget_owner(int fd) {
  if (fd >= 0 && fd < g_record.limit) g_record.owners[fd] = 0;
}

const char* describe_descriptors(uint32_t index, void** list) {
  static std::string reason;  // must outlive the call
  free(*list);
  *list = nullptr;
  if (!detail::g_records_descriptors) return nullptr;
  FileList files;
  const char* against = nullptr;
  int of = -1;
  const auto see = [&](int fd) {
    if (against || g_record.owners[fd] != index + 1) return;
    against = add_file(index, fd, &files);
    of = fd;
  };
  for (int fd = 0; fd < kFirstOwn; ++fd) see(fd);
  visit_own(world_rank_of(index), see);
  for (const int fd : strange_numbers()) see(fd);
  if (against) {
    reason = "its descriptor " + std::to_string(of) + " is " + against;
    return reason.c_str();
  }
  const std::string& bytes = files.bytes;
  if (bytes.empty()) return nullptr;
  *list = allocate_in_slot_of(list, bytes.size());
  if (!*list) return "it has no memory left for the list of its files";
  memcpy(*list, bytes.data(), bytes.size());
  return nullptr;
}

void reopen_descriptors(uint32_t index, const void* list) {
  for (const auto* file = static_cast<const SavedFile*>(list); file;) {
    reopen(*file);
    if (g_record.owners) g_record.owners[file->number] = index + 1;
    note_own_number(file->number);
    const uint32_t next = file->next;
    file = next ? reinterpret_cast<const SavedFile*>(reinterpret_cast<const char*>(file) + next)
                : nullptr;
  }
}

namespace {

/// In the slot of a rank that moves.
struct MovedDescriptors {
  uint64_t count;
  struct {
    int32_t number;
    int32_t closes_on_exec;
  } all[];
};

/// Opens what a descriptor of another process refers to with the same number.
const char* fetch(int of_process, int number, bool closes_on_exec, uint32_t index) {
  const auto got = static_cast<int>(raw_call(SYS_pidfd_getfd, of_process, number, 0));
  if (got < 0)
    return got == -EPERM ? "the system does not let processes take descriptors (pidfd_getfd)"
                         : "a descriptor of it cannot be taken over";
  const long made = raw_call(SYS_dup3, got, number, closes_on_exec ? O_CLOEXEC : 0);
  raw_call(SYS_close, got);
  if (made < 0) return "a descriptor of it has a number that this process does not allow";
  forget_kind_of_descriptor(number);
  g_record.owners[number] = index + 1;
  note_own_number(number);
  return nullptr;
}

}  // namespace

const char* list_descriptors(uint32_t index, void** numbers) {
  *numbers = nullptr;
  if (!detail::g_records_descriptors) return nullptr;
  for (int fd = 0; fd < kFirstOwn; ++fd)
    if (g_record.owners[fd] == index + 1) return "it has named the number of a descriptor (dup2)";
  for (const int fd : strange_numbers())
    if (g_record.owners[fd] == index + 1) return "it has more descriptors than its share";
  size_t count = 0;
  visit_own(world_rank_of(index), [&](int) { ++count; });
  if (count == 0) return nullptr;
  auto* list = static_cast<MovedDescriptors*>(
      allocate_in_slot_of(slot_of_rank(index) + slot_places().heap,
                          sizeof(MovedDescriptors) + count * sizeof *MovedDescriptors::all));
  if (!list) return "it has no memory left for the list of its descriptors";
  list->count = 0;
  visit_own(world_rank_of(index), [&](int fd) {
    const long flags = raw_call(SYS_fcntl, fd, F_GETFD);
    list->all[list->count++] = {fd, static_cast<int32_t>(flags & FD_CLOEXEC)};
  });
  *numbers = list;
  return nullptr;
}

const char* fetch_descriptors(uint32_t index, const void* numbers, int process) {
  if (!detail::g_records_descriptors || process == static_cast<int>(raw_call(SYS_getpid)))
    return nullptr;
  const auto* list = static_cast<const MovedDescriptors*>(numbers);
  close_descriptors_of(world_rank_of(index));
  if (!list) return nullptr;
  const auto of_process = static_cast<int>(raw_call(SYS_pidfd_open, process, 0));
  if (of_process < 0) return "the process that it has left has ended";
  const char* reason = nullptr;
  for (uint64_t i = 0; i < list->count && !reason; ++i)
    reason = fetch(of_process, list->all[i].number, list->all[i].closes_on_exec, index);
  raw_call(SYS_close, of_process);
  if (reason) close_descriptors_of(world_rank_of(index));
  return reason;
}

void close_descriptors_of(uint64_t world_rank) {
  if (!detail::g_records_descriptors) return;
  visit_own(world_rank, [](int fd) {
    raw_call(SYS_close, fd);
    forget_kind_of_descriptor(fd);
    g_record.owners[fd] = 0;
  });
}

}  // namespace fgmpi::privatize
