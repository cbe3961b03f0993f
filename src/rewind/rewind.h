// The process whose run mpiexec -record writes down, or mpiexec -rewind repeats.
//
// All that the library and the program get from outside is recorded (inputs.h), the order of ranks
// is the library's, and time in the library is counted (base/repeatable.h). So the run repeats
// exactly; each MPI call is compared with the recorded one (events.h).
//
// Thread rule: begin() once, before ranks run.
#pragma once

#include "base/status.h"

namespace fgmpi::rewind {

/// Reads FGMPI_REWIND and begins to record or to repeat. An error names what the system lacks.
Status begin();

}  // namespace fgmpi::rewind
