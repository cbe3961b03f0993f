// A program's own allocator: which functions it has.

#include "privatize/image/allocator.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <algorithm>
#include <iterator>

#include "base/modules.h"
#include "base/processor.h"
#include "privatize/image/images.h"
#include "privatize/load/libraries.h"

namespace fgmpi::privatize {
namespace {

constexpr const char* kMalloc[] = {
    "malloc",         "free",   "calloc",  "realloc",      "memalign", "aligned_alloc",
    "posix_memalign", "valloc", "pvalloc", "reallocarray", "cfree",    "malloc_usable_size"};

constexpr const char* kOperators[] = {"_Znwm",
                                      "_Znam",
                                      "_ZnwmRKSt9nothrow_t",
                                      "_ZnamRKSt9nothrow_t",
                                      "_ZnwmSt11align_val_t",
                                      "_ZnamSt11align_val_t",
                                      "_ZnwmSt11align_val_tRKSt9nothrow_t",
                                      "_ZnamSt11align_val_tRKSt9nothrow_t",
                                      "_ZdlPv",
                                      "_ZdaPv",
                                      "_ZdlPvm",
                                      "_ZdaPvm",
                                      "_ZdlPvRKSt9nothrow_t",
                                      "_ZdaPvRKSt9nothrow_t",
                                      "_ZdlPvSt11align_val_t",
                                      "_ZdaPvSt11align_val_t",
                                      "_ZdlPvmSt11align_val_t",
                                      "_ZdaPvmSt11align_val_t",
                                      "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                      "_ZdaPvSt11align_val_tRKSt9nothrow_t"};

/// Returns the function of that name to which libraries are bound, if the program defines it; else
/// 0. *size: its length in bytes.
uintptr_t defined_by(const ElfModule& program, const char* name, size_t* size) {
  void* function = dlsym(RTLD_DEFAULT, name);
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  if (!function || !program.contains(reinterpret_cast<uintptr_t>(function)) ||
      !dladdr1(function, &info, const_cast<void**>(reinterpret_cast<const void**>(&symbol)),
               RTLD_DL_SYMENT) ||
      !symbol || info.dli_saddr != function)
    return 0;
  *size = symbol->st_size;
  return reinterpret_cast<uintptr_t>(function);
}

/// Modules of the allocator; their number is 0 where it is the program's or the C library's.
constexpr size_t kMostModules = 16;
AddressRange g_modules[kMostModules];
size_t g_module_count = 0;

AddressRange range_of_loaded(const link_map* module) {
  AddressRange range;
  find_loaded_module([&](const dl_phdr_info& loaded) {
    if (loaded.dlpi_addr != module->l_addr) return false;
    range = fgmpi::range_of(loaded);
    return true;
  });
  return range;
}

/// Libraries that wait for nothing but their own, which are not interposed, and this library.
bool never_waits(std::string_view file) {
  constexpr std::string_view kRuntime[] = {"libc.",      "libm.",     "libpthread.",
                                           "libdl.",     "librt.",    "ld-linux",
                                           "libstdc++.", "libgcc_s.", "linux-vdso."};
  return starts_with_any(file, kRuntime) || is_mpi_library(file);
}

}  // namespace

void find_allocator_modules() {
  const auto allocator = module_at(dlsym(RTLD_DEFAULT, "malloc"));
  if (!allocator || allocator->map == program_module() ||
      never_waits(file_name(allocator->map->l_name)))
    return;
  std::vector<const link_map*> found = {allocator->map};
  const std::vector<const link_map*> loaded = loaded_modules();
  for (size_t i = 0; i < found.size() && found.size() < kMostModules; ++i) {
    for (const std::string_view needed : DynamicSection(found[i]).needed()) {
      if (never_waits(needed) || found.size() == kMostModules) continue;
      const auto module = std::find_if(loaded.begin(), loaded.end(),
                                       [&](const link_map* m) { return is_needed_as(m, needed); });
      if (module != loaded.end() && std::find(found.begin(), found.end(), *module) == found.end())
        found.push_back(*module);
    }
  }
  for (const link_map* module : found) g_modules[g_module_count++] = range_of_loaded(module);
}

bool in_allocator(const void* address) {
  return std::any_of(g_modules, g_modules + g_module_count, [=](const AddressRange& range) {
    return range.contains(reinterpret_cast<uintptr_t>(address));
  });
}

std::vector<uintptr_t> allocator_functions(const ElfModule& program) {
  std::vector<uintptr_t> offsets;
  size_t size = 0;
  auto add = [&](const char* name) {
    uintptr_t function = defined_by(program, name, &size);
    if (function && size >= processor::kJumpBytes) offsets.push_back(function - program.base());
  };
  bool has_malloc = defined_by(program, "malloc", &size) != 0;
  if (has_malloc)
    for (const char* name : kMalloc) add(name);
  // The operators of a C++ runtime that is linked into the program (-static-libstdc++) only call
  // malloc: where libc's malloc is used, they need no jump.
  bool has_runtime = defined_by(program, "__cxa_throw", &size) != 0;
  if (has_malloc || !has_runtime)
    for (const char* name : kOperators) add(name);
  return offsets;
}

bool is_allocator_function(const char* name) {
  auto equal = [&](const char* known) { return strcmp(name, known) == 0; };
  return std::any_of(std::begin(kMalloc), std::end(kMalloc), equal) ||
         std::any_of(std::begin(kOperators), std::end(kOperators), equal);
}

}  // namespace fgmpi::privatize
