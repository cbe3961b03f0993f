// Paths and ranges of loaded modules, and what their dynamic sections say.

#include "base/modules.h"

#include <unistd.h>

#include <algorithm>

namespace fgmpi {

AddressRange range_of(std::span<const ElfW(Phdr)> segments, uintptr_t base) {
  AddressRange range{~uintptr_t{0}, 0};
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t low = base + segment.p_vaddr;
    range.low = std::min(range.low, low);
    range.high = std::max(range.high, low + segment.p_memsz);
  }
  return range;
}

std::string program_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, length > 0 ? static_cast<size_t>(length) : 0);
}

std::string path_of(const dl_phdr_info& module) {
  return *module.dlpi_name ? module.dlpi_name : program_path();
}

std::vector<const link_map*> loaded_modules() {
  std::vector<const link_map*> modules;
  for (const link_map* map = program_module(); map; map = map->l_next) modules.push_back(map);
  return modules;
}

const char* DynamicSection::strings() const {
  const char* strings = nullptr;
  for_each([&](const ElfW(Dyn) & entry) {
    if (entry.d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry.d_un.d_ptr);
  });
  return strings;
}

std::vector<std::string_view> DynamicSection::needed() const {
  std::vector<std::string_view> names;
  const char* const strings = this->strings();
  for_each([&](const ElfW(Dyn) & entry) {
    if (strings && entry.d_tag == DT_NEEDED) names.emplace_back(strings + entry.d_un.d_val);
  });
  return names;
}

std::string_view DynamicSection::soname() const {
  std::string_view name;
  const char* const strings = this->strings();
  for_each([&](const ElfW(Dyn) & entry) {
    if (strings && entry.d_tag == DT_SONAME) name = strings + entry.d_un.d_val;
  });
  return name;
}

}  // namespace fgmpi
