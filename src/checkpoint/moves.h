// Ranks that go to other processes of their host while the job runs (FGMPI_BALANCE), at the
// beginning of a call of MPI: what keeps a rank where it is, and how it goes.
//
//   requests   pending receives are withdrawn and begin again where the rank comes to; what its
//              deputy has under way (deputy.h) stays with the deputy
//   objects    those of messages (here.h) are made anew where they are needed
//
// Thread rule: a rank's. Functions may switch.
#pragma once

#include "checkpoint/rank.h"

namespace fgmpi::checkpoint {

/// Called when the library is loaded: reads FGMPI_BALANCE, and lets ranks have deputies.
void let_ranks_move();
/// `random:SEED`, a mode of tests: ranks move at random calls.
extern bool g_moves_at_random;
/// Ranks of this job may move.
extern bool g_moves;
/// Goes home in front of a call that makes what keeps a rank there. Returns false where the call
/// makes nothing like that.
bool go_home_for(LayerRank& rank, const char* call);
/// A rank is about to call MPI.
void move_at_random(LayerRank& rank, const char* call);
/// The running rank has got this error code; and the text of one of its latest, or nullptr.
void keep_error(int code, const char* text);
const char* text_of_error(int code);
/// MPI has begun for the rank: this process is its home.
void note_home(LayerRank& rank);
/// Is this process the one in which the rank has begun?
bool is_home(const LayerRank& rank);
/// Goes to another process, unless the rank has so many requests or messages that they would make
/// the move long. Returns the reason where the rank stays, in words that hold until the next call,
/// or nullptr.
const char* move_to(LayerRank& rank, uint32_t process);
/// MPI_Finalize of a rank that is away: requests that the program has not freed or completed, and
/// messages that it has matched and not received, do not keep it.
void forget_requests_here(LayerRank& rank);
/// Goes to the process in which the rank has begun, as soon as nothing keeps it any more.
void move_home(LayerRank& rank);
/// The running rank ends without MPI_Finalize: goes home unless a function of MPI is in its frames,
/// or what is under way keeps it for long.
void go_home_to_end();
/// A function in front of the layer makes objects of MPI for the rank: goes home before.
void go_home_for_objects();
/// The running rank's program maps memory, or the like: goes home before. Waits for sends of the
/// rank, but not for ever: the receiver may wait for what the rank does next. Returns nullptr at
/// home, or why the rank is not there, in words that hold until the next call.
const char* try_to_go_home();

/// The running rank has come from there to this process (tools_in_front.cc).
void tell_tool_of_move(uint32_t from, uint32_t to);

// ---- What the C library tells a rank of its process (process_answers.cc)
/// This process is the rank's home: it answers for it from now on. `slots`: of this process.
void answer_as_home(LayerRank& rank, const ProcessSlots& slots);
/// The rank is about to leave this process, and has come to it.
void note_process_left(LayerRank& rank);
void note_process_entered(LayerRank& rank);

}  // namespace fgmpi::checkpoint
