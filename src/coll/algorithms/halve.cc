// Recursive halving among the core processes of a team: the reduce-scatter of
// Rabenseifner's algorithms.

#include "coll/algorithms/core.h"

namespace fgmpi::coll {

Status halve(const Team& team, const Core& core, const Reduction& r, char* data, char* spare,
             const std::vector<int64_t>& begin) {
  int64_t size = r.type->size();
  uint32_t low = 0, high = core.size();
  for (uint32_t bit = core.size() / 2; bit; bit /= 2) {
    uint32_t middle = low + bit;
    bool upper = core.id() & bit;
    uint32_t send_low = upper ? low : middle, send_high = upper ? middle : high;
    (upper ? low : high) = middle;
    uint32_t partner = core.team_rank(core.id() ^ bit);
    int64_t kept = begin[high] - begin[low];
    FGMPI_TRY(team.exchange(partner, data + begin[send_low] * size,
                            static_cast<size_t>((begin[send_high] - begin[send_low]) * size),
                            partner, spare, static_cast<size_t>(kept * size)));
    FGMPI_TRY(combine(r, spare, data + begin[low] * size, kept));
  }
  return {};
}

}  // namespace fgmpi::coll
