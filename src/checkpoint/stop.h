// How a job is stopped at any moment, so that all its ranks come to rest together.
//
// Each rank has stop points: in front of each call of MPI that communicates, and while it waits in
// one for messages or requests. Somebody asks (ask_for_stop()); process 0 then begins a round. From
// then on a rank that comes to a stop point pauses there, and one that waits in MPI counts as
// stopped where it is. When all ranks are stopped, process 0 tells all to come to rest.
//
// A blocking collective has no stop point in its middle, and one that some members have begun can
// be neither withdrawn nor completed without the others. So at rest all members of a communicator
// must have begun the same number of collectives (nonblocking ones are then awaited, settle.cc):
//
//   1. Each process sends process 0 how many collectives its ranks have begun, by communicator.
//      Since all ranks pause, these numbers stand still.
//   2. Process 0 sends back, for each communicator on which collectives were begun, the largest
//      number: the target. A rank that has begun fewer is behind and runs on, through stop points,
//      until it is not, also one that has yet to make the communicator.
//      Freeing a communicator counts as its last collective.
//   3. Where a rank that is behind begins a collective beyond a target, the target rises, for all.
//   4. A process whose ranks are all stopped, none being behind, says so; when all have said it
//      for the targets of now, all ranks come to rest.
//   5. A rank that is behind, or in a call that waits for others (MPI_Comm_create_group), may need
//      a message or a call of one that is paused. Then its process becomes stuck: nothing in it
//      can go on. When each process has stopped or is stuck, paused ranks are released for one
//      call each: first those whose calls begin no collective beyond a target; where there are
//      none, all.
//
// Why this ends. What must happen before the job can rest are the collectives that one member has
// begun, completed by all their members, and what these members do before them. In a program that
// ends, every member gets there, so these are finitely many calls. No rank is held up that is
// behind, and one that is not is held up at most until the others cannot go on without it. But
// rule 5 may release ranks that nobody needs, whose calls begin collectives that need not have been
// begun; a program could be written in which that never comes to an end. Therefore a round is given
// up after kMostReleases releases, and a line names a rank that waited and its call. A rank that
// computes is waited for without limit: the others pause meanwhile.
//
// Nothing is paid for this while no stop is wanted, but a comparison in front of each call.
//
// Thread rule: inside MPI (one thread at a time), but for ask_for_stop(). stop_here() and await()
// may switch.
#pragma once

#include "checkpoint/rank.h"

namespace fgmpi::checkpoint {

/// The round of stops that has begun last in this process. A rank whose `round` is another one is
/// to stop.
extern uint32_t g_round;

/// Registers the functions that MPI calls. Before ranks begin.
void follow_stops();
/// What a tool in front of the layer wants to be called (MPIX_Tool_handlers). After follow_stops().
void set_handlers_of_tool(void (*deadlock)(), void (*fatal)(int, const char*));
/// Asks for a stop of the job. Any thread, and handlers of signals, of any process that has ranks.
void ask_for_stop();
/// The process's part in rounds has a rank more, or less. A rank that is about to finalize ends
/// rounds.
void add_rank(LayerRank& rank);
void remove_rank(LayerRank& rank);

/// The rank is in front of a call, which begins this.
void stop_here(LayerRank& rank, const char* call, const NextCollective& next);
inline void stop_point(LayerRank& rank, const char* call, const NextCollective& next = {}) {
  if (__builtin_expect(rank.round != g_round, 0)) stop_here(rank, call, next);
}

/// A call that all members of a window or file make; null: the program's handle is of none.
inline NextCollective next_of(const SharedObject* object) {
  using Begins = NextCollective::Begins;
  return {object ? Begins::kShared : Begins::kNone, MPI_COMM_NULL, nullptr, object};
}

/// Waits until all of these requests (MPI's), or one, are complete; then the caller completes them.
/// Returns false where the rank is to stop before: the caller makes requests known, and stops.
bool is_awaited(LayerRank& rank, const char* call, bool all, int n, const MPI_Request* real);
/// Likewise; where it returns false, the rank has been at rest, and MPI's handles are others.
bool await(LayerRank& rank, const char* call, bool all, int n, const MPI_Request* real);
/// Likewise for a message on a communicator (MPI's).
bool await_message(LayerRank& rank, const char* call, int source, int tag, MPI_Comm real);

/// A function of the program runs that MPI has called: the rank cannot stop in it.
class ProgramRuns {
 public:
  explicit ProgramRuns(LayerRank* rank) : rank_(rank) {
    if (rank_) ++rank_->called_by_mpi;
  }
  ~ProgramRuns() {
    if (rank_) --rank_->called_by_mpi;
  }
  ProgramRuns(const ProgramRuns&) = delete;
  ProgramRuns& operator=(const ProgramRuns&) = delete;

 private:
  LayerRank* rank_;
};

}  // namespace fgmpi::checkpoint
