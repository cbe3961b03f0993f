// Makes the dynamic linker find this library's symbols before libc's.
//
// The functions that this library interposes (__libc_start_main, exit, write, ...) take effect only
// where the dynamic linker finds them before libc's. Programs linked by our wrappers name this
// library before libc. A Fortran program of the host's wrapper, or one that reaches MPI only
// through another library, names libc first: then the process executes itself once more with this
// library in LD_PRELOAD, before any code of the program has run. The process does so, too, where
// the program has loaded the host's Fortran library, by an RPATH of its own, in place of ours
// (src/mpichfort), which is preloaded then as well; and where the environment asks for heaps of
// ranks, which libfgmpi-heap.so makes, and mpiexec has not preloaded it. Nothing is done where this
// library was loaded by dlopen: the program already runs, and MPI_Init reports the error.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/internal.h"
#include "privatize/load/libraries.h"
#include "privatize/load/rank_heaps.h"

#pragma weak fgmpi_heap_hooks

namespace fgmpi::privatize {
namespace {

/// This variable is set in the second execution only. Its value is the LD_PRELOAD of the first
/// execution, which the second one restores.
constexpr environment::Variable kPreloadMark = environment::kPreloaded;
constexpr const char* kFortranLibrary = "libmpichfort.so.12";
constexpr const char* kHeapLibrary = "libfgmpi-heap.so";

/// The module of the definition of the function that the program's calls reach; none where there
/// is none.
std::optional<AddressedModule> find_first(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  return function ? module_at(function) : std::nullopt;
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

bool comes_first(const AddressedModule& self) {
  const auto start = find_first("__libc_start_main");
  return !start || start->start == self.start;
}

/// True where the program's calls in Fortran reach the library of another MPICH. A tool may define
/// a procedure of that name, too; it calls the next definition.
bool has_other_fortran(const AddressedModule& self) {
  const auto fortran = find_first("mpi_waitany_");
  return fortran && is_mpi_library(file_name(fortran->path)) &&
         folder_of(fortran->path) != folder_of(self.path);
}

/// True where the program needs the library called `name`, directly or through other libraries.
bool linked_with(std::string_view name) {
  auto modules = loaded_modules();
  std::vector<std::string_view> open = DynamicSection(modules.front()).needed();
  std::set<std::string_view> seen;
  while (!open.empty()) {
    std::string_view next = open.back();
    open.pop_back();
    if (next == name) return true;
    if (!seen.insert(next).second) continue;
    for (const link_map* map : modules)
      if (file_name(map->l_name) == next)
        for (std::string_view further : DynamicSection(map).needed()) open.push_back(further);
  }
  return false;
}

/// The library that gives ranks their heaps, where it is asked for and not loaded; else "".
std::string missing_heap(const AddressedModule& self) {
  if (&fgmpi_heap_hooks || !rank_heaps_are_named()) return "";
  const std::string path = std::string(folder_of(self.path)) + kHeapLibrary;
  return access(path.c_str(), R_OK) == 0 ? path : "";
}

/// A word for LD_PRELOAD, which separates paths by spaces and colons: a path that holds one is
/// replaced by the file name, which suffices where mpiexec has put the folder into LD_LIBRARY_PATH.
std::string preloaded_as(const std::string& path) {
  return path.find_first_of(" :") == path.npos ? path : std::string(file_name(path));
}

[[gnu::constructor]] void preload_this_library(int, char** argv, char**) {
  if (const char* before = environment::raw(kPreloadMark)) {
    if (*before)
      environment::set(environment::kPreload, before);
    else
      environment::unset(environment::kPreload);
    environment::unset(kPreloadMark);
    return;
  }
  const auto self = module_at(reinterpret_cast<void*>(&preload_this_library));
  if (!self) return;
  const bool other_fortran = has_other_fortran(*self);
  const std::string heap = missing_heap(*self);
  if ((comes_first(*self) && !other_fortran && heap.empty()) || !linked_with(file_name(self->path)))
    return;
  const std::string path = program_path();
  if (path.empty()) return;
  const char* before = environment::text(environment::kPreload);
  environment::set(kPreloadMark, before ? before : "");
  std::string all = preloaded_as(self->path);
  if (!heap.empty()) all = preloaded_as(heap) + ":" + all;
  if (other_fortran)
    all += ":" + preloaded_as(std::string(folder_of(self->path)) + kFortranLibrary);
  // Libraries that were preloaded already stay in front: profiling tools interpose MPI, and libc
  // comes after all of them.
  if (before) all = std::string(before) + ":" + all;
  environment::set(environment::kPreload, all.c_str());
  execve(path.c_str(), argv, environ);
}

}  // namespace
}  // namespace fgmpi::privatize
