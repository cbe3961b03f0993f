// A job at rest: all ranks are in the layer, nothing is under way in MPI, and each rank's objects
// can be described, thrown away and made again.
//
// All ranks call come_to_rest(), which agrees on whether this is possible. Where it is, each then
// calls at_rest(), and the program goes on.
//
// Thread rule: a rank's. Functions may switch, but for resume_requests().
#pragma once

#include <utility>
#include <vector>

#include "checkpoint/describe.h"
#include "checkpoint/save.h"

namespace fgmpi::checkpoint {

// settle.cc ---------------------------------------------------------------------------------------
/// Collective over all ranks. Pending receives are withdrawn, other operations have ended, and all
/// messages are stored, when this returns true. Where a checkpoint cannot be taken it returns false
/// in all ranks, and everything is as before; one rank says why if `talks`. `by_time`, of rank 0:
/// it is not taken either while the one before is being written.
bool come_to_rest(LayerRank& rank, bool talks, bool by_time);
/// Requests in the order in which their operations began, or by another number of theirs.
std::vector<std::pair<MPI_Request, VirtualRequest*>> requests_by(const LayerRank& rank,
                                                                 uint64_t VirtualRequest::*number);

/// Was the request made with a datatype of MPI's own, as array sections of Fortran have?
bool has_own_type(const VirtualRequest& request);
/// Takes receives back from MPI. Those that have a message already end.
void withdraw_receives(LayerRank& rank);
/// Receives the messages that the program has matched and not received (MPI_Mprobe).
void take_in_matched(LayerRank& rank);
/// Lets operations end that can, also behind the program's back. Returns the number of those that
/// have not ended. `here`: only those that MPI has where the rank runs (deputy.h).
int64_t advance_requests(LayerRank& rank, bool here);

// remake.cc ---------------------------------------------------------------------------------------
/// While objects are described, thrown away and made again the rank is quiet. Collective over all
/// ranks.
void describe_objects(LayerRank& rank, PredefinedComms* predefined);
void discard_objects(LayerRank& rank);
/// Makes all objects that were described. Collective over all ranks.
void remake_objects(LayerRank& rank, const PredefinedComms& predefined);
/// Receives that were withdrawn begin again, and MPI gets requests for operations that have ended.
void resume_requests(LayerRank& rank);
/// Gives handlers back to MPI that the program has freed.
void release_freed_handlers(LayerRank& rank);

// checkpoint.cc -----------------------------------------------------------------------------------
/// Comes to rest, does what is to be done there, and goes on. Collective over all ranks. Returns
/// kNot where the job could not come to rest; one rank says why if `talks`. `by_time`: as above.
Saved rest_once(LayerRank& rank, bool talks, bool by_time);
/// What is done while the job is at rest. Collective over all ranks.
Saved at_rest(LayerRank& rank);

}  // namespace fgmpi::checkpoint
