// The choice of the processes that aggregate in collective operations, by the hints
// `cb_config_list` and `cb_nodes`.
// Thread rule: any. Nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi::file {

/// A process that has the file.
struct FileProcess {
  uint64_t host;     ///< equal on one host
  std::string name;  ///< the host's name
};

/// True where `list` is a `cb_config_list` as ROMIO defines it. "host:2,*:1" allows two processes
/// of `host` and one of each other host; "*" as a number allows all processes of a host; a host
/// without a number has one; and a host counts where the list first names it.
bool is_config_list(const std::string& list);
/// Returns the indices of at most `most` processes, ascending. `most` 0: as many as the list
/// allows, without a list one of each host. One process of each host is chosen first, then the next
/// ones of each. A list that names none of the hosts is treated as "*:1".
std::vector<uint32_t> choose_aggregators(const std::vector<FileProcess>& places,
                                         const std::string& list, int64_t most);

}  // namespace fgmpi::file
