// Bruck's all-to-all: log2 P steps; each block travels once per bit of its distance. For short
// blocks of the regular form, whose sizes every process can compute (ProcessBlocks may differ, as
// processes host different numbers of members).
#include "coll/algorithms.h"

namespace fgmpi::coll {
namespace {

/// Bytes that slot j (data for the process j after its source) of process p holds before the step
/// of `bit`.
size_t slot_bytes(const AlltoallSizes& s, uint32_t n, uint32_t p, uint32_t j, uint32_t bit) {
  uint32_t source = (p + n - (j & (bit - 1))) % n;
  return s.unit[source] * s.unit[(source + j) % n] * s.bytes;
}

}  // namespace

Status alltoall_bruck(const Team& team, const char* out, char* in, const AlltoallSizes& sizes) {
  uint32_t n = team.count(), me = team.me();
  std::vector<std::vector<char>> slots(n);
  for (uint32_t j = 1; j < n; ++j) {
    uint32_t to = (me + j) % n;
    slots[j].assign(out + sizes.out->offset[to], out + sizes.out->offset[to + 1]);
  }
  std::vector<char> outgoing, incoming;
  for (uint32_t bit = 1; bit < n; bit <<= 1) {
    uint32_t to = (me + bit) % n, from = (me + n - bit) % n;
    outgoing.clear();
    size_t expected = 0;
    for (uint32_t j = bit; j < n; ++j) {
      if (!(j & bit)) continue;
      outgoing.insert(outgoing.end(), slots[j].begin(), slots[j].end());
      expected += slot_bytes(sizes, n, from, j, bit);
    }
    incoming.resize(expected);
    FGMPI_TRY(team.exchange(to, outgoing.data(), outgoing.size(), from, incoming.data(),
                            incoming.size()));
    auto at = incoming.begin();
    for (uint32_t j = bit; j < n; ++j) {
      if (!(j & bit)) continue;
      size_t bytes = slot_bytes(sizes, n, from, j, bit);
      slots[j].assign(at, at + static_cast<ptrdiff_t>(bytes));
      at += static_cast<ptrdiff_t>(bytes);
    }
  }
  for (uint32_t j = 1; j < n; ++j) {
    uint32_t from = (me + n - j) % n;
    if (!slots[j].empty())
      std::memcpy(in + sizes.in->offset[from], slots[j].data(), slots[j].size());
  }
  return {};
}

}  // namespace fgmpi::coll
