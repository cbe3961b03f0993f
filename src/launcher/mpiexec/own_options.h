// The options of mpiexec that hydra does not see and that need no more than a place in a list.
// Thread rule: values.
#pragma once

#include <string_view>

namespace fgmpi::launcher {

/// Options without a value. Of these, Open MPI's -oversubscribe and -allow-run-as-root change
/// nothing: hydra needs neither.
inline constexpr std::string_view kSwitches[] = {"help",
                                                 "h",
                                                 "version",
                                                 "V",
                                                 "dry-run",
                                                 "ft",
                                                 "summary",
                                                 "balance",
                                                 "v",
                                                 "progress",
                                                 "predict-explain",
                                                 "l",
                                                 "oversubscribe",
                                                 "allow-run-as-root",
                                                 "prepend-rank",
                                                 "verbose",
                                                 "disable-auto-cleanup",
                                                 "restart-on-failure",
                                                 "record-inputs"};
/// Options that are followed by the name of a file or folder.
inline constexpr std::string_view kNamesOfFiles[] = {
    "track",  "report",     "check-report", "explore-files", "resume",
    "replay", "configfile", "predict",      "predict-plot",  "record",
    "rewind", "checkpoint", "restart"};

}  // namespace fgmpi::launcher
