// What mpiexec knows of a program before it is started: that it is there and may be executed, and
// whether it would find another MPI library than ours.
//
// Which library a program finds is the dynamic linker's answer, not ours (its --list option):
// LD_LIBRARY_PATH, where mpiexec puts our library first, counts less than an RPATH of the program.
// There our library is preloaded instead; it has the name that the program asks for. Scripts are
// not looked into.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/command_line.h"

namespace fgmpi::launcher {

/// Exit statuses of mpiexec as shells have them.
constexpr int kNotFound = 127, kNotExecutable = 126;

/// Looks at a program of the command line. `ranks_each`: ranks in each process, 1 when unknown.
/// Adds to `options` (hydra's) what the program needs in its environment. An error is of class
/// MPI_ERR_NO_SUCH_FILE or MPI_ERR_ACCESS where the program cannot be executed (see exit_status()),
/// and names the program and what is allowed. `elsewhere`: the program may be on other hosts only.
Status inspect_program(const Words& program, const Words& options, int64_t ranks_each,
                       bool elsewhere, const std::string& library_folder, Words* additions);

/// Does this command line (or a batch system's or hydra's variable) name hosts?
bool names_hosts(const Words& arguments);

int exit_status(const Status& status);

}  // namespace fgmpi::launcher
