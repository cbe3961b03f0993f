// What the clients of both versions of PMI share.
//
// Thread rule: as Bootstrap's.
#pragma once

#include <string>

#include "base/environment.h"
#include "base/status.h"

namespace fgmpi::bootstrap {

/// Reads a number that the launcher has put into the environment: from 0 to 2^31 - 1.
Status environment_number(environment::Variable variable, int* value);

/// Reads PMI_FD, an open descriptor.
Status inherited_connection(int* fd);

/// Returns an error when a key or a value is too long, or has characters with a meaning in
/// the protocols.
Status check_pair(const std::string& key, size_t max_key, const std::string& value,
                  size_t max_value);

/// Waits until the launcher has emptied this process's output pipes, for at most 0.2 s each: a
/// launcher that ends the job may drop output that it has not read. Other ranks do not run
/// meanwhile, since the job ends.
void let_launcher_read_output();

}  // namespace fgmpi::bootstrap
