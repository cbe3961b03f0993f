// Hints on communicators (MPI-4.0 section 7.4.4): info keys that the library supports, stored as
// the user gives them, and the strategy for irregular maps (`fgmpi_groupmap`). Other keys are
// ignored, as the standard demands. Thread rule: any thread. Nothing here switches.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "groupmap/groupmap.h"

namespace fgmpi::comm {

using Hints = std::vector<std::pair<std::string, std::string>>;

/// True for a key that communicators support.
bool is_supported_hint(const std::string& key);
/// Merges the supported keys of `info` (MPI_INFO_NULL: none) into `hints`. Errors: MPI_ERR_INFO;
/// MPI_ERR_INFO_VALUE for a strategy that does not exist.
Status read_hints(MPI_Info info, Hints* hints);
/// Adds a hint or replaces its value.
void put_hint(Hints* hints, std::pair<std::string, std::string> hint);
/// Reads all keys of an info object, or one of them ("" when it is not set).
Status read_info(MPI_Info info, Hints* all);
Status read_info_key(MPI_Info info, const char* key, std::string* value);
/// The strategy that `fgmpi_groupmap` names, if that hint is set.
std::optional<groupmap::Strategy> strategy_of(const Hints& hints);

}  // namespace fgmpi::comm
