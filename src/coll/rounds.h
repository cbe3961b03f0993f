// Rounds of a persistent collective: how far processes may be apart in them.
//
// Messages and notices have a round's number modulo 32 (comm.h). A root may be through with many
// rounds that others have yet to begin. So that a round is never taken for the one 32 before it,
// all processes wait for each other at the begin of every eighth round: then none is more than
// eight rounds ahead of another one.
//
// What is kept of failed rounds (failure.h) goes there, too. Before a process says that it has
// come, it waits for all notices about earlier rounds that it knows to have failed; and it says
// whether it has learned of such a round since it said so last. This is repeated until nobody has.
// Then no notice about an earlier round is on its way, nor will one be sent:
//   - A round that fails is known to somebody before that process comes. That process, with its
//     notices complete, has heard from all whom it tells: they know of the round before it says
//     anything. When it says "nothing new" it said something before, and those whom it tells were
//     told then, before they themselves said "nothing new"; so they had all notices, and whom they
//     tell knows, too; and so on to everybody.
//   - Who knows of the round, and has all notices about it, gets no more.
//
// Of a system-ranked communicator a process may know only its neighbours, whom it tells, while
// another one tells all and waits for all. So there processes first say, without waiting, whether
// they know of a failed round; if anybody does, all find out who all are and answer those who have
// told them, and then it goes as above.
//
// Of an intercommunicator the processes of both groups agree. Where members of both are in one
// process, the group whose round begins second there agrees for both.
//
// Thread rule: one thread; may switch.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/team.h"
#include "comm/comm.h"
#include "comm/meeting.h"

namespace fgmpi::coll {

/// So many rounds are between two agreements: a quarter of what numbers tell apart.
inline constexpr uint32_t kRoundsApart = 8;

/// To be called at the begin of each round, by the member that acts for all of its process.
void agree_on_rounds(comm::SharedComm* shared, const comm::Meeting* meeting);

/// All processes with members, in an order that is the same everywhere: of an intercommunicator
/// those of side 0, then the others of side 1. Of a system-ranked communicator this one and its
/// neighbours in the tree, the parent before the children. `me`: this process's index. May switch.
std::vector<uint32_t> processes_that_agree(comm::SharedComm* shared, uint32_t* me);
/// Returns when all processes have called this, and whether any of them has said so. REQUIRES: a
/// team of those that agree.
Status any_of_processes(comm::SharedComm* shared, const Team& team, bool* any);

}  // namespace fgmpi::coll
