// The host's name.
#pragma once

#include <string>

namespace fgmpi {

/// The host's name from the kernel; "unknown" when there is none. Leaves errno unchanged, so that a
/// message may name host and cause.
std::string host_name();

/// The host's name for protocols with separators: at most kMostHostName letters, digits, '.',
/// '-' and '_'.
std::string plain_host_name();
inline constexpr int kMostHostName = 40;

}  // namespace fgmpi
