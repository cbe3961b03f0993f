// The table of the library's own threads, and the check of all threads in /proc/self/task.

#include "base/process_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "base/hash.h"
#include "base/raw_call.h"

namespace fgmpi {
namespace {

/// Room for the library's threads: the watcher, the thread of io_uring, threads that wait for
/// ranks. A thread for which there is no room counts as the program's, which prevents reports
/// of deadlocks.
constexpr int kMost = 256;
/// A thread's number is found by the thread itself, or by one that asks the kernel for all: the
/// words need no order.
std::atomic<int> g_ids[kMost];

bool replace(int before, int after) {
  for (auto& slot : g_ids) {
    int expected = before;
    if (slot.load(std::memory_order_relaxed) == before &&
        slot.compare_exchange_strong(expected, after))
      return true;
  }
  return false;
}

bool is_recorded(int id) {
  for (auto& slot : g_ids)
    if (slot.load(std::memory_order_relaxed) == id) return true;
  return false;
}

int own_id() { return static_cast<int>(raw_call(SYS_gettid)); }

/// Calls f(id) for each thread until it returns false. Returns false then, and where the kernel
/// does not list the threads.
template <class F>
bool for_each_thread(F&& f) {
  const int kept = errno;
  DIR* folder = opendir("/proc/self/task");
  bool all = folder;
  while (all) {
    errno = 0;
    const dirent* entry = readdir(folder);
    if (!entry) {
      all = errno == 0;
      break;
    }
    if (entry->d_name[0] != '.') all = f(atoi(entry->d_name));
  }
  if (folder) closedir(folder);
  errno = kept;
  return all;
}

/// Reads a file of the kernel about a thread. False: the thread has ended, or there is
/// no such file.
bool read_of_thread(int id, const char* what, char* text, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", id, what);
  const long fd =
      raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  const long n = raw_call(SYS_read, fd, reinterpret_cast<long>(text), static_cast<long>(room - 1));
  raw_call(SYS_close, fd);
  text[n > 0 ? n : 0] = 0;
  return n > 0;
}

/// pthread_join() waits on the word with the thread's number, which the kernel clears when the
/// thread ends. So that futex is not a private one.
bool is_thread(unsigned long id) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%lu", id);
  return raw_call(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(path), F_OK) == 0;
}

/// True when the thread waits for another one. `line` is "NUMBER ARGUMENT..." of a system call,
/// or "running".
bool waits_for_thread(const char* line) {
  unsigned long number, word, operation, value, timeout;
  if (sscanf(line, "%lu %lx %lx %lx %lx", &number, &word, &operation, &value, &timeout) != 5)
    return false;
  const unsigned long command = operation & static_cast<unsigned long>(FUTEX_CMD_MASK);
  if (number != SYS_futex || (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) || timeout)
    return false;
  return operation & FUTEX_PRIVATE_FLAG || is_thread(value & 0xffffffff);
}

bool times_slept(int id, uint64_t* times) {
  char text[4096];
  if (!read_of_thread(id, "status", text, sizeof text)) return false;
  const char* at = strstr(text, "\nvoluntary_ctxt_switches:");
  if (at) *times = strtoull(strchr(at, ':') + 1, nullptr, 10);
  return at;
}

}  // namespace

void record_library_thread(int id) { replace(0, id); }

LibraryThread::LibraryThread() : id_(own_id()) { record_library_thread(id_); }
LibraryThread::~LibraryThread() { replace(id_, 0); }

RecordNewThreads::RecordNewThreads()
    : alone_(for_each_thread([self = own_id()](int id) { return id == self || is_recorded(id); })) {
}

RecordNewThreads::~RecordNewThreads() {
  if (!alone_) return;
  for_each_thread([self = own_id()](int id) {
    if (id != self && !is_recorded(id)) record_library_thread(id);
    return true;
  });
}

bool others_wait_for_threads(bool (*known)(int, void*), void* argument, uint64_t* turns) {
  *turns = 0;
  return for_each_thread([&](int id) {
    if (is_recorded(id) || known(id, argument)) return true;
    char call[256];
    uint64_t times = 0;
    if (!read_of_thread(id, "syscall", call, sizeof call) || !waits_for_thread(call) ||
        !times_slept(id, &times))
      return false;
    *turns += mix(static_cast<uint64_t>(id), times);
    return true;
  });
}

}  // namespace fgmpi
