// How this process learns that others have failed, in a job that goes on without them (mpiexec
// -ft).
//
//   signal SIGUSR1 of the launcher,      this process checks the process ids of its host, and asks
//     to all processes that are left     the launcher which processes of other hosts have ended
//   once a second, and by lifelines      the transports check by themselves
//     (liveness/)
//   notices of other processes           survivors/
//
// Thread rule: as runtime.h.
#pragma once

#include <cstdint>
#include <string>

#include "liveness/card.h"

namespace fgmpi::mpi {

/// True where the job goes on when a process fails (FGMPI_FT).
bool job_survives_failures();

/// Makes this process react to notices of the launcher from now on. REQUIRES: called on the host
/// stack.
void heed_notices();
/// True where a notice has come that handle_loss_notices() has not handled yet.
bool was_noticed();
/// Handles what a notice of the launcher has announced; for the scheduler's poll hook. Returns true
/// where something has changed.
bool handle_loss_notices();

/// Stores what a process has published about itself, for the line about its end, because the
/// launcher may be out of reach then.
void remember_card(uint32_t process, const liveness::Card& card);

/// Called when a transport has found that a process of the job, or of a connected one, is gone: the
/// job goes on without it. The first process that is left reports the loss in one line.
void survive_failure(uint32_t peer, const std::string& why);

}  // namespace fgmpi::mpi
