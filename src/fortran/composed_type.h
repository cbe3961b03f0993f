// Composed types: a datatype of the memory of a section that has the elements of a call's count and
// datatype, so that one element of it at the section's base is the call's buffer. Nothing is
// copied, and nonblocking and one-sided calls keep it.
//
//   MPI_Isend(a(1:20:2), 7, MPI_REAL, ...)
//   MPI_Isend(a(1), 1, hvector(7 times 1 MPI_REAL, 8 bytes apart), ...)
//
// Thread rule: one thread, inside the library. Nothing here switches.
#pragma once

#include <mpi.h>

#include "base/status.h"
#include "fortran/section.h"
#include "host/datatype.h"

namespace fgmpi::fortran {

/// Bytes of the sequence that `count` elements of `type` reach over: from the first to behind the
/// last. Errors: MPI_ERR_BUFFER when they are not all in the section. `argument` is the buffer's
/// name.
Status check_reach(const ArraySection& section, int64_t count, const host::Type& type,
                   const char* argument);

/// Makes a committed datatype for the first `count` elements of `type` in the sequence. REQUIRES:
/// check_reach() is ok. Errors: MPI_ERR_TYPE, MPI_ERR_NO_MEM.
Status compose(const ArraySection& section, int64_t count, const host::Type& type,
               MPI_Datatype* made);
/// The same for one of `partitions` partitions, whose extent leads to the next one. Errors: also
/// MPI_ERR_BUFFER when the partitions do not lie at equal distances.
Status compose_partition(const ArraySection& section, int64_t partitions, int64_t count,
                         const host::Type& type, const char* argument, MPI_Datatype* made);
/// Frees a composed type; calls that are under way keep it.
void free_composed(MPI_Datatype type);

}  // namespace fgmpi::fortran
