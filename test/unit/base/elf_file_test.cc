// Compares what ElfFile reads in files with the dynamic linker's data about the same modules.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/elf_file.h"

extern "C" [[gnu::noinline]] int unit_elf_function(int x) {
  asm volatile("");
  return x + 1;
}

namespace fgmpi {
namespace {

const char* path_of(const link_map* map) { return *map->l_name ? map->l_name : "/proc/self/exe"; }

/// The modules that have a file.
std::vector<const link_map*> modules_with_files() {
  std::vector<const link_map*> all;
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next)
    if (!*map->l_name || strchr(map->l_name, '/')) all.push_back(map);
  return all;
}

std::vector<std::string> needed_in_memory(const link_map* map) {
  std::vector<std::string> names;
  const char* strings = nullptr;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d)
    if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(d->d_un.d_ptr);
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d)
    if (d->d_tag == DT_NEEDED) names.emplace_back(strings + d->d_un.d_val);
  return names;
}

TEST(ElfFile, FindsFunctionsByAddress) {
  ElfFile file;
  ASSERT_TRUE(file.open("/proc/self/exe"));
  uintptr_t start = 0;
  const auto address = reinterpret_cast<uintptr_t>(&unit_elf_function) - _r_debug.r_map->l_addr;
  const char* name = file.function_at(address + 1, &start);
  ASSERT_NE(name, nullptr);
  EXPECT_STREQ(name, "unit_elf_function");
  EXPECT_EQ(start, address);
  EXPECT_EQ(file.function_at(uintptr_t{1} << 46, &start), nullptr);
}

TEST(ElfFile, ExportsWhatTheLinkerFinds) {
  Dl_info info{};
  link_map* map = nullptr;
  void* const here = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  ASSERT_NE(dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP), 0);
  ElfFile file;
  ASSERT_TRUE(file.open(map->l_name));
  EXPECT_TRUE(file.is_native());
  for (const char* name : {"gnu_get_libc_version", "getppid", "puts"}) {
    void* const library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    const auto wanted = reinterpret_cast<uintptr_t>(dlsym(library, name));
    EXPECT_EQ(map->l_addr + file.exported_symbol(name), wanted) << name;
    dlclose(library);
  }
  EXPECT_EQ(file.exported_symbol("no_such_symbol_anywhere"), 0u);
}

TEST(ElfFile, NeedsWhatTheLoadedModuleNeeds) {
  size_t all = 0;
  for (const link_map* map : modules_with_files()) {
    ElfFile file;
    ASSERT_TRUE(file.open(path_of(map))) << map->l_name;
    std::vector<std::string> names;
    file.for_each_needed([&](std::string_view name) { names.emplace_back(name); });
    EXPECT_EQ(names, needed_in_memory(map)) << map->l_name;
    all += names.size();
  }
  EXPECT_GT(all, 1u);
}

