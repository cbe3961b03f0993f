// The search for objects that the linker copied into the program, and which of them may be cloned.

#include "privatize/image/copied_objects.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <algorithm>

#include "base/elf_file.h"
#include "base/modules.h"
#include "base/relocation_kind.h"
#include "privatize/image/images.h"
#include "privatize/load/libraries.h"

namespace fgmpi::privatize {
namespace {

/// The address of the library's own definition according to the dynamic linker; 0 if it has none,
/// or if the linker merges it with the program's (STB_GNU_UNIQUE).
uintptr_t own_symbol(const link_map* map, const char* name, const char* version) {
  void* library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  void* found = *version ? dlvsym(library, name, version) : nullptr;
  if (!found) found = dlsym(library, name);
  dlclose(library);
  // A definition in a library that this one needs does not count: the caller asks that one too.
  const auto owner = found ? module_at(found) : std::nullopt;
  return owner && owner->map == map ? reinterpret_cast<uintptr_t>(found) : 0;
}

/// The address of the library's own definition according to its file; 0 if it has none. For symbols
/// of which the dynamic linker returns only the program's definition (STB_GNU_UNIQUE, as static
/// members of templates are).
uintptr_t symbol_in_file(const link_map* map, const char* name) {
  ElfFile file;
  uintptr_t found = 0;
  if (!file.open(map->l_name)) return 0;
  file.for_each_symbol([&](const ElfW(Sym) & symbol, const char* symbol_name) {
    if (symbol.st_shndx != SHN_UNDEF && strcmp(symbol_name, name) == 0)
      found = map->l_addr + symbol.st_value;
  });
  return found;
}

/// Sets the object's `original` and `library`: the first library behind the program that defines
/// it. The dynamic linker is asked about all libraries before their files are read.
void find_original(const char* version, CopiedObject* object) {
  auto maps = loaded_modules();
  const char* name = object->name.c_str();
  for (bool in_files : {false, true}) {
    for (size_t i = 1; i < maps.size() && !object->original; ++i) {
      object->original =
          in_files ? symbol_in_file(maps[i], name) : own_symbol(maps[i], name, version);
      object->library = file_name(maps[i]->l_name);
    }
  }
  if (!object->original) object->library = "a library";
}

}  // namespace

std::vector<CopiedObject> copied_objects(const ElfModule& program) {
  std::vector<CopiedObject> objects;
  program.for_each_relocation(
      [&](const ElfW(Rela) & r, const ElfW(Sym) & symbol, const char* name, const char* version) {
        if (relocation_kind(r) != RelocationKind::kCopy) return;
        CopiedObject& object = objects.emplace_back();
        object.name = name;
        object.offset = r.r_offset;
        object.size = symbol.st_size;
        find_original(version, &object);
      });
  return objects;
}

bool may_be_cloned(const ElfModule& program, const CopiedObject& object) {
  constexpr std::string_view kConstants[] = {"_ZTI", "_ZTS", "_ZTV", "_ZTT"};
  if (program.read_only_after_relocation(object.offset) || starts_with_any(object.name, kConstants))
    return true;
  if (object.library.starts_with("libstdc++.so")) {
    constexpr std::string_view kStreams[] = {"_ZSt3cin",  "_ZSt4cout",  "_ZSt4cerr",  "_ZSt4clog",
                                             "_ZSt4wcin", "_ZSt5wcout", "_ZSt5wcerr", "_ZSt5wclog"};
    return starts_with_any(object.name, kStreams) || object.name.ends_with("2idE");
  }
  constexpr std::string_view kRuntime[] = {"libc.so",       "libm.so", "ld-linux",
                                           "libpthread.so", "libmpi",  "libgfortran.so"};
  return starts_with_any(object.library, kRuntime);
}

}  // namespace fgmpi::privatize
