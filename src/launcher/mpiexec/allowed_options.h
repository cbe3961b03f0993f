// Which options of mpiexec may stand beside which others, for those that start jobs in a way of
// their own. Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "launcher/mpiexec/command_line.h"

namespace fgmpi::launcher {

/// One program of the launch.
struct ProgramSection {
  Words options;                              ///< for hydra
  Words program;                              ///< with its arguments
  int64_t processes = 0, nfg = 0, ranks = 0;  ///< 0: not given
};

/// Checks that nothing stands beside -record and -rewind that they do not know. `tracked`: -track
/// is given.
Status check_recording(const LaunchPlan& plan, const std::vector<ProgramSection>& sections,
                       bool tracked);
/// As check_recording(), for -checkpoint and -restart.
Status check_checkpoints(const LaunchPlan& plan, const std::vector<ProgramSection>& sections,
                         bool tracked);
/// As check_recording(), for -balance. The library of a balanced job defines the MPI functions in
/// front of the library's, and only the reporter knows it.
Status check_balance(const LaunchPlan& plan, bool tracked);
/// Reads a time such as 500ms, 30s, 10m or 2h; a number alone is one of seconds. None: it is no
/// time of at least a millisecond.
std::optional<int64_t> parse_interval_ms(std::string_view text);

}  // namespace fgmpi::launcher
