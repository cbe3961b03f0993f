// Modules: the program and the libraries that the dynamic linker has loaded into this process, and
// where in which of them an address lies.
//
// A module has a file and a base: what the linker has added to the addresses in the file, 0 for a
// program that is not position-independent. Files that are not loaded are read by base/elf_file.h.
// Thread rule: any thread. Functions that return no std::string or std::vector allocate nothing.
// The dynamic linker's functions are interposed for code of ranks (src/privatize/load), not for
// code of this library and of tools: these see what the linker has loaded.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fgmpi {

/// The addresses from `low` on and below `high`.
struct AddressRange {
  uintptr_t low = 0, high = 0;
  bool contains(uintptr_t address) const { return address >= low && address < high; }
};

// ---- The modules, as dl_iterate_phdr() lists them -----------------------------------------------

/// Calls f(module), with a dl_phdr_info, for each module, the program first, until it returns true.
/// Returns false where it has returned false for all. f may not load or unload modules.
template <class F>
bool find_loaded_module(F&& f) {
  using Function = std::remove_reference_t<F>;
  const auto call = [](dl_phdr_info* module, size_t, void* function) -> int {
    return (*static_cast<Function*>(function))(*module);
  };
  return dl_iterate_phdr(call, &f) != 0;
}
/// Calls f(module) for all modules.
template <class F>
void for_each_loaded_module(F&& f) {
  find_loaded_module([&](const dl_phdr_info& module) {
    f(module);
    return false;
  });
}

inline std::span<const ElfW(Phdr)> segments_of(const dl_phdr_info& module) {
  return {module.dlpi_phdr, module.dlpi_phnum};
}
/// The program's segments, by what the kernel has passed to it: the linker is not asked.
inline std::span<const ElfW(Phdr)> segments_of_program() {
  return {reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)), getauxval(AT_PHNUM)};
}
/// The addresses from the first segment that is loaded to the end of the last; {~0, 0} where there
/// is none.
AddressRange range_of(std::span<const ElfW(Phdr)> segments, uintptr_t base);
inline AddressRange range_of(const dl_phdr_info& module) {
  return range_of(segments_of(module), module.dlpi_addr);
}

/// The path of the program's file; "" where the kernel does not tell it, then errno says why.
std::string program_path();
/// The path of a module's file; "" where it is the program's and the kernel does not tell it.
std::string path_of(const dl_phdr_info& module);

// ---- The module of an address -------------------------------------------------------------------

struct AddressedModule {
  const char* path;     ///< as the linker has it; the program's is as it was started
  uintptr_t start;      ///< address of its first byte
  const link_map* map;  ///< with its base; its path of the program is ""
};

/// The module that holds the address; none where no module does.
inline std::optional<AddressedModule> module_at(const void* address) {
  Dl_info found{};
  link_map* map = nullptr;
  if (!dladdr1(address, &found, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ||
      !found.dli_fname)
    return std::nullopt;
  return AddressedModule{found.dli_fname, reinterpret_cast<uintptr_t>(found.dli_fbase), map};
}

/// Are both addresses in one module?
inline bool in_same_module(const void* one, const void* other) {
  const auto first = module_at(one), second = module_at(other);
  return first && second && first->start == second->start;
}

// ---- The linker's own list ----------------------------------------------------------------------

/// The program, whose name in the list is "".
inline const link_map* program_module() { return _r_debug.r_map; }
/// All modules, the program first, in the order in which symbols are searched.
std::vector<const link_map*> loaded_modules();

/// The dynamic section of a module in memory. The kernel's own module, whose path has no '/', gives
/// a wrong address of its strings.
class DynamicSection {
 public:
  explicit DynamicSection(const link_map* map) : entries_(map->l_ld) {}

  /// Calls f(entry) for each entry.
  template <class F>
  void for_each(F&& f) const {
    for (const ElfW(Dyn)* d = entries_; d->d_tag != DT_NULL; ++d) f(*d);
  }
  /// The names of the libraries that the module needs directly.
  std::vector<std::string_view> needed() const;
  /// The name that the module gives itself (DT_SONAME), or "".
  std::string_view soname() const;

 private:
  const char* strings() const;
  const ElfW(Dyn) * entries_;
};

}  // namespace fgmpi
