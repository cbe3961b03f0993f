// Barrier, broadcast and reductions of a system-ranked communicator, over its own tree, in which a
// process knows nobody but its neighbours. Operations must commute. Team ranks: this process is 0,
// then comes the parent if there is one, then the children in order.
//
// A broadcast starts wherever the root is and spreads from there: each process that gets the data
// passes it on to all other neighbours. That costs as many messages as a tree rooted at the root.
// Forwarding to the tree's root first would cost one more, and save levels only for roots near the
// leaves. A reduction goes up the tree, and from its root to the root that the user gave, whose
// address is asked for on first use.
#include <algorithm>

#include "coll/algorithms.h"

namespace fgmpi::coll {
namespace {

/// Bytes of a piece of long data; a process passes each piece on before it receives the next.
/// Pieces are short enough to be sent without the receiver's answer.
constexpr size_t kPiece = 64 * 1024;

uint32_t first_child(const Team& team) { return team.has_parent() ? 2 : 1; }

/// Broadcasts: receives from any neighbour, unless this process is the root, and passes the data on
/// to all others.
Status send_to_processes(const Team& team, bool starts, char* data, size_t bytes) {
  uint32_t from = 0;
  size_t at = 0;
  do {
    size_t length = std::min(kPiece, bytes - at);
    if (!starts && at == 0)
      FGMPI_TRY(team.recv_any(data, length, &from));
    else if (!starts)
      FGMPI_TRY(team.recv(from, data + at, length));
    for (uint32_t to = 1; to < team.count(); ++to)
      if (starts || to != from) FGMPI_TRY(team.send(to, data + at, length));
    at += length;
  } while (at < bytes);
  return {};
}

/// Combines the children's results into `data` and sends that to the parent.
Status gather_up(const Team& team, const Reduction& r, char* data) {
  OperandWire wire(r);
  Operand other(*r.type, r.count);
  for (uint32_t child = first_child(team); child < team.count(); ++child) {
    FGMPI_TRY(wire.recv(team, child, other.at()));
    FGMPI_TRY(combine(r, other.at(), data, r.count));
  }
  return team.has_parent() ? wire.send(team, 1, data) : Status();
}

}  // namespace

Status barrier_group_tree(const Team& team) {
  char unused = 0;
  // Two processes notify each other at the same time.
  if (team.tree_size() == 2) return team.exchange(1, &unused, 0, 1, &unused, 0);
  for (uint32_t child = first_child(team); child < team.count(); ++child)
    FGMPI_TRY(team.recv(child, &unused, 0));
  if (team.has_parent()) {
    FGMPI_TRY(team.send(1, &unused, 0));
    FGMPI_TRY(team.recv(1, &unused, 0));
  }
  for (uint32_t child = first_child(team); child < team.count(); ++child)
    FGMPI_TRY(team.send(child, &unused, 0));
  return {};
}

Status bcast_group_tree(const Team& team, uint32_t root, char* data, size_t bytes) {
  return send_to_processes(team, root == team.me(), data, bytes);
}

Status reduce_group_tree(const Team& team, uint32_t root, const Reduction& r, char* data) {
  FGMPI_TRY(gather_up(team, r, data));
  OperandWire wire(r);
  if (team.has_parent())
    return root == team.me() ? wire.recv(team, Team::kAnyProcess, data) : Status();
  if (root == team.me()) return {};
  return wire.send(team, team.add_process_of(root), data);
}

Status allreduce_group_tree(const Team& team, const Reduction& r, char* data) {
  FGMPI_TRY(gather_up(team, r, data));
  OperandWire wire(r);
  if (team.has_parent()) FGMPI_TRY(wire.recv(team, 1, data));
  for (uint32_t child = first_child(team); child < team.count(); ++child)
    FGMPI_TRY(wire.send(team, child, data));
  return {};
}

}  // namespace fgmpi::coll
