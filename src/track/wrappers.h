// What generated and hand-written wrappers share.
#pragma once

#include "track/recorder.h"
#include "watch/interpose.h"
#include "watch/places.h"

namespace fgmpi::track {

/// To PMPI_* of this library, which are traced when the Fortran binding calls them; to all others
/// they are MPI's own.
using findings::from_fortran;

}  // namespace fgmpi::track
