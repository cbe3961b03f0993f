// Slurm's short form of the names of hosts, and of numbers of processes on them.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "launcher/mpiexec/command_line.h"

namespace fgmpi::launcher {

/// The names that Slurm's short form stands for: "a[1-3,07],b" is a1,a2,a3,a07,b. Errors:
/// MPI_ERR_ARG.
Status expand_host_names(std::string_view text, Words* names);
/// The numbers that "2(x3),1" stands for: 2, 2, 2, 1. Nothing for other texts.
std::optional<std::vector<int64_t>> parse_slurm_counts(std::string_view text);

}  // namespace fgmpi::launcher
