// How this process learns that others have failed, in a job that goes on without them (mpiexec
// -ft).
//
//   the launcher sends SIGUSR1 to all that are left     process ids of this host are looked at, and
//                                                       the launcher is asked which processes of
//                                                       other hosts have ended
//   once a second, and lifelines                        the transports look by themselves
//     (liveness/)
//   notices of other processes                          survivors/
//
// Thread rule: as runtime.h.
#pragma once

#include <cstdint>
#include <string>

#include "liveness/card.h"

namespace fgmpi::mpi {

/// FGMPI_FT: does the job go on when a process fails?
bool job_survives_failures();

/// From now on notices of the launcher are heeded. Host stack.
void heed_notices();
/// Has there been one since then that take_in_notices() has not seen?
bool was_noticed();
/// Takes in what a notice of the launcher has announced; for the scheduler's poll hook. True:
/// something has changed.
bool take_in_notices();

/// What a process has published about itself, for the line about its end: the launcher may not be
/// reached then.
void remember_card(uint32_t process, const liveness::Card& card);

/// A transport has found that a process of the job, or of a connected one, is gone: the job goes on
/// without it. Says so in one line, at the first process that is left.
void survive_failure(uint32_t peer, const std::string& why);

}  // namespace fgmpi::mpi
