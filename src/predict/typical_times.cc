// Lower quartiles of the latest segments.

#include "predict/typical_times.h"

#include <algorithm>

#include "base/hash.h"

namespace fgmpi::predict {

void TypicalTimes::LatestTimes::add(int64_t time) {
  ns[count++ % kKept] = static_cast<uint32_t>(std::clamp<int64_t>(time, 0, UINT32_MAX));
}

int64_t TypicalTimes::LatestTimes::at(uint32_t quarters) const {
  const uint32_t known = std::min(count, kKept), place = known * quarters / 4;
  for (uint32_t i = 0; i < known; ++i) {
    uint32_t before = 0;  // of equal times the earlier ones come first
    for (uint32_t k = 0; k < known; ++k) before += ns[k] < ns[i] || (ns[k] == ns[i] && k < i);
    if (before == place) return ns[i];
  }
  return 0;
}

int64_t TypicalTimes::typical_of(uint32_t rank, uint64_t from_place, uint64_t to_place,
                                 int64_t ns) {
  if (ns >= int64_t{UINT32_MAX}) return ns;  // four seconds: nothing disturbs it much
  const uint64_t places = mix(from_place, to_place);
  LatestTimes &own = of_ranks_[mix(places, rank + uint64_t{1})], &all = of_all_[places];
  own.add(ns);
  all.add(ns);
  const LatestTimes& known = own.count >= kFew ? own : all;
  if (known.count < kFew || known.at(3) > kSameWork * std::max<int64_t>(known.at(1), 1)) return ns;
  return known.at(1);
}

}  // namespace fgmpi::predict
