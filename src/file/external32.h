// external32 (MPI-4.0 section 14.5.2): big-endian, two's complement, IEEE; `long` has 4 bytes,
// `long double` is binary128, `wchar_t` is UCS-2.
// Thread rule: any. Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"

namespace fgmpi::file::external32 {

/// Bytes of a predefined type in the file.
int64_t size_of(MPI_Datatype type);
/// Encodes `count` items of a predefined type, without padding in pairs; both ends may be
/// unaligned. Errors: MPI_ERR_CONVERSION for a value that external32 cannot represent; the text
/// names the value.
Status encode(MPI_Datatype type, const char* in, int64_t count, char* out);
/// Decodes items. Values that memory cannot represent exactly (binary128 in a shorter `long
/// double`) are rounded.
void decode(MPI_Datatype type, const char* in, int64_t count, char* out);

}  // namespace fgmpi::file::external32
