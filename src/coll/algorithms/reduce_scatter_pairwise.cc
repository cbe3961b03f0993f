// Reduce-scatter by pairwise exchange: every process gets its block from all others and folds them
// in the order of processes. For operations that do not commute.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status reduce_scatter_pairwise(const Team& team, const Reduction& r, char* data,
                               const ProcessBlocks& blocks) {
  uint32_t n = team.count(), me = team.me();
  size_t mine = blocks.size(me);
  auto incoming = raw_memory(mine * n);
  std::vector<const char*> sources(n);
  sources[me] = data + blocks.offset[me];
  for (uint32_t step = 1; step < n; ++step) {
    uint32_t to = (me + step) % n, from = (me + n - step) % n;
    char* target = incoming.get() + mine * from;
    FGMPI_TRY(team.exchange(to, data + blocks.offset[to], blocks.size(to), from, target, mine));
    sources[from] = target;
  }
  if (mine == 0) return {};
  Reduction part{r.type, static_cast<int64_t>(mine) / r.type->size(), r.op, r.commutative};
  char* result = incoming.get() + mine * me;
  FGMPI_TRY(fold_all(part, sources, result));
  std::memcpy(data + blocks.offset[me], result, mine);
  return {};
}

}  // namespace fgmpi::coll
