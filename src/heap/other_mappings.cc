// The list of mappings of ranks that are of files, shared, or elsewhere.
#include "heap/other_mappings.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/page.h"
#include "base/plain_mutex.h"

namespace fgmpi::heap {
namespace {

struct OtherMapping {
  uintptr_t end;
  uint32_t index;
};

PlainMutex g_other_lock;
std::atomic<bool> g_any_other{false};

/// By the start of each. Never destroyed: ranks may map until the process ends.
std::map<uintptr_t, OtherMapping>& other_mappings() {
  static auto* all = new std::map<uintptr_t, OtherMapping>;
  return *all;
}

void cut(uintptr_t low, uintptr_t high) {
  auto& all = other_mappings();
  auto at = all.lower_bound(low);
  if (at != all.begin() && std::prev(at)->second.end > low) --at;
  while (at != all.end() && at->first < high) {
    const auto [first, mapping] = *at;
    at = all.erase(at);
    if (first < low) all[first] = {low, mapping.index};
    if (mapping.end > high) all[high] = mapping;
  }
}

}  // namespace

void add_other_mapping(uint32_t index, const void* at, size_t bytes) {
  const auto low = reinterpret_cast<uintptr_t>(at);
  const uintptr_t high = low + page_up(bytes, machine_page_bytes());
  const std::lock_guard<PlainMutex> lock(g_other_lock);
  cut(low, high);
  other_mappings()[low] = {high, index};
  g_any_other = true;
}

void cut_other_mappings(const void* at, size_t bytes) {
  if (!g_any_other) return;
  const auto low = reinterpret_cast<uintptr_t>(at);
  const std::lock_guard<PlainMutex> lock(g_other_lock);
  cut(low, low + page_up(bytes, machine_page_bytes()));
}

int64_t owner_of_other_mapping(const void* at, size_t bytes) {
  if (!g_any_other) return kNoMapping;
  const auto low = reinterpret_cast<uintptr_t>(at), high = low + bytes;
  const std::lock_guard<PlainMutex> lock(g_other_lock);
  const auto& all = other_mappings();
  const auto behind = all.lower_bound(high);  // the first that lies behind the range
  if (behind == all.begin() || std::prev(behind)->second.end <= low) return kNoMapping;
  const auto& [first, mapping] = *std::prev(behind);
  return first <= low && mapping.end >= high ? int64_t{mapping.index} : kSeveralMappings;
}

bool find_other_mapping(uint32_t index, const void* from, MemoryRange* range) {
  if (!g_any_other) return false;
  const std::lock_guard<PlainMutex> lock(g_other_lock);
  auto at = other_mappings().lower_bound(reinterpret_cast<uintptr_t>(from));
  while (at != other_mappings().end() && at->second.index != index) ++at;
  if (at == other_mappings().end()) return false;
  *range = {reinterpret_cast<const char*>(at->first),
            reinterpret_cast<const char*>(at->second.end)};
  return true;
}

void end_other_mappings(uint32_t index) {
  if (!g_any_other) return;
  const std::lock_guard<PlainMutex> lock(g_other_lock);
  std::erase_if(other_mappings(), [&](const auto& entry) {
    const auto& [low, mapping] = entry;
    if (mapping.index == index) syscall(SYS_munmap, low, mapping.end - low);
    return mapping.index == index;
  });
}

}  // namespace fgmpi::heap
