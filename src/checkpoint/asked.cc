// mpiexec asks for checkpoints: a thread of the process that hosts rank 0 looks at a file of the
// folder.
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <string_view>

#include "base/clock.h"
#include "base/raw_call.h"
#include "checkpoint/file/folder.h"
#include "checkpoint/process_thread.h"
#include "checkpoint/save.h"
#include "checkpoint/stop.h"

namespace fgmpi::checkpoint {
namespace {

/// How often the thread looks, in ns.
constexpr int64_t kLookEvery = 50'000'000;

std::atomic<bool> g_leaves{false}, g_by_time{false};

/// Takes what the file's first bytes say.
void take_wish(const char* path) {
  char text[8] = {};
  const long fd =
      raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  raw_call(SYS_read, fd, reinterpret_cast<long>(text), sizeof text - 1);
  raw_call(SYS_close, fd);
  const std::string_view wish = text;
  if (wish.starts_with(kWantedLeaving)) g_leaves.store(true);
  g_by_time.store(wish.starts_with(kWantedByTime));
}

/// Follows the file until the process ends. Calls only the kernel, since ranks do not know this
/// thread.
void* follow_file(void* path) {
  struct stat before = {}, now = {};
  const auto look = [&](struct stat* found) {
    *found = {};
    raw_call(SYS_newfstatat, AT_FDCWD, reinterpret_cast<long>(path), reinterpret_cast<long>(found),
             0);
  };
  // mpiexec has removed the file before the job began: one that is there is a request.
  for (;;) {
    const timespec pause = to_timespec(kLookEvery);
    raw_call(SYS_nanosleep, reinterpret_cast<long>(&pause), 0);
    look(&now);
    // The file is a new one each time.
    if (now.st_ino == before.st_ino && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec) continue;
    before = now;
    if (now.st_ino == 0) continue;
    take_wish(static_cast<const char*>(path));
    ask_for_stop();
  }
}

}  // namespace

bool is_asked_by_time() { return g_by_time.load() && !g_leaves.load(); }
bool is_asked_to_leave() { return g_leaves.load(); }
void request_to_leave() { g_leaves.store(true); }
bool take_request_to_leave() { return g_leaves.exchange(false); }

void begin_to_listen() {
  static bool begun = false;
  if (begun || !has_folder()) return;
  begun = true;
  static char path[4096];
  std::snprintf(path, sizeof path, "%s/%s", checkpoint_folder().c_str(), kWanted);
  if (!start_process_thread(follow_file, path))
    std::fprintf(stderr, "fgmpi-checkpoint: no thread: only the program can ask for checkpoints\n");
}

}  // namespace fgmpi::checkpoint
