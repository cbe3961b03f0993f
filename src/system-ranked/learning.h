// A process learns a whole group when the group is made: in jobs that go on when processes fail
// (mpiexec -ft), where a tree that has lost a vertex can answer no questions. In other jobs a
// process learns what it needs when it needs it (group_tree.h).
//
// Thread rule: one thread. learn_group() may switch.
#pragma once

#include "system-ranked/group_tree.h"

namespace fgmpi::system_ranked {

bool groups_are_learned();
/// Gets the whole map of a group that was just made. Errors: `parent` has lost a member meanwhile,
/// who may be in this group.
Status learn_group(const comm::SharedComm& parent, GroupTree* tree, RankMap* whole);
/// The message by which a process asks for a map; also sent to itself (group_tree.h).
std::vector<uint8_t> question_for_map();
/// Wakes those in learn_group(), so that they check whether their map has arrived or their
/// communicator is broken. Called when any map has arrived or any communicator breaks.
void wake_learners();

}  // namespace fgmpi::system_ranked
