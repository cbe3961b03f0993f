// Hints on files: those of the standard and of ROMIO that have a meaning here, with the values in
// use, and those that are known and ignored (MPI_File_get_info says so by leaving them out).
// ROMIO_HINTS names a file of `key value` lines, which come before what the program gives.
// Thread rule: one thread. Nothing here switches.
#pragma once

#include "comm/hints.h"
#include "file/processes.h"

namespace fgmpi::file {

/// Hints that are set unless a program or ROMIO_HINTS says otherwise.
comm::Hints default_hints();
/// Takes over known hints with good values. `opened`: the file is open, so that those that only an
/// open heeds are left out.
void use_hints(const comm::Hints& given, comm::Hints* used, bool opened);

/// A hint as a number in octal digits.
int64_t octal(const comm::Hints& hints, const char* key, int64_t fallback);

/// What posix_fadvise() is told for `access_style`.
int advice(const comm::Hints& hints);
/// "" when it is not there.
std::string text(const comm::Hints& hints, const char* key);
/// ROMIO_PRINT_HINTS: prints them.
void print_if_wanted(const comm::Hints& hints);

void write_hints(const comm::Hints& hints, Bytes* out);
comm::Hints read_hints(FieldReader* in);

}  // namespace fgmpi::file
