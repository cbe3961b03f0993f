// Privatisation: one process runs main many times, once per rank, each with its own globals.
//
//   ELF entry -> __libc_start_main (ours) -> decide: plain, shared globals, or images
//             -> the C library's own, with our main -> process_main (src/mpi, host stack) -> ranks
//             -> run_rank on each proclet: constructors, main, exit handlers, destructors
//
// The library interposes some functions of the C library (exports.txt). Each of them only calls the
// C library's function, unless the caller is a rank on the scheduler's thread. So nothing changes
// for other threads, forked children, code on the host stack and programs that started without this
// library.
//
// Thread rule: one thread, the one that runs main. Invariants: the decision is made once, before
// the program's constructors; a rank's exit handlers run on its own proclet, newest first, exactly
// once.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// The program as the kernel started it.
struct Program {
  int argc = 0;
  char** argv = nullptr;
  char** envp = nullptr;
  uint32_t ranks = 1;  ///< rank proclets of this process
};

/// Functions of the layer above (src/mpi), which registers them in a static initialiser: the
/// library's initialisers run before the program starts. Without them a process runs its ranks and
/// does nothing else.
struct Runtime {
  uint32_t (*ranks_of_this_process)() = nullptr;
  /// Runs all ranks of the process, on the host stack; returns the exit status.
  int (*process_main)(Program& program) = nullptr;
  /// Called on a rank's proclet, once, when its program has ended. May be null.
  void (*rank_exits)(int status) = nullptr;
  /// Called when a thread of the only rank of a process ends the process and the exit handlers have
  /// run. Returns where the process is to end at once. May be null.
  void (*thread_ends_process)(sched::Proclet* rank, int status) = nullptr;
  /// Runs, on the proclet of each rank but the first, the function that a program binds to that
  /// rank by FGmpiexec, in place of main. Only where ranks share globals.
  void (*run_bound_function)() = nullptr;
};
void set_runtime(const Runtime& runtime);

/// Runs the program as rank proclet `local_index` on the current proclet: its image's constructors,
/// main, exit handlers and destructors. Then notifies src/mpi (rank_exits) and finishes the
/// proclet. Never returns.
[[noreturn]] int run_rank(uint32_t local_index);

/// Lets the late ranks (late_ranks.h) begin, when the first rank of the process calls MPI. An error
/// gives the reason why there are none.
Status begin_late_ranks();
/// Called when the first rank has ended: late ranks that have not begun end, too.
void release_late_ranks_at_end();
/// True where the process has late ranks that have not begun.
bool late_ranks_never_began();

/// Sets the world rank of this process's first rank, once it is certain. Until then line prefixes
/// and crash reports presume that all processes host equally many ranks, in blocks.
void set_first_world_rank(uint32_t first);

/// False in a program that loaded this library by dlopen while it was running: its main does not
/// run on a proclet.
bool started_through_us();
/// Called after a fork whose child goes on in place of this process, with all its ranks. REQUIRES:
/// called on the host stack.
void restore_after_fork();

/// Sets a function that a crash report calls for a tool (MPIX_Tool_ends); null: none.
void set_tool_crashed(void (*crashed)(int signal_number, const void* address));

/// Writes out what ranks have printed, unfinished lines too. Called before the process ends or the
/// job is aborted.
void finish_output();

/// True when each rank of the process has its own globals, because it is the only one or has an
/// image.
bool ranks_have_globals();

/// Moves an address of a rank's image (of the program, a library or a plugin) to the copy that the
/// dynamic linker loaded; any other address is returned as it is.
uintptr_t address_in_first_image(uintptr_t address);

/// True when the caller is a proclet that may switch: on the scheduler's thread, not in the child
/// of a fork, not on the host stack.
bool on_proclet();
/// True on the thread that runs main, except in the child of a fork.
bool on_scheduler_thread();

/// Called when the calling rank has been granted a level at which threads call MPI, and when it has
/// started a thread. Once both have happened, ranks that compute let others run after a while
/// (time_slices.h). Any thread.
void begin_time_slices();

}  // namespace fgmpi::privatize
