// bitmap: an ordered group as one bit for each rank from its first to its last (for each step-th
// one, where step divides all differences), with counts for popcount (rank_bits.h). The paper's
// BMp.
//
//   group 3 4 6 9   ->   first 3, bits 1 1 0 1 0 0 1
//
// When it wins: dense ordered groups without longer ranges. Costs: 1.07 bits a rank of the span,
// member or not; select finds a block by hint and search, then counts 1 to 8 words; rank is a load
// and as many counts.
#include <algorithm>

#include "groupmap/bitmap.h"
#include "groupmap/codec.h"

namespace fgmpi::groupmap {
namespace {

uint64_t bits_of(const Stats& stats) {
  return stats.size
             ? static_cast<uint64_t>(int64_t{stats.max} - stats.min) / std::max(1u, stats.gcd) + 1
             : 0;
}

/// True where the bitmap takes at most as many bits as an array, or at most 2^22: one bit for each
/// rank of a world of four million.
bool is_worthwhile_as_bitmap(const Stats& stats) {
  return stats.ordered &&
         bits_of(stats) <= std::max<uint64_t>(32u * static_cast<uint32_t>(stats.size), 1u << 22);
}

std::optional<Cost> estimate_bitmap(const Stats& stats) {
  if (!is_worthwhile_as_bitmap(stats)) return std::nullopt;
  double bytes = sizeof(MapRef) + sizeof(BitmapMap) +
                 RankBits::expected_bytes(static_cast<double>(bits_of(stats)), false);
  return Cost{bytes, 24 + 2 * memory_ns(bytes)};
}

const GroupMap* build_bitmap(std::span<const int32_t> ranks, const Stats& stats, std::string* why) {
  if (!is_worthwhile_as_bitmap(stats)) {
    invalid(why, stats.ordered ? "it is too sparse" : "its ranks do not rise");
    return nullptr;
  }
  FastDivisor divisor(std::max(1u, stats.gcd));
  std::vector<uint64_t> words(words_for(bits_of(stats)));
  for (int32_t rank : ranks)
    set_bit(words.data(), divisor.divide(static_cast<uint32_t>(rank - stats.min)));
  return new BitmapMap(std::move(words), bits_of(stats), stats.min, std::max(1u, stats.gcd));
}

const GroupMap* read_bitmap(ByteReader& in, int32_t size, int) {
  int32_t least = static_cast<int32_t>(in.varint(INT32_MAX));
  uint32_t step = static_cast<uint32_t>(in.varint(INT32_MAX));
  uint64_t bits = in.varint(uint64_t{INT32_MAX} + 1);
  std::vector<uint64_t> words;
  if (!in.words(words_for(bits), &words) || step == 0) return nullptr;
  uint64_t ones = 0;
  for (uint64_t word : words) ones += static_cast<uint64_t>(popcount(word));
  if (ones != static_cast<uint64_t>(size)) return nullptr;
  if (bits % 64 && words.back() & ~low_mask(static_cast<int>(bits % 64))) return nullptr;
  return new BitmapMap(std::move(words), bits, least, step);
}

}  // namespace

BitmapMap::BitmapMap(std::vector<uint64_t> words, uint64_t bits, int32_t least, uint32_t step)
    : BitmapMap(RankBits(std::move(words), bits, false), least, step) {}

BitmapMap::BitmapMap(RankBits bits, int32_t least, uint32_t step)
    : GroupMap(Encoding::bitmap, static_cast<int32_t>(bits.ones()), true),
      bits_(std::move(bits)),
      divisor_(step),
      least_(least),
      step_(step) {}

int32_t BitmapMap::select(int32_t i) const {
  return static_cast<int32_t>(least_ + bits_.select1(static_cast<uint32_t>(i)) * step_);
}

int32_t BitmapMap::rank(int32_t w) const {
  if (w < least_) return -1;
  uint32_t difference = static_cast<uint32_t>(w) - least_, at = divisor_.divide(difference);
  if (at * step_ != difference || at >= bits_.size() || !bits_[at]) return -1;
  return static_cast<int32_t>(bits_.rank1(at));
}

void BitmapMap::select_range(int32_t first, int32_t count, int32_t* out) const {
  if (count <= 0) return;
  uint64_t at = bits_.select1(static_cast<uint32_t>(first));
  uint64_t word = bits_.words()[at / 64] & (~uint64_t{0} << (at % 64));
  for (at /= 64; count > 0; word = bits_.words()[++at]) {
    for (; word && count > 0; word &= word - 1, --count)
      *out++ = static_cast<int32_t>(
          least_ + (at * 64 + static_cast<uint64_t>(std::countr_zero(word))) * step_);
    if (count == 0) break;
  }
}

size_t BitmapMap::bytes() const { return sizeof(*this) + bits_.heap_bytes(); }

bool BitmapMap::validate(std::string* reason) const {
  if (bits_.size() && least_ + (bits_.size() - 1) * step_ > INT32_MAX)
    return invalid(reason, "the last member is over 2^31-1");
  return true;
}

void BitmapMap::write(ByteWriter& out) const {
  out.varint(static_cast<uint32_t>(least_));
  out.varint(step_);
  out.varint(bits_.size());
  out.words(bits_.words());
}

/// The number of bits from the one of rank `least` on, where that is below the map's least.
uint64_t BitmapMap::bits_from(int32_t least) const {
  return static_cast<uint64_t>((least_ - least) / static_cast<int64_t>(step_)) + bits_.size();
}

/// The words of a bitmap of so many bits that begins at rank `least`.
std::vector<uint64_t> BitmapMap::spread(int32_t least, uint64_t bits) const {
  std::vector<uint64_t> words(words_for(bits));
  const uint64_t shift = bits_from(least) - bits_.size();
  std::span<const uint64_t> from = bits_.words();
  for (size_t k = 0; k < from.size(); ++k) {
    uint64_t left = std::min<uint64_t>(64, bits_.size() - k * 64);
    put_bits(words.data(), shift + k * 64, static_cast<int>(left), from[k]);
  }
  return words;
}

bool BitmapMap::combine(const GroupMap& other, SetOperation operation, MapRef* out) const {
  const auto& second = static_cast<const BitmapMap&>(other);
  const int64_t apart = int64_t{least_} - second.least_;
  if (step_ != second.step_ || apart % step_ != 0) return false;
  // If the bitmaps lie far apart, the bits between them would be many times the members.
  if (std::abs(apart) / step_ > 64 * (int64_t{size()} + second.size())) return false;
  const int32_t least = std::min(least_, second.least_);
  const uint64_t bits = std::max(bits_from(least), second.bits_from(least));
  std::vector<uint64_t> words = spread(least, bits), others = second.spread(least, bits);
  for (size_t k = 0; k < words.size(); ++k) {
    switch (operation) {
      case SetOperation::kUnion:
        words[k] |= others[k];
        break;
      case SetOperation::kIntersection:
        words[k] &= others[k];
        break;
      case SetOperation::kDifference:
        words[k] &= ~others[k];
        break;
    }
  }
  *out = MapRef(new BitmapMap(std::move(words), bits, least, step_));
  return true;
}

extern const EncodingInfo encoding_bitmap = {Encoding::bitmap, "bitmap",   estimate_bitmap, false,
                                             build_bitmap,     read_bitmap};

}  // namespace fgmpi::groupmap
