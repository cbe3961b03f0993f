// All-to-all by IP multicast: each process sends all that it has for the others to everybody, who keep what is for them.
// The sizes of the blocks go first. Receives are made in the order of processes; what is long waits for them at its root.
//
//   step 0   size of the block for process 0 .. P-1 (uint64_t each)
//   step 1   blocks 0 .. P-1; not sent where all are empty
#include <numeric>

#include "coll/algorithms.h"
#include "coll/move.h"
#include "coll/multicast.h"

namespace fgmpi::coll {
namespace {

Status recv_own(const Team& team, const Multicast& multicast, uint32_t from, char* to,
                size_t bytes) {
  const uint32_t n = team.count(), me = team.me();
  std::vector<uint64_t> sizes(n);
  FGMPI_TRY(multicast.recv(from, sizes.data(), n * sizeof(uint64_t), 0));
  const uint64_t before = std::accumulate(sizes.begin(), sizes.begin() + me, uint64_t{0});
  const uint64_t total = std::accumulate(sizes.begin() + me, sizes.end(), before);
  if (total > 0) {
    Memory all = raw_memory(total);
    FGMPI_TRY(multicast.recv(from, all.get(), total, 1));
    if (sizes[me] == bytes && bytes) std::memcpy(to, all.get() + before, bytes);
  }
  return sizes[me] == bytes
             ? Status()
             : truncated(static_cast<int64_t>(sizes[me]), static_cast<int64_t>(bytes));
}

}  // namespace

Status alltoall_multicast(const Team& team, const Multicast& multicast, const char* out, char* in,
                          const AlltoallSizes& sizes) {
  const uint32_t n = team.count(), me = team.me();
  std::vector<uint64_t> own(n);
  for (uint32_t p = 0; p < n; ++p) own[p] = sizes.out->size(p);
  MulticastTransfer table, data;
  multicast.start_send(own.data(), n * sizeof(uint64_t), 0, &table);
  const bool has_data = sizes.out->total() > 0;
  if (has_data) multicast.start_send(out, sizes.out->total(), 1, &data);
  Status status;
  for (uint32_t p = 0; p < n; ++p) {
    if (p == me) continue;
    Status one = recv_own(team, multicast, p, in + sizes.in->offset[p], sizes.in->size(p));
    if (status.ok()) status = std::move(one);
    if (!status.ok()) break;
  }
  return multicast.finish_after(std::move(status), {&table, has_data ? &data : nullptr});
}

}  // namespace fgmpi::coll
