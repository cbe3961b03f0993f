// The steps of gathers and scatters, run by the last member to arrive, and their level two.

#include "coll/step_gather.h"

#include <algorithm>

#include "coll/selector.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

/// The blocks of the root's buffer: the bytes that belong to each process.
ProcessBlocks blocks_of_processes(const Team& team, const Placement& placement,
                                  const CollectiveBuffer& side) {
  ProcessBlocks blocks;
  blocks.regular = !side.counts;
  blocks.offset.push_back(0);
  for (uint32_t p = 0; p < team.count(); ++p) {
    size_t at = blocks.offset.back();
    for (const comm::ProcessRun* run = placement.begin(p); run != placement.end(p); ++run)
      at += static_cast<size_t>(side.bytes(run->first, run->count));
    blocks.offset.push_back(at);
  }
  return blocks;
}

/// The block sizes that a process without counts knows: those of all processes (regular), or only
/// its own.
ProcessBlocks blocks_without_counts(const Team& team, bool regular, const MemberParts& members) {
  size_t mine = 0;
  for (const MemberPart& own : members) mine += static_cast<size_t>(own.part.bytes());
  size_t each = static_cast<size_t>(members.front().part.bytes());
  ProcessBlocks blocks;
  blocks.regular = regular;
  blocks.offset.push_back(0);
  for (uint32_t p = 0; p < team.count(); ++p)
    blocks.offset.push_back(blocks.offset.back() + (p == team.me() ? mine
                                                    : regular      ? each * team.members(p)
                                                                   : 0));
  return blocks;
}

/// True if the root's segments lie in memory as the packed blocks would: in the order of processes,
/// without gaps.
bool lies_packed(const CollectiveBuffer& side, const Placement& placement) {
  return !side.counts && side.type.basic() && placement.in_rank_order();
}

/// The number on which all processes of a gather or scatter must agree (team.h): the bytes of
/// one part.
uint64_t agreed(const CollectiveBuffer& side) {
  return side.counts ? 0 : static_cast<uint64_t>(side.whole().bytes());
}
uint64_t agreed(bool regular, const MemberParts& members) {
  return regular ? static_cast<uint64_t>(members.front().part.bytes()) : 0;
}

/// The root's buffer as blocks of processes: the buffer itself if it has that layout, else scratch
/// of its size.
struct RootBlocks {
  RootBlocks(SharedComm* shared, const comm::Meeting* m, const CollectiveBuffer& all,
             uint64_t agreed)
      : side(all),
        team(shared, m, agreed),
        placement(shared, team),
        blocks(blocks_of_processes(team, placement, side)),
        direct(lies_packed(side, placement)),
        packed(direct ? nullptr : raw_memory(blocks.total())),
        buffer(direct ? side.address : packed.get()) {}
  /// Calls f(segment, its address in the packed blocks) for each part that belongs to
  /// another process.
  template <class F>
  Status for_each_other(F&& f) const {
    Status status;
    for (uint32_t p = 0; p < team.count(); ++p) {
      char* at = buffer + blocks.offset[p];
      if (p == team.me()) continue;
      placement.for_each(p, [&](int32_t rank) {
        Segment segment = side.segment(rank);
        if (status.ok()) status = f(segment, at);
        at += segment.bytes();
      });
    }
    return status;
  }

  const CollectiveBuffer& side;
  Team team;
  Placement placement;
  ProcessBlocks blocks;
  bool direct;
  Memory packed;
  char* buffer;
};

/// The members' own parts; the root's is skipped when it is in place.
MemberParts parts_of_members(const CollectiveStep& step, CollectiveBuffer Args::*side) {
  MemberParts parts;
  parts.reserve(step.members.size());
  for (const Args* m : step.members)
    if (!m->in_place) parts.push_back({m->rank, (m->*side).whole()});
  return parts;
}

}  // namespace

