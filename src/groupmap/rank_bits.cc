// The blocks of counts and hints over a string of bits.

#include "groupmap/rank_bits.h"

namespace fgmpi::groupmap {

RankBits::RankBits(std::vector<uint64_t> words, uint64_t bits, bool select_zeros)
    : words_(std::move(words)), bits_(bits) {
  uint32_t blocks = static_cast<uint32_t>(bits / kBlockBits + 1);
  counts_.assign(blocks, 0);
  for (size_t at = 0; at < words_.size(); ++at) {
    if (at % kBlockWords == 0) counts_[at / kBlockWords] = ones_;
    ones_ += static_cast<uint32_t>(popcount(words_[at]));
  }
  if (words_.size() == (blocks - 1) * kBlockWords) counts_[blocks - 1] = ones_;
  one_hints_ = hints(ones_, false);
  if (select_zeros) zero_hints_ = hints(bits_ - ones_, true);
}

std::vector<uint32_t> RankBits::hints(uint64_t total, bool zeros) const {
  std::vector<uint32_t> hints(total / kHintStep + 2, static_cast<uint32_t>(counts_.size() - 1));
  size_t next = 0;
  for (uint32_t b = 0; b < counts_.size(); ++b) {
    // Block b holds the ones (or zeros) from number `before` on. Every hint for a smaller number
    // that is not set yet is the block in front of b.
    uint64_t before = zeros ? b * kBlockBits - counts_[b] : counts_[b];
    for (; next < hints.size() && next * kHintStep < before; ++next) hints[next] = b - 1;
  }
  return hints;
}

}  // namespace fgmpi::groupmap
