// Limits of mappings, address space and memory, and how many ranks fit into them.

#include "proclet-sched/coroutine/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "base/page.h"
#include "proclet-sched/coroutine/stacks.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {
namespace {

/// The first integer in a file, or `fallback` (also for the word "max").
int64_t read_number(const char* path, int64_t fallback) {
  FILE* file = fopen(path, "re");
  if (!file) return fallback;
  long long value = 0;
  if (fscanf(file, "%lld", &value) != 1) value = fallback;
  fclose(file);
  return value;
}

/// The number behind `name` in a file of lines "name number", or `fallback`.
int64_t read_entry(const char* path, const char* name, int64_t fallback) {
  FILE* file = fopen(path, "re");
  if (!file) return fallback;
  char line[256];
  size_t length = strlen(name);
  while (fgets(line, sizeof line, file))
    if (strncmp(line, name, length) == 0 && line[length] == ' ') fallback = atoll(line + length);
  fclose(file);
  return fallback;
}

struct Controller {
  const char* root;
  const char* limit;
  const char* usage;
  const char* reclaimable;  ///< a line of memory.stat
};
constexpr Controller kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file"};
constexpr Controller kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// The memory that the control group, and all groups around it, leave.
int64_t left_in_groups(const Controller& c, std::string group) {
  int64_t left = INT64_MAX;
  while (true) {
    std::string folder = c.root + group + "/";
    int64_t limit = read_number((folder + c.limit).c_str(), -1);
    int64_t usage = read_number((folder + c.usage).c_str(), -1);
    if (limit >= 0 && usage >= 0) {
      int64_t files = read_entry((folder + "memory.stat").c_str(), c.reclaimable, 0);
      left = std::min(left, std::max<int64_t>(limit - usage + files, 0));
    }
    size_t slash = group.rfind('/');
    if (group.empty() || slash == group.npos) return left;
    group.resize(slash);
  }
}

int64_t left_in_control_groups() {
  FILE* file = fopen("/proc/self/cgroup", "re");
  if (!file) return INT64_MAX;
  int64_t left = INT64_MAX;
  char line[4096], controllers[256], group[3072];
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "0::/", 4) == 0 && sscanf(line, "0::%3071[^\n]", group) == 1)
      left = std::min(left, left_in_groups(kVersion2, group));
    else if (sscanf(line, "%*d:%255[^:]:%3071[^\n]", controllers, group) == 2 &&
             strstr(controllers, "memory"))
      left = std::min(left, left_in_groups(kVersion1, group));
  }
  fclose(file);
  return left;
}

}  // namespace

int64_t max_map_count() { return read_number("/proc/sys/vm/max_map_count", 65530); }

int64_t mappings_in_use() {
  FILE* file = fopen("/proc/self/maps", "re");
  if (!file) return 0;
  int64_t lines = 0;
  for (int c; (c = getc_unlocked(file)) != EOF;) lines += c == '\n';
  fclose(file);
  return lines;
}

namespace {
int64_t g_promised_mappings = 0;
}
void add_promised_mappings(int64_t more) { g_promised_mappings += more; }
int64_t promised_mappings() { return g_promised_mappings; }

uint64_t address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return uint64_t{1} << 46;
  uint64_t used = static_cast<uint64_t>(read_number("/proc/self/statm", 0)) * machine_page_bytes();
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

int64_t memory_left() {
  int64_t kib = read_entry("/proc/meminfo", "MemAvailable:", -1);
  int64_t left = std::min(kib < 0 ? INT64_MAX : kib * 1024, left_in_control_groups());
  return left == INT64_MAX ? -1 : left;
}

uint32_t ranks_that_fit(uint64_t room, uint64_t each, uint32_t count, size_t stack_size) {
  const uint64_t slot = page_up(stack_size ? stack_size : kLeastStack) + guard_bytes();
  return static_cast<uint32_t>(std::clamp<uint64_t>(room / (slot + each), 1, count));
}

}  // namespace fgmpi::sched
