// The process's life: who am I, which ranks live here, start, end (start.cc, exchange.cc, run.cc,
// end_agreement.cc).
//
//   __libc_start_main (src/privatize) -> ranks_of_this_process() -> images
//     -> process_main() on the host stack
//     -> bootstrap exchange (one put/fence/get) -> transports -> endpoints
//     -> rank proclets run main -> end
//
// Thread rule: one thread; host stack.
#pragma once

#include <cstdint>
#include <string>

#include "bootstrap/bootstrap.h"
#include "proclet-sched/sched.h"

namespace fgmpi::privatize {
struct Program;
}

namespace fgmpi::mpi {

/// How many rank proclets this process hosts: FGMPI_NFG, or its share of FGMPI_RANKS. Callable
/// before anything else is set up; a bad value ends the process with one line. Also opens the
/// bootstrap when it must know its rank.
uint32_t ranks_of_this_process();

/// Runs the ranks that this process hosts and returns its exit status. REQUIRES: called on the host
/// stack.
int process_main(privatize::Program& program);

/// For a program that loaded this library by dlopen: makes the caller the only rank of the process,
/// until exit().
Status adopt_program();

/// True on the thread that MPI_Is_thread_main means: the thread that runs main. In a program that
/// loaded this library by dlopen, it is the thread whose call of MPI_Init became the rank, and
/// before that call the process's first thread. Any thread may call this.
bool on_main_thread();

/// Exchanges addresses with the other processes of the job, once, and sets up transports and
/// endpoints. Called by the first MPI_Init of the process; host stack; blocks the process.
Status connect();
/// As connect(), called by a rank. Never switches.
Status connect_from_rank();

/// Gives the layers below a function that names communicators in reports.
void install_naming();

/// Makes the running rank's MPI objects, unless they exist: in MPI_Init, or for its first session.
/// May block the process.
Status start_rank();

/// FGMPI_LEAKS=1: lists the communicators that were never freed, by the call that made them.
void report_leaked_comms();

/// Deletes, in MPI_Finalize, the attributes that this rank (its index in the process) has put on
/// predefined datatypes, and drops those of types that the rank never freed. May switch (delete
/// functions).
void delete_type_attributes(uint32_t rank);

/// Parses the name of a thread level: "MPI_THREAD_SINGLE" to "MPI_THREAD_MULTIPLE", in any case.
/// Errors: MPI_ERR_ARG; the text names `what`, whose value it is.
Status read_thread_level(const char* text, const char* what, int* level);
const char* name_of_thread_level(int level);
/// Makes the threads of the process take turns from now on (proclet-sched/threads/threads.h), also
/// before MPI_Init. Afterwards the caller is outside of the library, so this is the last action of
/// a call. REQUIRES: a rank proclet on the scheduler's thread, or threads take turns already.
void admit_threads();
/// Grants the running rank a level (it keeps its highest). The first level above
/// MPI_THREAD_FUNNELED makes the process admit threads; afterwards the caller is outside of the
/// library, so this is the last action of a call.
void grant_thread_level(int level);
/// The level that grant_thread_level() will give the rank. The rank's other threads below
/// MPI_THREAD_SERIALIZED get the level that the rank has. Any thread.
int level_to_grant(int level);

/// Does the work of MPI_Finalize for the running rank.
void finalize_running_rank();
/// Sets a function that a rank without MPI_Finalize calls with its exit status (MPIX_Tool_ends).
void set_tool_left(void (*left)(int status));
/// Finishes MPI for a rank whose program has ended without MPI_Finalize: reports a failure in one
/// line, then finalizes.
void finalize_forgotten(int status);

/// Values of sched::Proclet::mpi_phase.
enum Phase : uint8_t { kBefore = 0, kInitialised = 1, kFinalised = 2, kEnded = 3 };

/// The bootstrap of this process (opened on first use).
bootstrap::Bootstrap& boot();

/// Called when the program of the running rank has ended: it returned from main or called
/// exit(status). Reports in a line that the rank did not call MPI_Finalize, and drops the rank's
/// objects. The last rank of the process to end waits until all processes of the job have come as
/// far. May switch. Called once per rank, on its proclet, by src/privatize's exit and after main; a
/// second call does nothing.
void rank_exits(int status);

/// Called when a thread of the process's only rank calls exit(status). After MPI_Finalize, if
/// threads may call MPI, it does what rank_exits() and the end of the process do. Otherwise it does
/// nothing, and other processes may report the end as a loss. Waits for ever where the main thread
/// is ending the process already.
void thread_ends_process(sched::Proclet* rank, int status);

}  // namespace fgmpi::mpi
