// Declarations that the files of this folder share; no other folder includes this.
#pragma once

#include <dlfcn.h>
#include <signal.h>

#include <cstddef>
#include <cstdint>

#include "privatize/privatize.h"
#include "proclet-sched/threads/threads.h"

// Interposed functions are exported; everything else stays hidden.
#define FGMPI_INTERPOSE extern "C" __attribute__((visibility("default")))

namespace fgmpi::privatize {

/// How the globals of this process's ranks are kept.
enum class ImageMode : uint8_t {
  kForeign,  ///< the program did not start through us (yet)
  kSingle,   ///< one rank: the program's own globals
  kShared,   ///< several ranks share the program's globals
  kImages,   ///< each rank has an image of the program
};
extern ImageMode g_mode;

/// The definition of a function that follows ours in the search order: the C library's. Usable at
/// any time.
template <class F>
F* next_symbol(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

/// True for code or data of this library, not of the program.
bool in_this_library(uintptr_t address);

// ---- state.cc: all other files use it; it uses only thread_keys.cc ----
using Main = int(int, char**, char**);
/// The program's main (of image 0) and its arguments.
extern Main* g_main;
extern Program g_program;

/// Makes the calling thread, the one that runs main, the scheduler's. Called once, at the start. In
/// the child of a fork, no thread is the scheduler's any more.
void become_scheduler_thread();
uint32_t first_world_rank();
uint32_t world_rank(const sched::Proclet* p);
/// World rank of this process's first rank, and the ranks of the job, before the processes have
/// exchanged how many ranks each has: by what mpiexec says (environment::kShares), else for equal
/// or (FGMPI_RANKS) nearly equal shares.
struct PresumedRanks {
  uint64_t first, total;
  uint64_t process = 0, processes = 1;  ///< number of this process; of all
};
PresumedRanks presumed_ranks(uint32_t of_this_process);
/// False in the child of a fork or vfork.
bool in_own_process();
/// True at the first call in the child of a fork that a rank called, so that the child's exit()
/// runs the exit handlers of that rank once; else false.
bool first_exit_of_forked_rank();
/// Called in the child of a fork that was made on the host stack for a rank.
void set_forked_by_rank();

// ---- start.cc ----
/// The state of a rank that has private globals, in a process whose ranks have images.
struct Image* image_of_rank(uint32_t index);
/// Makes every switch swap from now on, also in a process whose ranks have no images. Called before
/// the first guest is loaded.
void prepare_for_guests();

// ---- exits.cc ----
/// Sets the functions that are called when a rank has ended (Runtime::rank_exits,
/// ::thread_ends_process).
void set_rank_exits(void (*rank_exits)(int status),
                    void (*thread_ends_process)(sched::Proclet* rank, int status));
/// Gives rank 0 the exit handlers that the program registered before it ran.
void adopt_early_handlers(sched::Proclet* rank0);
/// True where a module that lies in [low, low + size) has registered destructors of thread-local
/// objects for the rank.
bool has_thread_destructors_of(const sched::Proclet* rank, uintptr_t low, size_t size);
/// Runs the current rank's exit handlers and destructors, notifies src/mpi, finishes the proclet.
[[noreturn]] void end_rank(int status);

// ---- openmp.cc ----
/// Sets the default number of threads of a program with OpenMP. Called before images are made.
void share_processors(uint32_t ranks);

// ---- thread_keys.cc ----
/// Runs the destructors of the current rank's thread-specific values, when its thread ends but the
/// process does not.
void destroy_thread_values();
/// Called in the child of a fork, before its thread ceases to be the scheduler's: the rank that
/// called fork still has its thread-specific values.
void move_rank_values_to_thread();

// ---- waits.cc ----
/// True where a rank makes this futex call and would wait while other ranks can run:
/// wait_on_futex() then makes the call.
bool waits_on_futex(long word, long operation);
/// Makes a futex call that waits; returns the kernel's answer. May switch.
long wait_on_futex(long word, long operation, long value, long timeout, long word2, long value3);

// ---- crash.cc ----
void install_crash_reports();
/// True for a fault at an address on a packed stack, which has been unpacked by this call: the
/// handler of the signal returns, and the access is made again (proclet-sched/coroutine/packing.h).
bool is_of_packed_stack(int signal_number, const siginfo_t* info);

/// True where the address lies in the executable (image 0) or one of its images.
bool in_program(const void* address);

}  // namespace fgmpi::privatize
