// Visits: a communicator's member, for point-to-point messages alone, in a process to which its
// rank has moved. The rank's other Comm stays in the process where it was made, its home, and takes
// part in the communicator's collectives there.
//
//   home process                          process that the rank visits
//   Comm --> SharedComm (members: n)      Comm --> SharedComm (members: those at home there, or 0)
//
// Both have the same context id, rank and group, so messages match as if the rank were at home.
// A visitor holds a reference of the SharedComm, but is no member: no meeting waits for it. Where
// no member is at home in the process, the visitor makes the SharedComm. Then `members` is 0, and
// the process has no say in when the context id is free again; a member that makes the
// communicator here later on (its creation may be under way) takes that SharedComm over.
//
// Thread rule: one thread. describe_visit() may switch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/comm.h"

namespace fgmpi::comm {

/// Writes what a visitor needs of a communicator: id, rank, session, encoded groups. They mean the
/// same in all processes of a job. Errors: MPI_ERR_COMM where members are of other jobs.
Status describe_visit(Comm* comm, std::vector<uint8_t>* out);
/// Makes a visitor's Comm, without error handler, name or attributes. free() ends the visit.
Status visit(std::span<const uint8_t> description, Comm** out);

}  // namespace fgmpi::comm
