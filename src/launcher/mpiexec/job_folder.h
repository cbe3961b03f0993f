// A folder that exists as long as a job, in which its processes leave files for mpiexec.
//
// Thread rule: any.
#pragma once

#include <string>

#include "base/status.h"

namespace fgmpi::launcher {

/// Makes the folder, below TMPDIR; below the working folder when processes may be `elsewhere`, on
/// other hosts: hosts share that more often than /tmp. `option`: the option that needs the folder
/// ("-check"), for its name and for errors.
Status make_job_folder(const std::string& option, bool elsewhere, std::string* folder);
/// Removes the folder with all its files. Does nothing for "".
void remove_job_folder(const std::string& folder);

}  // namespace fgmpi::launcher
