// Broadcast: the root's process sends once to each other process (level two). In each process the
// data is copied once to every member, in pieces that stay in the cache.
#include "coll/selector.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

/// Copies the data of one member to all others. REQUIRES: all segments are runs of bytes.
void hand_out_flat(const CollectiveStep& step, const Args* holder, char* data, size_t bytes) {
  std::vector<char*> to;
  to.reserve(step.members.size());
  for (const Args* m : step.members)
    if (m != holder) to.push_back(m->recv.address);
  copy_to_many(data, bytes, to.data(), to.size());
}

}  // namespace

Status step_bcast(CollectiveStep& step) {
  FGMPI_TRY(step.same_root());
  // MPI-4.0 section 6.4: every member's buffer must have as many bytes as the root sends.
  FGMPI_TRY(step.same_bytes([](const Args* m) { return m->recv.whole().bytes(); }));
  int root = step.first()->root;
  Args* source = step.member(root);
  Args* holder = source ? source : step.first();
  Segment whole = holder->recv.whole();
  size_t bytes = static_cast<size_t>(whole.bytes());
  Team team = step.team(agreed_with_root(bytes, root), Team::kTree);
  team.set_type(whole.type, whole.count);
  char* data = bytes ? run_of_bytes(whole) : whole.address;
  Memory packed;
  if (!data) {
    packed = raw_memory(bytes);
    data = packed.get();
    if (source) FGMPI_TRY(pack(whole, data));
  }
  FGMPI_TRY(team_bcast(team, team.team_rank_of(root), data, bytes));
  if (packed && !source) FGMPI_TRY(unpack(data, static_cast<int64_t>(bytes), whole));
  bool all_flat = true;
  for (const Args* m : step.members) all_flat &= m->recv.type.basic();
  if (all_flat) {
    hand_out_flat(step, holder, data, bytes);
    return {};
  }
  for (const Args* m : step.members)
    if (m != holder) FGMPI_TRY(unpack(data, static_cast<int64_t>(bytes), m->recv.whole()));
  return {};
}

}  // namespace fgmpi::coll
