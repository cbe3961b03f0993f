// The process's life: who am I, which ranks live here, start, end (start.cc, exchange.cc, run.cc,
// end_agreement.cc).
//
//   __libc_start_main (src/privatize) -> ranks_of_this_process() -> images -> process_main() on the
//   host stack
//     -> bootstrap exchange (one put/fence/get) -> transports -> endpoints -> rank proclets run main -> end
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

/// Runs the whole job's part in this process and returns its exit status. Host stack.
int process_main(privatize::Program& program);

/// A program that loaded this library by dlopen: the caller becomes the only rank of the process,
/// until exit().
Status adopt_program();

/// What MPI_Is_thread_main tells: the thread that runs main; in a program that loaded this library
/// by dlopen, the one whose call of MPI_Init became the rank, and before that the process's first.
/// Any thread may ask.
bool on_main_thread();

/// Exchanges addresses with the other processes of the job, once, and sets up transports and
/// endpoints. Called by the first MPI_Init of the process; host stack; blocks the process.
Status connect();
/// The same, called by a rank. Never switches.
Status connect_from_rank();

/// Tells the layers below how communicators are called in reports.
void install_naming();

/// The running rank gets its MPI objects, unless it has them: MPI_Init, or its first session. May
/// block the process.
Status start_rank();

/// FGMPI_LEAKS=1: lists the communicators that were never freed, by the call that made them.
void report_leaked_comms();

/// MPI_Finalize deletes the attributes that this rank (its index in the process) has put on
/// predefined datatypes, and forgets those of types that it never freed. May switch (delete
/// functions).
void delete_type_attributes(uint32_t rank);

/// The level that a text names: "MPI_THREAD_SINGLE" to "MPI_THREAD_MULTIPLE", in any case.
/// MPI_ERR_ARG names `what` it is the value of.
Status read_thread_level(const char* text, const char* what, int* level);
const char* name_of_thread_level(int level);
/// From now on the process takes turns (proclet-sched/threads.h), also before MPI_Init, and the
/// caller is outside of the library: the last thing that its call does. REQUIRES: a rank proclet on
/// the scheduler's thread, or turns are taken already.
void admit_threads();
/// The running rank is granted a level (it keeps the highest). From the first one above
/// MPI_THREAD_FUNNELED on, the process admits threads, and the caller is outside of the library:
/// the last thing that its call does.
void grant_thread_level(int level);
/// The level that the rank has then; its other threads below MPI_THREAD_SERIALIZED get what it has.
/// Any thread.
int level_to_grant(int level);

/// MPI_Finalize's work for the running rank.
void finalize_running_rank();
/// What a rank owes MPI when its program ends without MPI_Finalize: one line if it failed, then
/// finalize.
void finalize_forgotten(int status);

/// Values of sched::Proclet::mpi_phase.
enum Phase : uint8_t { kBefore = 0, kInitialised = 1, kFinalised = 2, kEnded = 3 };

/// The bootstrap of this process (opened on first use).
bootstrap::Bootstrap& boot();

/// The program of the running rank has ended: it returned from main or called exit(status). Says so
/// when it did not call MPI_Finalize, drops what is left, and, when it is the last rank of the
/// process to end, waits until all processes of the job have come as far. May switch. Called once
/// per rank, on its proclet, by src/privatize's exit and after main; a second call does nothing.
void rank_exits(int status);

/// A thread of the process's only rank calls exit(status). After MPI_Finalize it does what
/// rank_exits() and the end of the process do, if threads may call MPI; else it does nothing, and
/// other processes may take the end for a loss. Waits for ever where the main thread is ending the
/// process already.
void thread_ends_process(sched::Proclet* rank, int status);

}  // namespace fgmpi::mpi
