// Calls of the dynamic linker's own functions as if they came from the program.

#include "privatize/load/real_loader.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/assert.h"
#include "base/page.h"
#include "privatize/processor/machine_code.h"

namespace fgmpi::privatize::real {
namespace {

FGMPI_NOT_SANITIZED bool same(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

FGMPI_NOT_SANITIZED bool is_c_library(const char* path) {
  const char* name = path;
  for (const char* c = path; *c; ++c)
    if (*c == '/') name = c + 1;
  for (const char* c = "libc.so"; *c; ++c)
    if (*name++ != *c) return false;
  return true;
}

/// Finds a function in the C library's symbol table: dlsym() is itself one of the interposed
/// functions. Allocates nothing and calls nothing that is instrumented: an allocator of the
/// program, or the runtime of a sanitizer that has yet to set up its memory, may reach this code
/// with its first call.
FGMPI_NOT_SANITIZED void* find(const char* wanted) {
  const link_map* map = _r_debug.r_map;
  while (map && !is_c_library(map->l_name)) map = map->l_next;
  return map ? find_in_module(map, wanted) : nullptr;
}

/// What find_object() looks for among the loaded libraries.
struct ObjectSearch {
  uintptr_t address;
  dl_find_object* result;
};

/// Returns the dynamic linker's description of the library whose dynamic section lies there. The
/// caller holds the linker's lock.
link_map* map_of(const void* dynamic) {
  link_map* map = _r_debug.r_map;
  while (map && map->l_ld != dynamic) map = map->l_next;
  return map;
}

/// Fills in the result and returns 1 where the library holds the address, else returns 0.
int visit_object(dl_phdr_info* info, size_t, void* data) {
  const auto& search = *static_cast<const ObjectSearch*>(data);
  uintptr_t low = UINTPTR_MAX, high = 0;
  void *unwind_table = nullptr, *dynamic = nullptr;
  bool holds_address = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) unwind_table = reinterpret_cast<void*>(start);
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<void*>(start);
    if (header.p_type != PT_LOAD) continue;
    low = std::min(low, page_down(start, machine_page_bytes()));
    high = std::max(high, start + header.p_memsz);
    holds_address |= search.address - start < header.p_memsz;
  }
  if (!holds_address) return 0;
  *search.result = {};
  search.result->dlfo_map_start = reinterpret_cast<void*>(low);
  search.result->dlfo_map_end = reinterpret_cast<void*>(high);
  search.result->dlfo_link_map = map_of(dynamic);
  search.result->dlfo_eh_frame = unwind_table;
  return 1;
}

struct ModuleReturn {
  uintptr_t module;
  machine::ReturnCode code;
};

/// Finds code that returns in the module that holds the address.
machine::ReturnCode return_in(const void* address) {
  static thread_local ModuleReturn last{};
  dl_find_object found{};
  if (find_object(const_cast<void*>(address), &found) != 0) return {};
  if (last.module == reinterpret_cast<uintptr_t>(found.dlfo_map_start)) return last.code;
  // The page of the address is certainly mapped: search it from the address on, then before it.
  const size_t page = machine_page_bytes();
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto* low = reinterpret_cast<const char*>(page_down(at, page));
  const auto* middle = static_cast<const char*>(address);
  auto code = machine::find_return_code(middle, low + page);
  if (!code.at) code = machine::find_return_code(low, middle);
  if (code.at) last = {reinterpret_cast<uintptr_t>(found.dlfo_map_start), code};
  return code;
}

}  // namespace

FGMPI_NOT_SANITIZED void* find_in_module(const link_map* map, const char* wanted) {
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* table = nullptr;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_GNU_HASH) table = reinterpret_cast<const uint32_t*>(d->d_un.d_ptr);
  }
  if (!symbols || !strings || !table || table[0] == 0) return nullptr;
  uint32_t hash = 5381;
  for (const char* c = wanted; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  // The table (DT_GNU_HASH) holds: number of buckets, first symbol in them, 64-bit words of the
  // filter, shift of the filter; the filter; the buckets; the chains.
  const uint32_t count = table[0], first = table[1], words = table[2];
  const uint32_t *buckets = table + 4 + 2 * words, *chains = buckets + count;
  for (uint32_t i = buckets[hash % count]; i >= first && i != 0; ++i) {
    const uint32_t link = chains[i - first];
    if ((link | 1) == (hash | 1) && symbols[i].st_shndx != SHN_UNDEF &&
        same(strings + symbols[i].st_name, wanted))
      return reinterpret_cast<void*>(map->l_addr + symbols[i].st_value);
    if (link & 1) break;  // the last of its bucket
  }
  return nullptr;
}

FGMPI_NOT_SANITIZED void* function(const char* name) {
  void* found = find(name);
  FGMPI_CHECK(found);
  return found;
}

void* call_from(void* function, const void* caller, void* a, void* b, void* c) {
  const machine::ReturnCode code = caller ? return_in(caller) : machine::ReturnCode();
  if (code.at) return machine::call_returning_at(code, function, a, b, c);
  return reinterpret_cast<Function*>(function)(a, b, c);
}

int find_object(void* address, dl_find_object* result) {
  static auto* const c_library =
      reinterpret_cast<int (*)(void*, dl_find_object*)>(find("_dl_find_object"));
  if (c_library) return c_library(address, result);
  using Visit = int(dl_phdr_info*, size_t, void*);
  static auto* const iterate =
      reinterpret_cast<int (*)(Visit*, void*)>(function("dl_iterate_phdr"));
  ObjectSearch search{reinterpret_cast<uintptr_t>(address), result};
  return iterate(visit_object, &search) == 1 ? 0 : -1;
}

// The dynamic linker calls an empty function so that debuggers can set a breakpoint there.
bool watch_loading(void (*hook)()) {
  auto* empty = reinterpret_cast<void*>(_r_debug.r_brk);
  return empty && machine::replace_empty_function(empty, hook);
}

}  // namespace fgmpi::privatize::real