Status gather_from_others(SharedComm* shared, const comm::Meeting* m,
                          const CollectiveBuffer& recv) {
  if (shared->processes == 1) return {};
  RootBlocks root(shared, m, recv, agreed(recv));
  FGMPI_TRY(team_gather(root.team, root.team.me(), root.buffer, root.blocks));
  if (root.direct) return {};
  return root.for_each_other(
      [](const Segment& to, const char* at) { return unpack(at, to.bytes(), to); });
}

Status gather_to_root(SharedComm* shared, const comm::Meeting* m, int root, bool regular,
                      const MemberParts& members) {
  Team team(shared, m, agreed(regular, members));
  ProcessBlocks blocks = blocks_without_counts(team, regular, members);
  auto packed = raw_memory(blocks.size(team.me()));
  char* at = packed.get();
  for (const MemberPart& own : members) {
    FGMPI_TRY(pack(own.part, at));
    at += own.part.bytes();
  }
  return team_gather(team, team.team_rank_of(root), packed.get(), blocks);
}

Status scatter_to_others(SharedComm* shared, const comm::Meeting* m, int root,
                         const CollectiveBuffer& send) {
  if (shared->processes == 1) return {};
  RootBlocks all(shared, m, send, agreed_with_root(agreed(send), root));
  all.team.set_type(&send.type, send.counts ? -1 : send.count);
  if (!all.direct)
    FGMPI_TRY(all.for_each_other([](const Segment& from, char* at) { return pack(from, at); }));
  all.blocks.opened = send.opened;
  FGMPI_TRY(team_scatter(all.team, all.team.me(), all.buffer, all.blocks));
  return all.team.open().failed() ? all.team.open().failure() : Status();
}

Status scatter_from_root(SharedComm* shared, const comm::Meeting* m, int root, bool regular,
                         const MemberParts& members, MPI_Datatype type) {
  Team team(shared, m, agreed_with_root(agreed(regular, members), root));
  const auto with_data = std::find_if(members.begin(), members.end(),
                                      [](const MemberPart& own) { return own.part.bytes() > 0; });
  Type basic;
  if (type != MPI_BYTE) FGMPI_TRY(Type::of(type, &basic));
  if (with_data != members.end()) {
    const Segment& part = with_data->part;
    team.set_type(type == MPI_BYTE ? part.type : &basic, regular ? part.count : -1);
  }
  ProcessBlocks blocks = blocks_without_counts(team, regular, members);
  auto packed = raw_memory(blocks.size(team.me()));
  FGMPI_TRY(team_scatter(team, team.team_rank_of(root), packed.get(), blocks));
  const char* at = packed.get();
  for (const MemberPart& own : members) {
    FGMPI_TRY(unpack(at, own.part.bytes(), own.part));
    at += own.part.bytes();
  }
  return {};
}

Status step_gather(CollectiveStep& step) {
  FGMPI_TRY(step.same_root());
  MemberParts members = parts_of_members(step, &Args::send);
  int rank = step.first()->root;
  const Args* root = step.member(rank);
  if (!root)
    return gather_to_root(step.shared, step.meeting, rank,
                          step.first()->kind == CollectiveKind::kGather, members);
  for (const MemberPart& own : members) FGMPI_TRY(copy(own.part, root->recv.segment(own.rank)));
  return gather_from_others(step.shared, step.meeting, root->recv);
}

Status step_scatter(CollectiveStep& step) {
  FGMPI_TRY(step.same_root());
  MemberParts members = parts_of_members(step, &Args::recv);
  int rank = step.first()->root;
  const Args* root = step.member(rank);
  if (!root)
    return scatter_from_root(step.shared, step.meeting, rank,
                             step.first()->kind == CollectiveKind::kScatter, members);
  FGMPI_TRY(scatter_to_others(step.shared, step.meeting, rank, root->send));
  for (const MemberPart& own : members) FGMPI_TRY(copy(root->send.segment(own.rank), own.part));
  return {};
}

}  // namespace fgmpi::coll
