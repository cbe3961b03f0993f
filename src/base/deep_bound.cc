// Loads a library with RTLD_DEEPBIND, and gives it the allocator of the process.

#include "base/deep_bound.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/elf_file.h"
#include "base/modules.h"
#include "base/page.h"
#include "base/relocation_kind.h"

namespace fgmpi {
namespace {

/// True for a function that allocates or frees memory of the process's allocator.
bool is_allocator_function(const char* name) {
  static constexpr const char* kNames[] = {
      "malloc", "free",           "calloc",  "realloc",      "memalign", "aligned_alloc",
      "valloc", "posix_memalign", "pvalloc", "reallocarray", "cfree",    "malloc_usable_size"};
  static constexpr const char* kOperators[] = {"_Znw", "_Zna", "_Zdl", "_Zda"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* known) { return strcmp(name, known) == 0; }) ||
         std::any_of(std::begin(kOperators), std::end(kOperators),
                     [&](const char* known) { return strncmp(name, known, strlen(known)) == 0; });
}

bool has_allocator_of_its_own() {
  return !in_same_module(dlsym(RTLD_DEFAULT, "malloc"),
                         dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
}

/// Loads the libraries that the library needs, bound in the usual way: their constructors allocate
/// before bind_allocator() could run.
void load_needed(const char* path) {
  ElfFile file;
  if (!file.open(path)) return;
  file.for_each_needed(
      [](std::string_view name) { dlopen(std::string(name).c_str(), RTLD_NOW | RTLD_LOCAL); });
}

/// Binds a loaded module to the process's allocator: changes the words of the module that hold
/// addresses of allocator functions.
class AllocatorBinding {
 public:
  explicit AllocatorBinding(const link_map* map) : base_(map->l_addr) {
    const ElfW(Rela)* rela = nullptr, *jump = nullptr;
    size_t rela_bytes = 0, jump_bytes = 0;
    DynamicSection(map).for_each([&](const ElfW(Dyn) & entry) {
      const ElfW(Addr) value = entry.d_un.d_ptr;
      if (entry.d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(value);
      if (entry.d_tag == DT_STRTAB) strings_ = reinterpret_cast<const char*>(value);
      if (entry.d_tag == DT_RELA) rela = reinterpret_cast<const ElfW(Rela)*>(value);
      if (entry.d_tag == DT_RELASZ) rela_bytes = value;
      if (entry.d_tag == DT_JMPREL) jump = reinterpret_cast<const ElfW(Rela)*>(value);
      if (entry.d_tag == DT_PLTRELSZ) jump_bytes = value;
    });
    if (!symbols_ || !strings_) return;
    bind(rela, rela_bytes / sizeof *rela);
    bind(jump, jump_bytes / sizeof *jump);
  }

 private:
  static bool holds_address(const ElfW(Rela) & r) {
    const RelocationKind kind = relocation_kind(r);
    return kind == RelocationKind::kJumpSlot || kind == RelocationKind::kGlobal ||
           (kind == RelocationKind::kAddress && r.r_addend == 0);
  }

  void bind(const ElfW(Rela) * list, size_t count) {
    for (size_t i = 0; list && i < count; ++i) {
      const ElfW(Sym)& symbol = symbols_[ELF64_R_SYM(list[i].r_info)];
      const char* name = strings_ + symbol.st_name;
      if (!holds_address(list[i]) || symbol.st_shndx != SHN_UNDEF || !is_allocator_function(name))
        continue;
      if (void* function = dlsym(RTLD_DEFAULT, name))
        write_word(base_ + list[i].r_offset, function);
    }
  }

  /// Writes a word whose page may have been made read-only after relocation. The page
  /// stays writable.
  static void write_word(uintptr_t at, void* value) {
    const size_t bytes = machine_page_bytes();
    auto* page = reinterpret_cast<void*>(page_down(at, bytes));
    if (*reinterpret_cast<void**>(at) == value) return;
    if (mprotect(page, bytes, PROT_READ | PROT_WRITE) == 0) *reinterpret_cast<void**>(at) = value;
  }

  uintptr_t base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
};

}  // namespace

void* open_deep_bound(const char* path) {
  constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  if (!has_allocator_of_its_own()) return dlopen(path, kMode);
  load_needed(path);
  const auto before = loaded_modules();
  void* library = dlopen(path, kMode);
  for (const link_map* map : loaded_modules())
    if (std::find(before.begin(), before.end(), map) == before.end()) AllocatorBinding binding(map);
  return library;
}

}  // namespace fgmpi
