// Which processes aggregate in collective operations: `cb_config_list` and `cb_nodes`.
// Thread rule: any. Nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi::file {

/// A process that has the file.
struct Place {
  uint64_t host;     ///< equal on one host
  std::string name;  ///< of the host
};

/// `cb_config_list` as ROMIO has it: "host:2,*:1" allows two processes of `host` and one of each
/// other; "*" as a number is all of a host, a host without a number means one, and a host counts
/// where it is first named.
bool is_config_list(const std::string& list);
/// Indices of at most `most` processes (0: as many as are allowed, without a list one of each
/// host), ascending. One of each host comes first, then the next ones of each. A list that names
/// none of the hosts is as "*:1".
std::vector<uint32_t> choose_aggregators(const std::vector<Place>& places, const std::string& list,
                                         int64_t most);

}  // namespace fgmpi::file
