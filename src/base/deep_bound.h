// Libraries of the system that must not be bound to this one: the hosted MPI, whose functions have
// the names of ours, and PMIx. They are loaded with RTLD_DEEPBIND, and so get the C library's own
// functions in place of those that this library, or the program, puts in front of them.
//
// Memory is the exception: the C library itself hands out memory that its callers free (getline,
// strdup), and gets it from the malloc that the process has, which may be another library's
// (tcmalloc, jemalloc) or the program's. Where it is, the library and what it loads are bound to
// that one too. Thread rule: one thread at a time, as the library that is loaded needs.
#pragma once

namespace fgmpi {

/// As dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND).
void* open_deep_bound(const char* path);

}  // namespace fgmpi
