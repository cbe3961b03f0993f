// Declarations that the files of this folder share; no other folder includes this.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "privatize/privatize.h"
#include "proclet-sched/threads.h"

// Interposed functions are exported; everything else stays hidden.
#define FGMPI_INTERPOSE extern "C" __attribute__((visibility("default")))

namespace fgmpi::privatize {

/// How the globals of this process's ranks are kept.
enum class Mode : uint8_t {
  kForeign,  ///< the program did not start through us (yet)
  kSingle,   ///< one rank: the program's own globals
  kShared,   ///< several ranks share the program's globals
  kImages,   ///< each rank has an image of the program
};
extern Mode g_mode;

/// The next definition of a function after ours: the C library's. Usable at any time.
template <class F>
F* next_symbol(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

/// Code or data of this library, and not of the program.
bool in_this_library(uintptr_t address);

// ---- state.cc: used by all others, uses none of them but thread_keys.cc ----
using Main = int(int, char**, char**);
/// The program's main (of image 0) and its arguments.
extern Main* g_main;
extern Program g_program;

/// Called once, at the start, by the thread that runs main: it becomes the scheduler's. In the
/// child of a fork, no thread is the scheduler's any more.
void become_scheduler_thread();
uint32_t first_world_rank();
uint32_t world_rank(const sched::Proclet* p);
/// False in the child of a fork or vfork.
bool in_own_process();
/// In the child of a fork that a rank called: true at the first call, so that the child's exit()
/// runs the exit handlers of that rank once. Else false.
bool first_exit_of_forked_rank();

// ---- start.cc ----
/// Before the first guest is loaded: from now on switches swap, also in a process whose ranks have
/// no images.
void prepare_for_guests();

// ---- exits.cc ----
/// Sets the functions that are called when a rank has ended (Runtime::rank_exits,
/// ::thread_ends_process).
void set_rank_exits(void (*rank_exits)(int status),
                    void (*thread_ends_process)(sched::Proclet* rank, int status));
/// Gives rank 0 the exit handlers that the program registered before it ran.
void adopt_early_handlers(sched::Proclet* rank0);
/// Are destructors of thread-local objects registered for the rank by a module that lies here?
bool has_thread_destructors_of(const sched::Proclet* rank, uintptr_t low, size_t size);
/// Runs the current rank's exit handlers and destructors, tells src/mpi, finishes the proclet.
[[noreturn]] void end_rank(int status);

// ---- openmp.cc ----
/// The default number of threads of a program with OpenMP. Before images are made.
void share_processors(uint32_t ranks);

// ---- thread_keys.cc ----
/// Runs the destructors of the current rank's thread-specific values: its thread ends, but not the
/// process.
void destroy_thread_values();
/// In the child of a fork: the rank that called fork keeps its thread-specific values. Called
/// before the child's thread ceases to be the scheduler's.
void keep_values_of_rank();

// ---- waits.cc ----
/// A futex call of this operation on `word` is a rank's that waits while others can run:
/// wait_on_futex() makes it.
bool waits_on_futex(long word, long operation);
/// The kernel's answer. May switch.
long wait_on_futex(long word, long operation, long value, long timeout, long word2, long value3);

// ---- crash.cc ----
void install_crash_reports();

/// True when the address lies in the executable (image 0) or one of its images.
bool in_program(const void* address);

}  // namespace fgmpi::privatize
