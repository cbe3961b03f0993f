// Libraries of the system that must not be bound to this one: PMIx, and the hosted MPI, whose
// functions have the names of ours. They are loaded with RTLD_DEEPBIND. So they are bound to the C
// library's own functions, not to those that this library, or the program, puts in front of them.
//
// Memory is the exception. The C library itself returns memory that its callers free (getline,
// strdup), and gets it from the process's malloc, which may be another library's (tcmalloc,
// jemalloc) or the program's. In such a process, the loaded library and what it loads are bound to
// that malloc, too. Thread rule: one thread at a time, as the loaded library needs.
#pragma once

namespace fgmpi {

/// Like dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND).
void* open_deep_bound(const char* path);

}  // namespace fgmpi
