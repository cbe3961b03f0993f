// The dynamic linker's own functions, which this library interposes (dynamic_loading.cc).
//
// dlopen and dlsym depend on who calls: on the caller's RUNPATH, and on what comes after it
// (RTLD_NEXT). A call on behalf of a rank is therefore made as if it came from the module that the
// dynamic linker has loaded: with an address in that module as its return address, where a return
// instruction leads back here.
//
// Thread rule: any thread.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#ifndef DLFO_STRUCT_HAS_EH_DBASE
/// The C library declares this structure, and _dl_find_object(), since glibc 2.35. The unwinder
/// reads it, so its layout is the same everywhere.
struct dl_find_object {
  unsigned long long dlfo_flags;
  void* dlfo_map_start;
  void* dlfo_map_end;
  link_map* dlfo_link_map;
  void* dlfo_eh_frame;
  unsigned long long reserved[7];
};
#endif

namespace fgmpi::privatize::real {

/// Marks functions that run before the runtime of a sanitizer has set up its memory.
#define FGMPI_NOT_SANITIZED __attribute__((no_sanitize("address", "undefined")))

using Function = void*(void*, void*, void*);

/// The address of a symbol that the loaded module defines; nullptr where it defines none.
void* find_in_module(const link_map* map, const char* wanted);

/// The C library's definition of one of the interposed functions, for instance "dlopen".
void* function(const char* name);

/// Calls function(a, b, c) as if from the module that holds `caller`, an address that the dynamic
/// linker knows.
void* call_from(void* function, const void* caller, void* a, void* b, void* c);

/// Finds the loaded library that holds the address, as _dl_find_object() of the C library does;
/// where there is none (glibc before 2.35), by visiting all libraries. Returns 0, or -1 where no
/// library does.
int find_object(void* address, dl_find_object* result);

/// Makes the dynamic linker call `hook` at each change of the list of loaded libraries, also
/// between the loading of a library and its relocation and constructors. Returns false where the
/// system or the C library does not allow it. Called once.
bool watch_loading(void (*hook)());

}  // namespace fgmpi::privatize::real
