// Comes before libc in the order of symbols, also in programs of other linkers.
//
// What we interpose (__libc_start_main, exit, write, ...) takes effect only where the dynamic
// linker finds our definition before libc's. Our wrappers see to that. A Fortran program of the
// host's wrapper, or one that reaches MPI through another library only, names libc before the
// library that needs us: then the process executes itself once more with us preloaded, before
// anything of the program has run. Not so when we are loaded by dlopen: the program already runs,
// and MPI_Init says what to do.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "privatize/images.h"
#include "privatize/internal.h"

namespace fgmpi::privatize {
namespace {

/// Set in the second execution; its value is the LD_PRELOAD of the first, which is put back.
constexpr environment::Variable kMark = environment::kPreloaded;

bool comes_first(const Dl_info& self) {
  Dl_info first{};
  void* function = dlsym(RTLD_DEFAULT, "__libc_start_main");
  return !function || !dladdr(function, &first) || first.dli_fbase == self.dli_fbase;
}

/// The names in a module's DT_NEEDED entries.
std::vector<std::string_view> needed(const link_map* map) {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d)
    if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(d->d_un.d_ptr);
  std::vector<std::string_view> names;
  for (const ElfW(Dyn)* d = map->l_ld; strings && d->d_tag != DT_NULL; ++d)
    if (d->d_tag == DT_NEEDED) names.emplace_back(strings + d->d_un.d_val);
  return names;
}

/// Is the library called `name` among those that the program was linked with, however indirectly?
bool linked_with(std::string_view name) {
  auto modules = loaded_modules();
  std::vector<std::string_view> open = needed(modules.front());
  std::set<std::string_view> seen;
  while (!open.empty()) {
    std::string_view next = open.back();
    open.pop_back();
    if (next == name) return true;
    if (!seen.insert(next).second) continue;
    for (const link_map* map : modules)
      if (file_name(map->l_name) == next)
        for (std::string_view further : needed(map)) open.push_back(further);
  }
  return false;
}

[[gnu::constructor]] void come_first(int, char** argv, char**) {
  if (const char* before = environment::raw(kMark)) {
    if (*before)
      environment::set(environment::kPreload, before);
    else
      environment::unset(environment::kPreload);
    environment::unset(kMark);
    return;
  }
  Dl_info self{};
  if (!dladdr(reinterpret_cast<void*>(&come_first), &self) || comes_first(self)) return;
  if (!linked_with(file_name(self.dli_fname))) return;
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = '\0';
  const char* before = environment::text(environment::kPreload);
  environment::set(kMark, before ? before : "");
  std::string all = self.dli_fname;
  // Such a path would be taken for two; mpiexec has put its folder into LD_LIBRARY_PATH.
  if (all.find_first_of(" :") != all.npos) all = file_name(self.dli_fname);
  // What is preloaded already stays in front: profiling tools must be, and libc comes later anyway.
  if (before) all = std::string(before) + ":" + all;
  environment::set(environment::kPreload, all.c_str());
  execve(path, argv, environ);
}

}  // namespace
}  // namespace fgmpi::privatize
