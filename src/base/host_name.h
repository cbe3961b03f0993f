// The host's name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace fgmpi {

/// The host's name from the kernel; "unknown" when there is none. Leaves errno unchanged, so that a
/// message may name host and cause.
std::string host_name();

/// Stores the host's name in a field of a file, cut to its length, with zeros behind it.
template <size_t kRoom>
void store_host_name(char (&field)[kRoom]) {
  const std::string name = host_name().substr(0, kRoom - 1);
  std::fill(std::copy(name.begin(), name.end(), field), field + kRoom, '\0');
}

/// The host's name for protocols with separators: at most kMostHostName letters, digits, '.',
/// '-' and '_'.
std::string plain_host_name();
inline constexpr int kMostHostName = 40;

}  // namespace fgmpi
