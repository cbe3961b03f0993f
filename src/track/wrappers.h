// Declarations that generated and hand-written wrappers share.
#pragma once

#include "track/recorder.h"
#include "watch/interpose.h"
#include "watch/places.h"

namespace fgmpi::track {

/// Calls of PMPI_* from the Fortran binding are traced; all others are passed on to MPI.
using findings::from_fortran;

}  // namespace fgmpi::track
