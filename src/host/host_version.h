// What an MPI library says that it is, by its MPI_Get_library_version, and whether it can be the
// host. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fgmpi::host {

struct HostVersion {
  enum class Support : uint8_t {
    kTried,     ///< a version of MPICH with which this library is tested
    kUntried,   ///< it may have MPICH's ABI
    kStranger,  ///< its handles are others than MPICH's
  };
  std::string name;  ///< "MPICH 4.2.1"; of others the first line of what they say
  Support support = Support::kUntried;
};

/// The versions with which this library is tested, in words.
inline constexpr const char* kTriedHosts = "MPICH 4.0 to 5.0";

/// Reads the text of MPI_Get_library_version; an empty one: the library has no such function.
HostVersion read_host_version(std::string_view text);

}  // namespace fgmpi::host
