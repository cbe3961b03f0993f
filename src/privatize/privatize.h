// Privatisation: one process runs main many times, once per rank, each with its own globals.
//
//   ELF entry -> __libc_start_main (ours) -> decide: plain, shared globals, or images
//             -> the C library's own, with our main -> process_main (src/mpi, host stack) -> ranks
//             -> run_rank on each proclet: constructors, main, exit handlers, destructors
//
// The library interposes a few functions of the C library (exports.txt). Each of them does the
// plain thing unless the caller is a rank on the scheduler's thread: other threads, forked
// children, code on the host stack and programs that started without us never notice.
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

/// Functions of the layer above (src/mpi), which registers them in a static initialiser: those of
/// the library run before the program starts. Without them a process runs its ranks and nothing
/// else.
struct Runtime {
  uint32_t (*ranks_of_this_process)() = nullptr;
  /// Runs all ranks of the process, on the host stack; returns the exit status.
  int (*process_main)(Program& program) = nullptr;
  /// Called on a rank's proclet, once, when its program has ended. May be null.
  void (*rank_exits)(int status) = nullptr;
  /// A thread of the only rank of a process ends the process, its handlers have run. Returns where
  /// the process is to end at once. May be null.
  void (*thread_ends_process)(sched::Proclet* rank, int status) = nullptr;
  /// Runs what a program that calls FGmpiexec binds to a rank, in place of main, on the proclet of
  /// each rank but the first, where ranks share globals.
  void (*run_bound_function)() = nullptr;
};
void set_runtime(const Runtime& runtime);

/// Runs the program as rank proclet `local_index` on the current proclet: its image's constructors,
/// main, exit handlers and destructors; tells src/mpi (rank_exits) and finishes the proclet. Never
/// returns.
[[noreturn]] int run_rank(uint32_t local_index);

/// Late ranks (late_ranks.h). The first rank of the process calls MPI: the others begin. An error
/// says why there are none.
Status begin_late_ranks();
/// The first rank has ended: others that have not begun end, too.
void note_end_of_first_rank();
/// True where the process has late ranks that have not begun.
bool late_ranks_never_began();

/// World rank of this process's first rank, once it is known exactly (line prefixes and crash
/// reports presume block distribution of equal parts until then).
void set_first_world_rank(uint32_t first);

/// False in a program that loaded this library by dlopen while it was running: its main does not
/// run on a proclet.
bool started_through_us();
/// After a fork that goes on in place of this process, with all its ranks. Host stack.
void go_on_after_fork();

/// Writes out what ranks have printed, unfinished lines too. Before the process ends or the job is
/// aborted.
void finish_output();

/// True when each rank of the process has its own globals, because it is the only one or has an
/// image.
bool ranks_have_globals();

/// An address of a rank's image, of the program, a library or a plugin, as the dynamic linker
/// loaded it; any other address stays.
uintptr_t address_in_first_image(uintptr_t address);

/// True when the caller is a proclet that may switch: on the scheduler's thread, not in the child
/// of a fork, not on the host stack.
bool on_proclet();
/// The thread that runs main, not in the child of a fork.
bool on_scheduler_thread();

/// The calling rank has been granted a level at which threads call MPI, or has started a thread: if
/// both, from now on ranks that compute let others run after a while (time_slices.h). Any thread.
void begin_time_slices();

}  // namespace fgmpi::privatize
