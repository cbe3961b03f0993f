// What the clients of both versions of PMI share.
//
// Thread rule: as Bootstrap's.
#pragma once

#include <string>

#include "base/environment.h"
#include "base/status.h"

namespace fgmpi::bootstrap {

/// A number that the launcher has put into the environment: from 0 to 2^31 - 1.
Status environment_number(environment::Variable variable, int* value);

/// PMI_FD, an open descriptor.
Status inherited_connection(int* fd);

/// An error when a key or a value is longer than these, or has characters that the protocols give a
/// meaning to.
Status check_pair(const std::string& key, size_t max_key, const std::string& value,
                  size_t max_value);

/// When a launcher ends the job, it may drop the output that it has not read from this process.
/// This waits until the pipes are empty, for at most 0.2 s each. Other ranks do not run meanwhile:
/// the job ends.
void let_launcher_read_output();

}  // namespace fgmpi::bootstrap
