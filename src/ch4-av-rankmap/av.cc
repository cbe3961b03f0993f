#include "ch4-av-rankmap/av.h"

#include <algorithm>

namespace fgmpi {

AddressVector g_av;

void AddressVector::init(const std::vector<uint32_t>& starts, uint32_t me) {
  FGMPI_CHECK(starts.size() >= 2 && me + 1 < starts.size());
  processes_ = static_cast<uint32_t>(starts.size()) - 1;
  world_size_ = starts.back();
  elements_.assign(processes_, AvElement{});
  uniform_ = starts[1] - starts[0];
  for (uint32_t p = 0; p < processes_; ++p) {
    FGMPI_CHECK(starts[p] < starts[p + 1]);
    elements_[p].first = starts[p];
    if (starts[p + 1] - starts[p] != uniform_) uniform_ = 0;
  }
  // With m = floor((2^64 - 1) / C) the product (w + 1) m / 2^64 falls short of (w + 1) / C by more than 0 and at most
  // 1 / C for all w, C < 2^32: its floor is w / C, also for C = 1.
  if (uniform_) reciprocal_ = ~uint64_t{0} / uniform_;
  me_ = me;
  my_first_ = starts[me];
  my_count_ = starts[me + 1] - starts[me];
}

uint32_t AddressVector::search(uint32_t w) const {
  auto after = std::upper_bound(elements_.begin(), elements_.end(), w,
                                [](uint32_t rank, const AvElement& e) { return rank < e.first; });
  return static_cast<uint32_t>(after - elements_.begin()) - 1;
}

}  // namespace fgmpi
