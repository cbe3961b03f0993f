// Calls of the dynamic linker's own functions as if they came from the program.

#include "privatize/load/real_loader.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/assert.h"
#include "base/page.h"
#include "privatize/image/allocator.h"

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
  if (!map) return nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* table = nullptr;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_GNU_HASH) table = reinterpret_cast<const uint32_t*>(d->d_un.d_ptr);
  }
  if (!symbols || !strings || !table) return nullptr;
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

constexpr unsigned char kReturn = 0xc3;

struct Code {
  uintptr_t module;
  const void* at;
};

/// Returns the address of a return instruction in the module that holds the address, or nullptr.
const void* return_in(const void* address) {
  static thread_local Code last{};
  dl_find_object found{};
  using Find = int(void*, dl_find_object*);
  static auto* find_object = reinterpret_cast<Find*>(find("_dl_find_object"));
  if (!find_object || find_object(const_cast<void*>(address), &found) != 0) return nullptr;
  if (last.module == reinterpret_cast<uintptr_t>(found.dlfo_map_start)) return last.at;
  // The page of the address is certainly mapped: search it from the address on, then before it.
  const size_t page = machine_page_bytes();
  const auto number = reinterpret_cast<uintptr_t>(address);
  const auto* from = static_cast<const unsigned char*>(address);
  const auto* end = reinterpret_cast<const unsigned char*>(page_up(number + 1, page));
  const auto* code = std::find(from, end, kReturn);
  if (code == end) {
    from = reinterpret_cast<const unsigned char*>(page_down(number, page));
    end = static_cast<const unsigned char*>(address);
    code = std::find(from, end, kReturn);
  }
  if (code == end) return nullptr;
  last = {reinterpret_cast<uintptr_t>(found.dlfo_map_start), code};
  return code;
}

/// Calls function(a, b, c) with `at` as its return address, where a return instruction stands. `at`
/// is pushed twice, so that the stack stays aligned: the return instruction runs twice, and then
/// leads back to the caller.
extern "C" void* fgmpi_call_with_return_at(void* function, void* a, void* b, void* c,
                                           const void* at);
asm(R"(
  .text
  .type fgmpi_call_with_return_at, @function
  .hidden fgmpi_call_with_return_at
fgmpi_call_with_return_at:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  push %r8
  push %r8
  jmp *%rax
  .size fgmpi_call_with_return_at, . - fgmpi_call_with_return_at
)");

}  // namespace

FGMPI_NOT_SANITIZED void* function(const char* name) {
  void* found = find(name);
  FGMPI_CHECK(found);
  return found;
}

void* call_from(void* function, const void* caller, void* a, void* b, void* c) {
  if (const void* at = caller ? return_in(caller) : nullptr)
    return fgmpi_call_with_return_at(function, a, b, c, at);
  return reinterpret_cast<Function*>(function)(a, b, c);
}

bool watch_loading(void (*hook)()) {
  // The dynamic linker calls an empty function so that debuggers can set a breakpoint there: one
  // return instruction, and padding up to 16 bytes.
  auto* empty = reinterpret_cast<unsigned char*>(_r_debug.r_brk);
  constexpr size_t kRoom = 16;
  static_assert(kJumpBytes <= kRoom);
  if (!empty || empty[0] != kReturn || reinterpret_cast<uintptr_t>(empty) % kRoom != 0)
    return false;
  const size_t page = machine_page_bytes();
  auto* start = reinterpret_cast<void*>(page_down(reinterpret_cast<uintptr_t>(empty), page));
  // The page stays executable while it is changed: other threads may run its code.
  if (mprotect(start, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  write_jump(reinterpret_cast<char*>(empty), reinterpret_cast<uintptr_t>(hook));
  return mprotect(start, page, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace fgmpi::privatize::real
