// MPI_Pack_external, MPI_Unpack_external and MPI_Pack_external_size (MPI-4.0 section 5.3): the
// canonical representation by src/file's conversions. They are implemented here because an
// assertion of the hosted MPICH 4.0.2 fails for types of more than one predefined type. Thread
// rule: one thread. Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"

namespace fgmpi::mpi {

/// Bytes that `count` elements need. Errors: MPI_ERR_ARG (another datarep than "external32"),
/// MPI_ERR_COUNT, MPI_ERR_TYPE.
Status pack_external_size(const char* datarep, int64_t count, MPI_Datatype type, int64_t* bytes);
/// Packs to out + *position, where out has `size` bytes in all, and moves *position on. Errors:
/// those above, MPI_ERR_ARG where there is not enough room, MPI_ERR_CONVERSION for a value that
/// external32 cannot represent.
Status pack_external(const char* datarep, const void* in, int64_t count, MPI_Datatype type,
                     void* out, int64_t size, int64_t* position);
/// Unpacks from in + *position. Errors: as above.
Status unpack_external(const char* datarep, const void* in, int64_t size, int64_t* position,
                       void* out, int64_t count, MPI_Datatype type);

}  // namespace fgmpi::mpi
