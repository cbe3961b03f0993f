// A process learns a whole group when it is made: in jobs that go on when processes fail (mpiexec
// -ft), where nobody can be asked over a tree that has lost a vertex. In other jobs a process
// learns what it needs when it needs it (group_tree.h).
//
// Thread rule: one thread. learn_group() may switch.
#pragma once

#include "comm/system_ranked/group_tree.h"

namespace fgmpi::comm::system_ranked {

bool groups_are_learned();
/// The whole map of a group that was just made. Errors: `parent` has lost a member meanwhile, who
/// may be one of this group.
Status learn_group(const SharedComm& parent, GroupTree* tree, RankMap* whole);
/// What a process sends to itself, as to others, to get a map: a message of group_tree.h.
std::vector<uint8_t> question_for_map();
/// The map of some group is here, or a communicator is broken: those in learn_group() look whether
/// it is theirs.
void wake_learners();

}  // namespace fgmpi::comm::system_ranked
