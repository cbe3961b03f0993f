// The host's name.
#pragma once

#include <string>

namespace fgmpi {

/// As the kernel has it; "unknown" when it has none. Keeps errno, so that a message may name host
/// and cause.
std::string host_name();

/// Made fit for protocols with separators: at most kMostHostName of letters, digits, '.', '-' and
/// '_'.
std::string plain_host_name();
inline constexpr int kMostHostName = 40;

}  // namespace fgmpi
