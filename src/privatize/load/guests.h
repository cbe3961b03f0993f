// Guests: programs that ranks run which join a running process (spawned as proclets). A guest is
// the process's own program or any other.
//
//   file --copy without the mark of an executable--> dlopen --> the dynamic linker's copy: images
//                                                               are made from it
//   rank k: its image (plugins.h) --> its _start --> our __libc_start_main --> constructors, main,
//                                                                              exit handlers
//
// The dynamic linker loads no executable beside the first. But a position-independent executable
// differs from a library only by one flag (DF_1_PIE). So a copy of the file without the flag is
// loaded, and images are mapped from the file itself.
//
// A program's code finds its thread-local variables at fixed distances from the thread pointer, and
// a guest's lie where those of the program lie that the process was started with. Switches swap
// both, so a guest's variables must fit into that room.
//
// Refused, with an error that gives the reason: files that are no position-independent program of
// this machine; thread-local variables that do not fit; a program with its own allocator; a library
// that must be private to ranks but is loaded already; Fortran's MPI, whose constants are
// recognised by their addresses; copies of libraries' objects other than the C library's.
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

/// Loads a program, once per file. REQUIRES: called on the host stack. Errors: MPI_ERR_SPAWN.
Status load_guest(const std::string& path, Guest** out);
/// Makes images of the program for the ranks with the local indices first .. first + count - 1,
/// whose argument vectors will be `words` (the first is the program's name). REQUIRES: called on
/// the host stack. Errors: MPI_ERR_SPAWN, MPI_ERR_NO_MEM; after an error nothing is left allocated.
Status prepare_guests(Guest* guest, uint32_t first, uint32_t count,
                      const std::vector<std::string>& words);
/// Runs the guest program on the current rank's proclet, as run_rank() runs the process's own.
/// REQUIRES: prepare_guests() was called.
[[noreturn]] void run_guest();
/// Releases the images of guests that have ended, or never begun. REQUIRES: called on the host
/// stack.
void forget_guests(uint32_t first, uint32_t count);

/// True where the rank runs a guest; for a helper, where its rank does.
bool is_guest(const sched::Proclet* p);

// ---- For the other files of this folder ----
using Main = int(int, char**, char**);
/// The function that a guest's _start calls in place of the C library's. `init` runs the
/// constructors of programs linked with glibc before 2.34.
[[noreturn]] void run_guest_main(Main* main, int argc, char** argv,
                                 void (*init)(int, char**, char**));
/// Writes to `to` the initial values of the guest's thread-local variables that lie in the area
/// [live, live + size).
void copy_thread_locals(const Guest& guest, uint32_t image, const char* live, size_t size,
                        char* to);
/// Gives the calling thread, which a guest has started, the initial values of the guest's
/// thread-local variables.
void init_thread_locals_of_guest(uint32_t image);
/// True once a guest has been loaded.
extern bool g_has_guests;

}  // namespace fgmpi::privatize
