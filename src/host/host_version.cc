// Reading of the text by which an MPI library names itself and its version.

#include "host/host_version.h"

#include <cstdio>

namespace fgmpi::host {
namespace {

std::string_view without_spaces(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// The rest of the text after `front`; empty when it begins otherwise.
std::string_view after(std::string_view text, std::string_view front) {
  return text.substr(0, front.size()) == front ? without_spaces(text.substr(front.size()))
                                               : std::string_view();
}

}  // namespace

HostVersion read_host_version(std::string_view text) {
  const std::string_view line = without_spaces(text.substr(0, text.find('\n')));
  HostVersion found;
  if (const std::string version(after(line, "MPICH Version:")); !version.empty()) {
    found.name = "MPICH " + version;
    int major = 0, minor = 0;
    if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 &&
        (major == 4 || (major == 5 && minor == 0)))
      found.support = HostVersion::Support::kTried;
    return found;
  }
  found.name = line.empty() ? "an MPI library without a name" : std::string(line.substr(0, 80));
  if (!after(line, "Open MPI").empty()) found.support = HostVersion::Support::kStranger;
  return found;
}

}  // namespace fgmpi::host
