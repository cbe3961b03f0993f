// Composed types. A composed type describes, in the memory of a section, the elements of a call's
// count and datatype: one element of it at the section's base is the call's buffer. No data is
// copied. MPI keeps the type for nonblocking and one-sided calls until they are complete.
//
//   MPI_Isend(a(1:20:2), 7, MPI_REAL, ...)
//   MPI_Isend(a(1), 1, hvector(7 times 1 MPI_REAL, 8 bytes apart), ...)
//
// Thread rule: one thread, inside the library. Nothing here switches.
#pragma once

#include <mpi.h>

#include "base/status.h"
#include "datatype/datatype.h"
#include "fortran/section.h"

namespace fgmpi::fortran {

/// Checks that the section has all bytes of the sequence that `count` elements of `type` need.
/// Errors: MPI_ERR_BUFFER where it does not. `argument` is the buffer's name.
Status check_reach(const ArraySection& section, int64_t count, const datatype::Type& type,
                   const char* argument);

/// Makes a committed datatype for the first `count` elements of `type` in the sequence. REQUIRES:
/// check_reach() is ok. Errors: MPI_ERR_TYPE, MPI_ERR_NO_MEM.
Status compose(const ArraySection& section, int64_t count, const datatype::Type& type,
               MPI_Datatype* made);
/// Makes such a datatype for the first of `partitions` partitions; its extent is the distance to
/// the next one. Errors: also MPI_ERR_BUFFER when the partitions do not lie at equal distances.
Status compose_partition(const ArraySection& section, int64_t partitions, int64_t count,
                         const datatype::Type& type, const char* argument, MPI_Datatype* made);
/// Frees a composed type. MPI keeps it until the calls that use it are complete.
void free_composed(MPI_Datatype type);

}  // namespace fgmpi::fortran
