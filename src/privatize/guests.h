// Guests: programs that ranks run which join a running process (spawned as proclets), the process's
// own or any other.
//
//   file --copy without the mark of an executable--> dlopen --> the dynamic linker's copy: what images are made from
//   rank k: image of it (plugins.h) --> its _start --> our __libc_start_main --> constructors, main, exit handlers
//
// The dynamic linker loads no executables beside the first. But a position-independent one differs
// from a library by one flag only (DF_1_PIE): a copy of the file without it is loaded, and images
// are mapped from the file itself.
//
// A program's code finds its thread-local variables at fixed distances from the thread pointer,
// where those of the program that the process was started with lie: both are swapped at switches,
// so a guest's must fit into the place of those.
//
// Refused with words: what is no position-independent program of this machine; thread-local
// variables that do not fit; an allocator of its own; a library that must be private to ranks but
// is loaded already; Fortran's MPI, whose constants are told by their addresses; copies of
// libraries' objects other than the C library's.
//
// Costs: 4 mappings or fewer and some pages a guest. Thread rule: the scheduler's thread.
// Invariant: a loaded program stays to the end of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

class Guest;

/// Loads a program, once per file. Host stack. Errors: MPI_ERR_SPAWN, in words.
Status load_guest(const std::string& path, Guest** out);
/// Makes images of it for the ranks with the local indices first .. first + count - 1, which are
/// called with these words (the first is the program's name). Host stack. Errors: MPI_ERR_SPAWN,
/// MPI_ERR_NO_MEM; then nothing stays behind.
Status prepare_guests(Guest* guest, uint32_t first, uint32_t count,
                      const std::vector<std::string>& words);
/// Runs the program on the current rank's proclet, as run_rank() runs the process's own. REQUIRES:
/// prepare_guests().
[[noreturn]] void run_guest();
/// They have ended, or never begun: gives back their images. Host stack.
void forget_guests(uint32_t first, uint32_t count);

/// Does the rank (a helper: its rank) run a guest?
bool is_guest(const sched::Proclet* p);

// ---- For the other files of this folder ----
using Main = int(int, char**, char**);
/// What a guest's _start calls. Its `init` runs constructors in programs linked with glibc before
/// 2.34.
[[noreturn]] void run_guest_main(Main* main, int argc, char** argv,
                                 void (*init)(int, char**, char**));
/// The initial values of the guest's thread-local variables that lie in the area [live, live +
/// size), put to `to`.
void copy_thread_locals(const Guest& guest, uint32_t image, const char* live, size_t size,
                        char* to);
/// Gives the calling thread, which a guest has started, the initial values.
void init_thread_locals_of_guest(uint32_t image);
/// Has a guest ever been loaded?
extern bool g_has_guests;

}  // namespace fgmpi::privatize