TEST(ElfFile, HasTheSegmentsOfTheLoadedModule) {
  const auto compare = [](dl_phdr_info* info, size_t, void*) {
    if (*info->dlpi_name && !strchr(info->dlpi_name, '/')) return 0;  // the kernel's own
    ElfFile file;
    EXPECT_TRUE(file.open(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe"));
    size_t i = 0;
    file.for_each_segment([&](const ElfW(Phdr) & segment) {
      if (i < info->dlpi_phnum) {
        EXPECT_EQ(memcmp(&segment, &info->dlpi_phdr[i], sizeof segment), 0) << info->dlpi_name;
      }
      ++i;
    });
    EXPECT_EQ(i, info->dlpi_phnum);
    return 0;
  };
  dl_iterate_phdr(compare, nullptr);
}

TEST(ElfFile, NamesItsSections) {
  ElfFile file;
  ASSERT_TRUE(file.open("/proc/self/exe"));
  std::set<std::string> names;
  file.for_each_section([&](const ElfW(Shdr)&, const char* name) { names.insert(name); });
  for (const char* name : {".text", ".dynamic", ".dynsym", ".shstrtab"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(ElfFile, RefusesWhatIsNoElfFile) {
  ElfFile missing, folder, text;
  EXPECT_FALSE(missing.open("/no/such/file"));
  EXPECT_FALSE(folder.open("/"));
  EXPECT_FALSE(text.open("/proc/self/maps"));
  for (const std::string& bytes : {std::string(),
                                   std::string("\x7f"
                                               "ELF"),
                                   std::string(200, 'x')}) {
    const ElfView view(bytes.data(), bytes.size());
    EXPECT_EQ(view.header(), nullptr);
    EXPECT_FALSE(view.is_native());
    view.for_each_segment([](const ElfW(Phdr)&) { ADD_FAILURE(); });
    view.for_each_needed([](std::string_view) { ADD_FAILURE(); });
  }
}

TEST(ElfFile, KnowsFilesOfOtherMachines) {
  ElfW(Ehdr) header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = processor::kElfMachine;
  const ElfView view(reinterpret_cast<const char*>(&header), sizeof header);
  EXPECT_TRUE(view.is_native());
  header.e_machine = EM_PPC64;
  EXPECT_FALSE(view.is_native());
  header.e_machine = processor::kElfMachine;
  header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_FALSE(view.is_native());
  EXPECT_NE(view.header(), nullptr);
}

/// Reads all that there is.
void read_all(const ElfView& file, uint64_t some_address) {
  uintptr_t start = 0;
  (void)file.function_at(some_address, &start);
  (void)file.exported_symbol("main");
  size_t bytes = 0;
  file.for_each_section([&](const ElfW(Shdr)&, const char* name) { bytes += strlen(name); });
  file.for_each_segment([&](const ElfW(Phdr) & segment) { bytes += segment.p_filesz; });
  file.for_each_needed([&](std::string_view name) { bytes += name.size(); });
}

TEST(ElfFile, DamagedFilesDoNoHarm) {
  std::ifstream source("/proc/self/exe", std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(source)), {});
  // Only the headers, the table of sections and the dynamic section matter: damage there, in
  // many ways.
  ElfW(Ehdr) header;
  memcpy(&header, good.data(), sizeof header);
  ElfW(Phdr) dynamic{};
  ElfView(good.data(), good.size()).for_each_segment([&](const ElfW(Phdr) & segment) {
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
  });
  ASSERT_GT(dynamic.p_filesz, 0u);
  std::mt19937 random(7);
  std::string bytes = good;
  for (int i = 0; i < 400; ++i) {
    std::set<size_t> touched;
    for (int k = 0; k < 20; ++k) {
      const uint64_t parts[4][2] = {{4, 60},
                                    {header.e_phoff, 56u * header.e_phnum},
                                    {header.e_shoff, 64u * header.e_shnum},
                                    {dynamic.p_offset, dynamic.p_filesz}};
      const auto& part = parts[random() % 4];
      const size_t at = part[0] + random() % part[1];
      bytes[at] = static_cast<char>(random());
      touched.insert(at);
    }
    read_all(ElfView(bytes.data(), bytes.size()), random() % 100000);
    for (size_t at : touched) bytes[at] = good[at];
  }
  // Truncated files, opened as files are.
  char path[] = "/tmp/fgmpi-elf-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, good.data(), good.size()), static_cast<ssize_t>(good.size()));
  for (uint64_t length : {header.e_shoff + 10, dynamic.p_offset + 8, uint64_t{100}, uint64_t{63}}) {
    ASSERT_EQ(ftruncate(fd, static_cast<off_t>(length)), 0);
    ElfFile truncated;
    if (truncated.open(path)) read_all(truncated, 5000);
    uintptr_t start = 0;
    EXPECT_EQ(truncated.function_at(5000, &start), nullptr);
  }
  close(fd);
  unlink(path);
}

}  // namespace
}  // namespace fgmpi
