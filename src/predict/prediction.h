// The start and the end of a prediction in the predicted process. Usage: docs/predicting.md. Thread
// rule: the main thread, before ranks run; register_deciders() once the process is connected.
#pragma once

#include "base/status.h"

namespace fgmpi::predict {

/// True in the process of mpiexec -predict. Never changes while ranks run.
bool is_active();
/// Reads the machine that mpiexec has left in the folder, if there is one. Errors: MPI_ERR_ARG.
Status begin();
/// Makes the simulator decide for pt2pt, comm and coll. Does nothing where is_active() is false.
void register_deciders(unsigned ranks);

}  // namespace fgmpi::predict
