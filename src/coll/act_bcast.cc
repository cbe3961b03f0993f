// Broadcast: the root's process sends once to each of the others (level two); in each process the
// data is copied once to every member, in pieces that stay in the cache.
#include "coll/act.h"
#include "coll/selector.h"

namespace fgmpi::coll {
namespace {

/// Copies the holder's data to everybody else, all flat.
void hand_out_flat(const Act& act, const Args* holder, char* data, size_t bytes) {
  std::vector<char*> to;
  to.reserve(act.members.size());
  for (const Args* m : act.members)
    if (m != holder) to.push_back(m->recv.address);
  copy_to_many(data, bytes, to.data(), to.size());
}

}  // namespace

Status act_bcast(Act& act) {
  FGMPI_TRY(act.same_root());
  // MPI-4.0 section 6.4: every member's buffer takes what the root sends, no more and no less.
  FGMPI_TRY(act.same_bytes([](const Args* m) { return m->recv.whole().bytes(); }));
  int root = act.first()->root;
  Args* source = act.member(root);
  Args* holder = source ? source : act.first();
  Segment whole = holder->recv.whole();
  size_t bytes = static_cast<size_t>(whole.bytes());
  Team team = act.team(bytes);
  char* data = bytes ? run_of_bytes(whole) : whole.address;
  Memory packed;
  if (!data) {
    packed = raw_memory(bytes);
    data = packed.get();
    if (source) FGMPI_TRY(pack(whole, data));
  }
  FGMPI_TRY(team_bcast(team, team.place_of_rank(root), data, bytes));
  if (packed && !source) FGMPI_TRY(unpack(data, static_cast<int64_t>(bytes), whole));
  bool all_flat = true;
  for (const Args* m : act.members) all_flat &= m->recv.type.basic();
  if (all_flat) {
    hand_out_flat(act, holder, data, bytes);
    return {};
  }
  for (const Args* m : act.members)
    if (m != holder) FGMPI_TRY(unpack(data, static_cast<int64_t>(bytes), m->recv.whole()));
  return {};
}

}  // namespace fgmpi::coll
