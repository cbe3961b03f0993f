// A folder for the time of a job, in which its processes leave files for mpiexec.
//
// Thread rule: any.
#pragma once

#include <string>

#include "base/status.h"

namespace fgmpi::launcher {

/// Makes it, below TMPDIR; below the working folder when processes may be `elsewhere`, on other
/// hosts: hosts share that more often than /tmp. `option`: whose it is ("-check"), for its name and
/// for errors.
Status make_job_folder(const std::string& option, bool elsewhere, std::string* folder);
/// With all that is in it. Nothing for "".
void remove_job_folder(const std::string& folder);

}  // namespace fgmpi::launcher
