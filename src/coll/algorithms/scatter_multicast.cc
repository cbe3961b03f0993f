// Scatter by IP multicast: all blocks but the root's own go to everybody as one transfer, and each
// process copies its own. This is one transfer in place of many messages, at the price of bytes
// that are not for the receiver. For few bytes among many hosts.
//
// Where not all processes know the sizes of the blocks, the sizes stand in front of them:
//
//   | ticket | size of block 0 .. P-1 (uint64_t each; the root's is 0) | block 0 | block 1 | ... |
//
// Where some of the sizes are 0 and the blocks need more than a packet, the blocks go to a subgroup
// of the processes that get something (multicast/subgroups.h). The others receive only the ticket
// and the sizes.
#include <numeric>

#include "base/count_words.h"
#include "coll/algorithms.h"
#include "coll/move.h"
#include "multicast/multicast.h"
#include "multicast/subgroups.h"

namespace fgmpi::coll {
namespace {

using multicast::Membership;
using multicast::Scheme;
using multicast::scheme;
using multicast::SubgroupTicket;

size_t table_bytes(const Team& team) {
  return sizeof(SubgroupTicket) + team.count() * sizeof(uint64_t);
}

/// Copies all blocks but the root's.
void copy_blocks(const ProcessBlocks& blocks, uint32_t root, const char* from, char* to) {
  const size_t before = blocks.offset[root], behind = blocks.total() - blocks.offset[root + 1];
  if (before) std::memcpy(to, from, before);
  if (behind) std::memcpy(to + before, from + blocks.offset[root + 1], behind);
}

Status send_with_sizes(const Team& team, const Multicast& multicast, const char* buffer,
                       const ProcessBlocks& blocks) {
  const uint32_t me = team.me();
  std::vector<uint64_t> sizes(team.count());
  for (uint32_t p = 0; p < team.count(); ++p) sizes[p] = p == me ? 0 : blocks.size(p);
  const size_t table = table_bytes(team), data = blocks.total() - blocks.size(me);
  const std::vector<uint32_t> members = multicast::takers(sizes, me);
  const bool apart =
      data > multicast.payload() && members.size() < team.count() && scheme() != Scheme::kStatic;
  SubgroupTicket ticket;
  Membership* subgroup = nullptr;
  if (apart) {
    ticket = multicast::announce_subgroup(multicast.caller(), members, blocks.opened);
    subgroup = multicast::enter_subgroup(multicast.caller(), me, members, ticket);
    if (!subgroup)
      return error(MPI_ERR_INTERN, "a multicast group of %s cannot be made",
                   count_words(members.size(), "process").c_str());
  }
  const size_t here = table + (apart ? 0 : data);
  Memory message = raw_memory(here), blocks_alone = raw_memory(apart ? data : 0);
  std::memcpy(message.get(), &ticket, sizeof ticket);
  std::memcpy(message.get() + sizeof ticket, sizes.data(), sizes.size() * sizeof(uint64_t));
  copy_blocks(blocks, me, buffer, apart ? blocks_alone.get() : message.get() + table);
  Status status = multicast.send(message.get(), here);
  if (!apart) return status;
  if (status.ok())
    status = Multicast(multicast, subgroup, members).send(blocks_alone.get(), data, 1);
  multicast::leave_subgroup(multicast.caller(), ticket, subgroup);
  return status;
}

Status recv_with_sizes(const Team& team, const Multicast& multicast, uint32_t root, char* to,
                       size_t expected) {
  const uint32_t me = team.me();
  const size_t table = table_bytes(team);
  size_t bytes;
  FGMPI_TRY(multicast.expect(root, &bytes));
  Memory message = raw_memory(bytes);
  FGMPI_TRY(multicast.recv(root, message.get(), bytes));
  SubgroupTicket ticket;
  std::vector<uint64_t> sizes(team.count());
  if (bytes >= table) {
    std::memcpy(&ticket, message.get(), sizeof ticket);
    std::memcpy(sizes.data(), message.get() + sizeof ticket, sizes.size() * sizeof(uint64_t));
  }
  const bool apart = ticket.how != SubgroupTicket::kNone;
  const uint64_t before = std::accumulate(sizes.begin(), sizes.begin() + me, uint64_t{0});
  const uint64_t data = std::accumulate(sizes.begin() + me, sizes.end(), before);
  if (bytes != table + (apart ? 0 : data))
    return error(MPI_ERR_INTERN, "a multicast scatter of %zu bytes does not have the sizes it says",
                 bytes);
  multicast::drop_subgroup(multicast.caller(), root, ticket);
  // A process that expected another length receives the data too, as the others wait for it.
  if (apart && sizes[me]) {
    message = raw_memory(data);
    FGMPI_TRY(multicast::recv_apart(multicast, root, sizes, ticket, message.get(), data));
  }
  if (sizes[me] != expected)
    return truncated(static_cast<int64_t>(sizes[me]), static_cast<int64_t>(expected));
  if (expected) std::memcpy(to, message.get() + (apart ? 0 : table) + before, expected);
  return {};
}

/// Sends blocks whose sizes all processes know.
Status send_plain(const Team& team, const Multicast& multicast, const char* buffer,
                  const ProcessBlocks& blocks) {
  const uint32_t me = team.me();
  const size_t others = blocks.total() - blocks.size(me);
  if (me == 0) return multicast.send(buffer + blocks.offset[1], others);
  if (me == team.count() - 1) return multicast.send(buffer, others);
  Memory packed = raw_memory(others);
  copy_blocks(blocks, me, buffer, packed.get());
  return multicast.send(packed.get(), others);
}

Status recv_plain(const Team& team, const Multicast& multicast, uint32_t root, char* to,
                  const ProcessBlocks& blocks) {
  const uint32_t me = team.me();
  const size_t others = blocks.total() - blocks.size(root);
  Memory packed = raw_memory(others);
  FGMPI_TRY(multicast.recv(root, packed.get(), others));
  const size_t at = blocks.offset[me] - (me > root ? blocks.size(root) : 0);
  if (blocks.size(me)) std::memcpy(to, packed.get() + at, blocks.size(me));
  return {};
}

}  // namespace

Status scatter_multicast(const Team& team, const Multicast& multicast, uint32_t root, char* buffer,
                         const ProcessBlocks& blocks) {
  if (team.me() == root)
    return blocks.regular ? send_plain(team, multicast, buffer, blocks)
                          : send_with_sizes(team, multicast, buffer, blocks);
  return blocks.regular ? recv_plain(team, multicast, root, buffer, blocks)
                        : recv_with_sizes(team, multicast, root, buffer, blocks.size(team.me()));
}

}  // namespace fgmpi::coll
