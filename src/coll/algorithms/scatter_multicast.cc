// Scatter by IP multicast: all blocks go to everybody as one transfer, and each process keeps its own. One transfer in
// place of many messages, at the price of bytes that are not for the receiver: for few bytes among many hosts. Where not
// all know the sizes of the blocks, these stand in front of them:
//
//   | size of block 0 .. P-1 (uint64_t each) | block 0 | block 1 | ... |
#include <numeric>

#include "coll/algorithms.h"
#include "coll/move.h"
#include "coll/multicast.h"

namespace fgmpi::coll {
namespace {

Status send_with_sizes(const Team& team, const Multicast& multicast, const char* buffer,
                       const Blocks& blocks) {
  const size_t table = team.count() * sizeof(uint64_t);
  Memory message = raw_memory(table + blocks.total());
  for (uint32_t p = 0; p < team.count(); ++p) {
    const uint64_t size = blocks.size(p);
    std::memcpy(message.get() + p * sizeof size, &size, sizeof size);
  }
  if (blocks.total()) std::memcpy(message.get() + table, buffer, blocks.total());
  return multicast.send(message.get(), table + blocks.total());
}

Status recv_with_sizes(const Team& team, const Multicast& multicast, uint32_t root, char* to,
                       size_t expected) {
  const uint32_t n = team.count(), me = team.me();
  const size_t table = n * sizeof(uint64_t);
  size_t bytes;
  FGMPI_TRY(multicast.expect(root, &bytes));
  Memory message = raw_memory(bytes);
  FGMPI_TRY(multicast.recv(root, message.get(), bytes));
  std::vector<uint64_t> sizes(n);
  if (bytes >= table) std::memcpy(sizes.data(), message.get(), table);
  const uint64_t before = std::accumulate(sizes.begin(), sizes.begin() + me, uint64_t{table});
  if (std::accumulate(sizes.begin() + me, sizes.end(), before) != bytes)
    return error(MPI_ERR_INTERN, "a multicast scatter of %zu bytes does not have the sizes it says",
                 bytes);
  if (sizes[me] != expected)
    return truncated(static_cast<int64_t>(sizes[me]), static_cast<int64_t>(expected));
  if (expected) std::memcpy(to, message.get() + before, expected);
  return {};
}

}  // namespace

Status scatter_multicast(const Team& team, const Multicast& multicast, uint32_t root, char* buffer,
                         const Blocks& blocks, bool regular) {
  const uint32_t me = team.me();
  if (me == root)
    return regular ? multicast.send(buffer, blocks.total())
                   : send_with_sizes(team, multicast, buffer, blocks);
  if (!regular) return recv_with_sizes(team, multicast, root, buffer, blocks.size(me));
  Memory all = raw_memory(blocks.total());
  FGMPI_TRY(multicast.recv(root, all.get(), blocks.total()));
  if (blocks.size(me)) std::memcpy(buffer, all.get() + blocks.offset[me], blocks.size(me));
  return {};
}

}  // namespace fgmpi::coll
