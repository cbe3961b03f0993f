// Which processes get the notices of a collective (failure.h).
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ch4-av-rankmap/av.h"
#include "coll/failure.h"
#include "comm/hierarchy.h"
#include "system-ranked/group_tree.h"

namespace fgmpi::coll {

/// True for a collective over the tree of a system-ranked communicator. No process knows the whole
/// group then: each notifies its parent and children, and these notify theirs.
inline bool over_tree(const comm::SharedComm* shared, int32_t tag) {
  return shared->tree && (tag & kOverTree) != 0;
}

/// True for the parent and the children of this process in the tree.
inline bool is_neighbour(const comm::SharedComm* shared, uint32_t process) {
  const system_ranked::TreePosition& place = system_ranked::tree_of(*shared)->place();
  return process == place.parent ||
         std::find(place.children.begin(), place.children.end(), process) != place.children.end();
}

/// Calls f(process) for each process that must get a notice: all others with members of either
/// group; with `tree_only`, the parent and the children of this one in the tree.
template <class F>
void for_each_notified_process(comm::SharedComm* shared, bool tree_only, F&& f) {
  if (tree_only) {
    const system_ranked::TreePosition& place = system_ranked::tree_of(*shared)->place();
    if (place.parent != system_ranked::kNobody) f(place.parent);
    for (uint32_t child : place.children) f(child);
    return;
  }
  const comm::Hierarchy& h = comm::hierarchy(shared);
  for (uint32_t i = 0; i < h.count(); ++i)
    if (h.processes[i] != g_av.me()) f(h.processes[i]);
  if (!shared->inter) return;
  const comm::Hierarchy& remote = comm::remote_hierarchy(shared);
  for (uint32_t i = 0; i < remote.count(); ++i) {
    uint32_t process = remote.processes[i];
    if (process != g_av.me() && h.index_of_process(process) == ~0u) f(process);
  }
}

/// 2 if this process hosts members of both groups of an intercommunicator, and so has a SharedComm
/// for each; else 1.
inline uint8_t count_local_sides(const comm::SharedComm* shared) {
  return shared->inter && comm::find_with_members(shared->id, 0) &&
                 comm::find_with_members(shared->id, 1)
             ? 2
             : 1;
}

}  // namespace fgmpi::coll
