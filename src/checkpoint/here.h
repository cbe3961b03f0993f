// Objects where a rank runs, which may not be its home (deputy.h): what its point-to-point calls
// need there of its communicators and types.
//
//   virtual handle --> real: MPI's object at home, which the deputy uses
//                  \-> here: MPI's object where the rank is, made when a call first needs it
//
// A communicator's is a visit (comm/visit.h), a type's is made from its constructor. They follow
// their objects at home: name, error handler, commitment, and end. Where ranks have no deputies,
// all calls use `real`, by the same number of instructions.
//
// Thread rule: a rank's. Functions that ask home may switch.
#pragma once

#include "checkpoint/rank.h"

namespace fgmpi::checkpoint {

/// MPI's object of a virtual handle for a call that is made where the rank is: real_of(), or, where
/// ranks may have deputies, real_here().
extern int (*g_real_here)(const LayerRank& rank, Object kind, int handle);

/// The functions of g_next by which objects change or end at home. After hand_over_calls().
void follow_objects_at_home(Next* next);
/// From now on the rank's deputy calls MPI for it; or no longer, and objects away from home end.
/// What is under way at home stays so: it is asked for there in either case.
void leave_home(LayerRank& rank);
void come_home(LayerRank& rank);
/// Frees all objects where the rank is. They are made again when calls need them.
void drop_objects_here(LayerRank& rank);
/// Gives MPI_COMM_WORLD and MPI_COMM_SELF here their error handlers at home.
void copy_predefined_errhandlers();
void drop_here(VirtualComm* comm);
void drop_here(VirtualType* type);
/// The communicator at home of one that is here; others are returned as they are.
MPI_Comm comm_at_home(const LayerRank& rank, MPI_Comm real);
/// The layer's function for errors of communicators, as callbacks.cc gives it to MPI.
MPI_Comm_errhandler_function* comm_error_function();

}  // namespace fgmpi::checkpoint
