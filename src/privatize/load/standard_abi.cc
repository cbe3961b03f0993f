// Modules that call the standard ABI are bound to libmpi_abi.

#include "privatize/load/standard_abi.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/modules.h"
#include "base/page.h"
#include "base/plain_mutex.h"
#include "base/relocation_kind.h"
#include "privatize/image/images.h"
#include "privatize/load/libraries.h"
#include "privatize/load/real_loader.h"

namespace fgmpi::privatize {
namespace {

constinit PlainMutex g_mutex;  ///< one binds at a time

/// The modules that have been looked at, and how many had been unloaded by then: a new module may
/// have the address of one that was unloaded. Both are g_mutex's.
constinit std::vector<const link_map*>* g_known = nullptr;
constinit unsigned long long g_unloaded = 0;

unsigned long long unloaded_modules() {
  unsigned long long count = 0;
  find_loaded_module([&](const dl_phdr_info& module) {
    count = module.dlpi_subs;
    return true;
  });
  return count;
}

/// The modules that were loaded since the last call.
std::vector<const link_map*> new_modules() {
  std::vector<const link_map*> loaded = loaded_modules(), found;
  if (!g_known) g_known = new std::vector<const link_map*>;
  const unsigned long long unloaded = unloaded_modules();
  if (unloaded != g_unloaded) g_known->clear();
  for (const link_map* map : loaded)
    if (std::find(g_known->begin(), g_known->end(), map) == g_known->end()) found.push_back(map);
  *g_known = std::move(loaded);
  g_unloaded = unloaded;
  return found;
}

bool is_standard_library(std::string_view file) { return file.starts_with("libmpi_abi.so"); }

bool needs_standard(const link_map* map) {
  if (!strchr(map->l_name, '/') && map != program_module()) return false;  // the kernel's module
  for (std::string_view name : DynamicSection(map).needed())
    if (is_standard_library(name)) return true;
  return false;
}

bool is_mpi_function(const char* name) {
  return strncmp(name, "MPI", 3) == 0 || strncmp(name, "PMPI", 4) == 0;
}

/// The symbols of a loaded module, and its relocations.
class ModuleSymbols {
 public:
  explicit ModuleSymbols(const link_map* map) : map_(map) {
    DynamicSection(map).for_each([&](const ElfW(Dyn) & d) {
      const auto value = d.d_un.d_val;
      if (d.d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(d.d_un.d_ptr);
      if (d.d_tag == DT_STRTAB) strings_ = reinterpret_cast<const char*>(d.d_un.d_ptr);
      if (d.d_tag == DT_RELA) tables_[0].first = reinterpret_cast<const ElfW(Rela)*>(d.d_un.d_ptr);
      if (d.d_tag == DT_RELASZ) tables_[0].count = value / sizeof(ElfW(Rela));
      if (d.d_tag == DT_JMPREL)
        tables_[1].first = reinterpret_cast<const ElfW(Rela)*>(d.d_un.d_ptr);
      if (d.d_tag == DT_PLTRELSZ) tables_[1].count = value / sizeof(ElfW(Rela));
    });
  }

  /// The address of a function that the module defines; nullptr where it defines none.
  void* find(const char* wanted) const { return real::find_in_module(map_, wanted); }

  /// Calls f(name, word, addend) for each word that holds the address of a function of another
  /// module.
  template <class F>
  void for_each_reference(F&& f) const {
    for (const Table& table : tables_)
      for (size_t i = 0; table.first && i < table.count; ++i) {
        const ElfW(Rela)& entry = table.first[i];
        const RelocationKind kind = relocation_kind(entry);
        if (kind != RelocationKind::kAddress && kind != RelocationKind::kGlobal &&
            kind != RelocationKind::kJumpSlot)
          continue;
        const ElfW(Sym)& symbol = symbols_[ELF64_R_SYM(entry.r_info)];
        if (symbol.st_shndx != SHN_UNDEF) continue;
        f(strings_ + symbol.st_name, reinterpret_cast<uintptr_t*>(map_->l_addr + entry.r_offset),
          kind == RelocationKind::kAddress ? static_cast<uintptr_t>(entry.r_addend) : 0);
      }
  }

 private:
  struct Table {
    const ElfW(Rela) * first = nullptr;
    size_t count = 0;
  };
  const link_map* map_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  Table tables_[2];  ///< for data, and for functions that may be bound late
};

/// The modules that define functions of the standard ABI, in the order in which they are searched:
/// those that need libmpi_abi, among them tools, and the library.
std::vector<ModuleSymbols> standard_modules() {
  std::vector<ModuleSymbols> found;
  for (const link_map* map : loaded_modules())
    if (needs_standard(map) || is_standard_library(file_name(map->l_name))) found.emplace_back(map);
  return found;
}

void* find_in(const std::vector<ModuleSymbols>& modules, const char* name) {
  for (const ModuleSymbols& module : modules)
    if (void* function = module.find(name)) return function;
  return nullptr;
}

/// The addresses of a module that the dynamic linker has made read-only after its work.
AddressRange read_only_after_binding(const link_map* map) {
  AddressRange range;
  find_loaded_module([&](const dl_phdr_info& module) {
    if (module.dlpi_addr != map->l_addr) return false;
    for (const ElfW(Phdr) & segment : segments_of(module))
      if (segment.p_type == PT_GNU_RELRO)
        range = {page_down(map->l_addr + segment.p_vaddr, machine_page_bytes()),
                 page_down(map->l_addr + segment.p_vaddr + segment.p_memsz, machine_page_bytes())};
    return true;
  });
  return range;
}

void bind(const link_map* map, const std::vector<ModuleSymbols>& modules) {
  const AddressRange read_only = read_only_after_binding(map);
  bool writable = false;
  ModuleSymbols(map).for_each_reference([&](const char* name, uintptr_t* word, uintptr_t addend) {
    if (!is_mpi_function(name)) return;
    const auto function = reinterpret_cast<uintptr_t>(find_in(modules, name));
    if (!function || *word == function + addend) return;
    if (!writable && read_only.contains(reinterpret_cast<uintptr_t>(word))) {
      writable = mprotect(reinterpret_cast<void*>(read_only.low), read_only.high - read_only.low,
                          PROT_READ | PROT_WRITE) == 0;
      if (!writable) return;
    }
    *word = function + addend;
  });
  if (writable)
    mprotect(reinterpret_cast<void*>(read_only.low), read_only.high - read_only.low, PROT_READ);
}

}  // namespace

constinit bool g_has_standard_abi = false;

void bind_standard_abi() {
  if (!has_standard_abi()) return;
  const std::lock_guard<PlainMutex> lock(g_mutex);
  std::vector<const link_map*> wanted = new_modules();
  std::erase_if(wanted, [](const link_map* map) { return !needs_standard(map); });
  if (wanted.empty()) return;
  const std::vector<ModuleSymbols> modules = standard_modules();
  for (const link_map* map : wanted) bind(map, modules);
}

void* find_standard_function(const link_map* caller, const char* name) {
  return needs_standard(caller) && is_mpi_function(name) ? find_in(standard_modules(), name)
                                                         : nullptr;
}

}  // namespace fgmpi::privatize

using namespace fgmpi;
using namespace fgmpi::privatize;

void fgmpi_abi_bind(void) {
  __atomic_store_n(&g_has_standard_abi, true, __ATOMIC_RELAXED);
  bind_standard_abi();
}

void* fgmpi_abi_tool_function(const char* name) {
  static const std::vector<ModuleSymbols> tools = [] {
    std::vector<ModuleSymbols> found;
    const auto self = module_at(reinterpret_cast<void*>(&fgmpi_abi_bind));
    for (const link_map* map : loaded_modules()) {
      if (self && map == self->map) break;
      if (map == program_module() || !strchr(map->l_name, '/') || needs_standard(map)) continue;
      ModuleSymbols symbols(map);
      if (symbols.find("MPI_Init")) found.push_back(symbols);
    }
    return found;
  }();
  return find_in(tools, name);
}
