// Checks of a program before it is started: it exists, may be executed, and loads this MPI library
// and no other.
//
// The dynamic linker's --list option shows which library the program loads. mpiexec puts this
// library first in LD_LIBRARY_PATH, but an RPATH of the program takes precedence. Then this library
// is preloaded, which satisfies the program because it has the name that the program asks for.
// Scripts are not examined.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "launcher/mpiexec/command_line.h"

namespace fgmpi::launcher {

/// Exit statuses of mpiexec, as shells use them.
constexpr int kNotFound = 127, kNotExecutable = 126;

/// Examines a program of the command line. `ranks_each`: ranks in each process, 1 when unknown;
/// `by_nfg`: -nfg gave that number. Adds to `additions` the options of hydra that set what the
/// program needs in its environment. An error is of class MPI_ERR_NO_SUCH_FILE or MPI_ERR_ACCESS
/// where the program cannot be executed (see exit_status()), and names the program and what is
/// allowed. `elsewhere`: the program may be on other hosts only.
Status inspect_program(const Words& program, const Words& options, int64_t ranks_each, bool by_nfg,
                       bool elsewhere, const std::string& library_folder, Words* additions);

/// True if several ranks may share a process of the program: it is position-independent, is linked
/// dynamically and loads an MPI library with MPICH's ABI. False for scripts and for programs that
/// do not use MPI, because these cannot be examined.
bool can_share_process(const Words& program, const Words& options);

/// Finds the file of a program that is executed as `name`, as the shell finds it. Errors: the
/// program is not linked dynamically.
Status find_dynamic_program(const std::string& name, std::string* path);

/// True if a variable of hydra or of a batch system names hosts.
bool environment_names_hosts();

int exit_status(const Status& status);

/// The words as execve() takes them: pointers into them, and a null pointer behind.
std::vector<char*> pointers_to(const Words& words);

/// Waits until the child has ended. Returns its exit status as shells do: 128 and the signal's
/// number where a signal has ended it.
int wait_for_child(pid_t child);

}  // namespace fgmpi::launcher
