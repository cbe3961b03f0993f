// mpiexec -balance: a job whose ranks move where there is less to do. Thread rule: values.
#pragma once

#include <string>

#include "base/status.h"

namespace fgmpi::launcher {

/// Sets what the processes need, but for the memory of ranks. `summary`: they tell in the end what
/// has moved.
Status set_up_balance(bool summary, const std::string& library_folder);

}  // namespace fgmpi::launcher
