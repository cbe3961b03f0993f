// Compares the list of loaded modules with the kernel's list of mappings and with files.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/elf_file.h"
#include "base/installation.h"
#include "base/modules.h"

namespace fgmpi {
namespace {

int g_of_this_program = 3;

std::string real_path(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) ? real : "";
}

/// The lowest address of each file that is mapped and the end of the highest, by the kernel.
std::map<std::string, AddressRange> mapped_files() {
  std::map<std::string, AddressRange> all;
  std::ifstream in("/proc/self/maps");
  for (std::string line; std::getline(in, line);) {
    const size_t slash = line.find('/');
    if (slash == line.npos) continue;
    char* end = nullptr;
    const uintptr_t low = strtoull(line.c_str(), &end, 16), high = strtoull(end + 1, nullptr, 16);
    AddressRange& range =
        all.try_emplace(line.substr(slash), AddressRange{low, high}).first->second;
    range.low = std::min(range.low, low);
    range.high = std::max(range.high, high);
  }
  return all;
}

TEST(Installation, IsTheFolderAboveThatOfTheRunningProgram) {
  const std::string program = real_path("/proc/self/exe");
  const std::string folder = program.substr(0, program.rfind('/'));
  EXPECT_EQ(installation_prefix(), folder.substr(0, folder.rfind('/')));
  EXPECT_EQ(installed_host_file("lib/no_such_library.so"), "");
}

TEST(Modules, AreMappedWhereTheyAreSaidToBe) {
  const auto mapped = mapped_files();
  size_t found = 0;
  for_each_loaded_module([&](const dl_phdr_info& module) {
    const std::string path = path_of(module);
    if (path.find('/') == path.npos) return;  // the kernel's own
    const auto file = mapped.find(real_path(path));
    ASSERT_NE(file, mapped.end()) << path;
    const AddressRange range = range_of(module);
    EXPECT_EQ(range.low & ~uintptr_t{4095}, file->second.low) << path;
    // Behind the file's last bytes lie zeros, which are mapped without a file.
    EXPECT_GE(range.high + 4095, file->second.high) << path;
    EXPECT_TRUE(range.contains(range.low));
    EXPECT_FALSE(range.contains(range.high));
    ++found;
  });
  EXPECT_GE(found, 3u);
}

TEST(Modules, AreSearchedUntilOneIsFound) {
  int visited = 0;
  EXPECT_TRUE(find_loaded_module([&](const dl_phdr_info& module) {
    ++visited;
    return range_of(module).contains(reinterpret_cast<uintptr_t>(&g_of_this_program));
  }));
  EXPECT_EQ(visited, 1) << "the program is the first";
  EXPECT_FALSE(find_loaded_module([](const dl_phdr_info&) { return false; }));
}

TEST(Modules, TheProgramIsThisFile) {
  EXPECT_EQ(program_path(), real_path("/proc/self/exe"));
  EXPECT_EQ(loaded_modules().front(), program_module());
  const AddressRange range = range_of(segments_of_program(), program_module()->l_addr);
  EXPECT_TRUE(range.contains(reinterpret_cast<uintptr_t>(&g_of_this_program)));
  EXPECT_TRUE(range.contains(reinterpret_cast<uintptr_t>(&program_path)));
  EXPECT_FALSE(range.contains(reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "getppid"))));
}

TEST(Modules, BothListsAgree) {
  std::vector<std::pair<std::string, uintptr_t>> one, other;
  for_each_loaded_module(
      [&](const dl_phdr_info& module) { one.emplace_back(module.dlpi_name, module.dlpi_addr); });
  for (const link_map* map : loaded_modules()) other.emplace_back(map->l_name, map->l_addr);
  EXPECT_EQ(one, other);
}

TEST(Modules, AreFoundByAddress) {
  const auto program = module_at(&g_of_this_program);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->map, program_module());
  EXPECT_EQ(real_path(program->path), program_path());
  void* const in_libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  const auto libc = module_at(in_libc);
  ASSERT_TRUE(libc);
  EXPECT_STREQ(libc->path, libc->map->l_name);
  EXPECT_EQ(memcmp(reinterpret_cast<void*>(libc->start), ELFMAG, SELFMAG), 0);
  ElfFile file;
  ASSERT_TRUE(file.open(libc->path));
  EXPECT_EQ(file.exported_symbol("gnu_get_libc_version"),
            reinterpret_cast<uintptr_t>(in_libc) - libc->map->l_addr);
  int on_stack = 0;
  EXPECT_FALSE(module_at(&on_stack));
  EXPECT_FALSE(module_at(nullptr));
}

TEST(Modules, AddressesAreComparedByModule) {
  const void* const one = dlsym(RTLD_DEFAULT, "getppid");
  const void* const other = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  int on_stack = 0;
  EXPECT_TRUE(in_same_module(one, other));
  EXPECT_FALSE(in_same_module(one, &g_of_this_program));
  EXPECT_FALSE(in_same_module(&on_stack, &on_stack));
  EXPECT_FALSE(in_same_module(nullptr, nullptr));
}

TEST(DynamicSection, SaysWhatTheFileSays) {
  bool is_libc_there = false;
  for (const link_map* map : loaded_modules()) {
    if (*map->l_name && !strchr(map->l_name, '/')) continue;
    ElfFile file;
    ASSERT_TRUE(file.open(*map->l_name ? map->l_name : "/proc/self/exe"));
    std::vector<std::string_view> needed;
    file.for_each_needed([&](std::string_view name) { needed.push_back(name); });
    EXPECT_EQ(DynamicSection(map).needed(), needed) << map->l_name;
    is_libc_there |= DynamicSection(map).soname() == "libc.so.6";
    if (map == program_module()) {
      EXPECT_EQ(DynamicSection(map).soname(), "");
    }
  }
  EXPECT_TRUE(is_libc_there);
}

}  // namespace
}  // namespace fgmpi
