// Hints on files: those of the standard and of ROMIO that have a meaning here, with the values in
// use. Others are ignored, and MPI_File_get_info leaves them out. ROMIO_HINTS names a file of `key
// value` lines; hints of the program replace them. Thread rule: one thread. Nothing here switches.
#pragma once

#include "comm/hints.h"
#include "file/processes.h"

namespace fgmpi::file {

/// Hints that are set unless a program or ROMIO_HINTS sets them otherwise.
comm::Hints default_hints();
/// Copies supported hints with good values into `used`. `opened`: the file is open, so hints that
/// have an effect only while a file is opened are left out.
void use_hints(const comm::Hints& given, comm::Hints* used, bool opened);

/// A hint whose value is a number in octal digits.
int64_t octal(const comm::Hints& hints, const char* key, int64_t fallback);

/// The advice for posix_fadvise() that the hint `access_style` means.
int advice(const comm::Hints& hints);
/// The hint's text; "" where it is absent.
std::string text(const comm::Hints& hints, const char* key);
/// Prints the hints, if ROMIO_PRINT_HINTS is set.
void print_hints_if_requested(const comm::Hints& hints);

void write_hints(const comm::Hints& hints, Bytes* out);
comm::Hints read_hints(FieldReader* in);

}  // namespace fgmpi::file
