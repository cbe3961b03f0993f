// Rounds of a persistent collective: how far processes may be apart in them.
//
// Messages and notices carry a round's number modulo 32 (comm.h). A root may have completed many
// rounds that others have yet to begin. So that no round is mistaken for the one 32 before it, all
// processes wait for each other at the begin of every eighth round: then none is more than eight
// rounds ahead of another one.
//
// Entries of failed rounds (failure.h) are removed there, too. Before a process announces that it
// has come, it waits for all notices about earlier rounds that it knows to have failed; and it
// announces whether it has learned of such a round since its last announcement. This is repeated
// until no process has. Then no notice about an earlier round is under way, nor will one be sent:
//   - A round that fails is known to some process before that process comes. That process, when its
//     notices are complete, has heard from all to whom it sends notices: they know of the round
//     before it announces anything. When it announces "nothing new" it has announced before, and
//     the processes to which it sends notices got theirs then, before they announced "nothing new"
//     themselves. So they had all notices, and those to which they send notices know, too; and so
//     on to every process.
//   - A process that knows of the round, and has all notices about it, gets no more.
//
// In a system-ranked communicator a process may know only its neighbours, and send notices to them,
// while another one sends notices to all and waits for all. So processes first announce there,
// without waiting, whether they know of a failed round. If any does, all processes find out which
// processes there are, and answer those that have sent them notices; then they go on as above.
//
// In an intercommunicator the processes of both groups agree. Where one process hosts members of
// both, the group whose round begins second there agrees for both.
//
// Thread rule: one thread; may switch.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/team.h"
#include "comm/comm.h"
#include "comm/meeting.h"

namespace fgmpi::coll {

/// The number of rounds between two agreements: a quarter of the rounds that numbers distinguish.
inline constexpr uint32_t kRoundsApart = 8;

/// Agrees with the other processes where this round demands it. Called at the begin of each round,
/// by the member that acts for all of its process.
void agree_on_rounds(comm::SharedComm* shared, const comm::Meeting* meeting);

/// All processes with members, in an order that is the same everywhere. For an intercommunicator:
/// those of side 0, then the others of side 1. For a system-ranked communicator: this one and its
/// neighbours in the tree, the parent before the children. `me`: this process's index. May switch.
std::vector<uint32_t> processes_that_agree(comm::SharedComm* shared, uint32_t* me);
/// Returns when all processes have called this; *any is whether any of them has set it. REQUIRES:
/// the team consists of the processes that agree.
Status any_of_processes(comm::SharedComm* shared, const Team& team, bool* any);

}  // namespace fgmpi::coll
